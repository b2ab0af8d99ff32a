package load

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestFirstInstantIsTheFirst compares it with a search that tries each minute.
func TestFirstInstantIsTheFirst(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"Europe/Budapest", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Santiago", "Asia/Kathmandu", "UTC"} {
		zone := location(name)
		for range 200 {
			// Within a day of a change of clocks, if there is one.
			around := time.Unix(1_300_000_000+random.Int64N(500_000_000), 0).In(zone)
			if _, end := around.ZoneBounds(); !end.IsZero() {
				around = end
			}
			civil, _ := civilOf(around.Unix(), zone)
			civil += random.Int64N(2*secondsOfDay)/60*60 - secondsOfDay
			civil -= civil % 60

			want := civil - maxOffset
			for shown, _ := civilOf(want, zone); shown < civil; shown, _ = civilOf(want, zone) {
				want += 60
			}
			if got := firstInstant(civil, zone); got != want {
				t.Fatalf("%s: clocks first show %v at %v, want %v", name,
					time.Unix(civil, 0).UTC().Format(time.DateTime), time.Unix(got, 0).UTC(), time.Unix(want, 0).UTC())
			}
		}
	}
}
