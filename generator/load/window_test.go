package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// openings lists when a window is open between two instants, by asking it again whenever its answer may change.
func openings(t *testing.T, w *window, from, until string) []string {
	t.Helper()
	at, end := instant(t, from), instant(t, until)
	out := []string{}
	for at < end {
		inside, change := w.at(at)
		if change <= at {
			t.Fatalf("the answer of %v changes at %v", time.Unix(0, at).UTC(), time.Unix(0, change).UTC())
		}
		if inside {
			out = append(out, utc(at)+" "+utc(change))
		}
		at = change
	}
	return out
}

func instant(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixNano()
}

func utc(at int64) string { return time.Unix(0, at).UTC().Format("01-02T15:04") }

func TestWindowsFollowTheClocksOfTheirZone(t *testing.T) {
	t.Parallel()
	const budapest, newYork = "Europe/Budapest", "America/New_York"
	for name, test := range map[string]struct {
		config      WindowConfig
		from, until string
		want        []string // in UTC
	}{
		"on its days": {
			WindowConfig{Days: []Day{Monday, Friday}, From: "08:00", To: "20:00", TZ: budapest},
			"2026-06-01T00:00:00Z", "2026-06-09T00:00:00Z", // a Monday
			[]string{"06-01T06:00 06-01T18:00", "06-05T06:00 06-05T18:00", "06-08T06:00 06-08T18:00"},
		},
		"across midnight, beginning on its days": {
			WindowConfig{Days: []Day{Friday, Saturday}, From: "22:30", To: "06:15", TZ: newYork},
			"2026-06-04T00:00:00Z", "2026-06-11T00:00:00Z",
			[]string{"06-06T02:30 06-06T10:15", "06-07T02:30 06-07T10:15"},
		},
		"asked in the middle of the night that it crosses": {
			WindowConfig{Days: []Day{Friday}, From: "22:00", To: "06:00"},
			"2026-06-06T03:00:00Z", "2026-06-07T00:00:00Z",
			[]string{"06-06T03:00 06-06T06:00"},
		},
		"every day, whole days": {
			WindowConfig{TZ: budapest},
			"2026-06-01T22:00:00Z", "2026-06-03T22:00:00Z",
			[]string{"06-01T22:00 06-02T22:00", "06-02T22:00 06-03T22:00"},
		},
		"Budapest in spring: the day has 23 hours": {
			WindowConfig{Days: []Day{Sunday}, TZ: budapest},
			"2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z",
			[]string{"03-28T23:00 03-29T22:00"},
		},
		"Budapest in spring: a beginning that is left out is the moment after": {
			WindowConfig{Days: []Day{Sunday}, From: "02:30", To: "04:00", TZ: budapest},
			"2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z",
			[]string{"03-29T01:00 03-29T02:00"},
		},
		"Budapest in spring: an end that is left out is the moment after": {
			WindowConfig{Days: []Day{Sunday}, From: "01:00", To: "02:30", TZ: budapest},
			"2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z",
			[]string{"03-29T00:00 03-29T01:00"},
		},
		"Budapest in spring: a window that is left out whole does not open": {
			WindowConfig{Days: []Day{Sunday}, From: "02:10", To: "02:50", TZ: budapest},
			"2026-03-21T00:00:00Z", "2026-04-06T00:00:00Z",
			[]string{"03-22T01:10 03-22T01:50", "04-05T00:10 04-05T00:50"},
		},
		"Budapest in spring: across midnight and the change": {
			WindowConfig{Days: []Day{Saturday}, From: "22:00", To: "06:00", TZ: budapest},
			"2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z",
			[]string{"03-28T21:00 03-29T04:00"},
		},
		"Budapest in autumn: the day has 25 hours": {
			WindowConfig{Days: []Day{Sunday}, TZ: budapest},
			"2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z",
			[]string{"10-24T22:00 10-25T23:00"},
		},
		"Budapest in autumn: a window in the hour that comes twice opens once": {
			WindowConfig{Days: []Day{Sunday}, From: "02:10", To: "02:50", TZ: budapest},
			"2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z",
			[]string{"10-25T00:10 10-25T00:50"},
		},
		"Budapest in autumn: a beginning that comes twice is the first": {
			WindowConfig{Days: []Day{Sunday}, From: "02:30", To: "04:00", TZ: budapest},
			"2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z",
			[]string{"10-25T00:30 10-25T03:00"},
		},
		"Budapest in autumn: an end that comes twice is the first": {
			WindowConfig{Days: []Day{Sunday}, From: "01:00", To: "02:30", TZ: budapest},
			"2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z",
			[]string{"10-24T23:00 10-25T00:30"},
		},
		"New York in spring: a beginning that is left out is the moment after": {
			WindowConfig{Days: []Day{Sunday}, From: "02:30", To: "04:00", TZ: newYork},
			"2026-03-07T00:00:00Z", "2026-03-10T00:00:00Z",
			[]string{"03-08T07:00 03-08T08:00"},
		},
		"New York in spring: the working day keeps its times": {
			WindowConfig{From: "09:00", To: "17:00", TZ: newYork},
			"2026-03-07T05:00:00Z", "2026-03-09T05:00:00Z",
			[]string{"03-07T14:00 03-07T22:00", "03-08T13:00 03-08T21:00"},
		},
		"New York in autumn: a window in the hour that comes twice opens once": {
			WindowConfig{Days: []Day{Sunday}, From: "01:00", To: "02:00", TZ: newYork},
			"2026-10-31T00:00:00Z", "2026-11-03T00:00:00Z",
			[]string{"11-01T05:00 11-01T07:00"},
		},
		"New York in autumn: half of the hour that comes twice": {
			WindowConfig{Days: []Day{Sunday}, From: "01:00", To: "01:30", TZ: newYork},
			"2026-10-31T00:00:00Z", "2026-11-03T00:00:00Z",
			[]string{"11-01T05:00 11-01T05:30"},
		},
		"Santiago in autumn: clocks are set back to the evening before": {
			WindowConfig{Days: []Day{Saturday}, From: "23:00", To: "24:00", TZ: "America/Santiago"},
			"2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z", // 24:00 becomes 23:00
			[]string{"04-05T02:00 04-05T04:00"},
		},
		"Samoa skipped a day": {
			WindowConfig{From: "08:00", To: "10:00", TZ: "Pacific/Apia"},
			"2011-12-29T10:00:00Z", "2011-12-31T10:00:00Z",
			[]string{"12-29T18:00 12-29T20:00", "12-30T18:00 12-30T20:00"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWindow(&test.config, "")
			if diff := cmp.Diff(test.want, openings(t, &w, test.from, test.until)); diff != "" {
				t.Errorf("open in UTC (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWindowsTakeTheZoneOfTheLoadUnlessTheyHaveTheirOwn(t *testing.T) {
	t.Parallel()
	for own, want := range map[string]string{"": "Europe/Budapest", "UTC": "UTC"} {
		if w := newWindow(&WindowConfig{TZ: own}, "Europe/Budapest"); w.zone.String() != want {
			t.Errorf("tz %q: the window is in %s, want %s", own, w.zone, want)
		}
	}
}

// TestNeighbouringWindowsLeaveNoGap: whatever clocks do, one of two windows that share their times is open, and only one.
func TestNeighbouringWindowsLeaveNoGap(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Budapest", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "UTC"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			early := newWindow(&WindowConfig{From: "00:00", To: "02:15", TZ: zone}, "")
			late := newWindow(&WindowConfig{From: "02:15", To: "24:00", TZ: zone}, "")
			start := instant(t, "2026-01-01T00:00:00Z")
			for at := start; at < start+400*day; at += int64(15 * time.Minute) {
				in, _ := early.at(at)
				if other, _ := late.at(at); in == other {
					t.Fatalf("at %v both windows say %v", time.Unix(0, at).UTC(), in)
				}
			}
		})
	}
}

// FuzzWindow: what is valid opens and closes, and always says when it will do so next.
func FuzzWindow(f *testing.F) {
	f.Add("08:00", "20:00", "mon,tue", "Europe/Budapest", int64(1_790_000_000))
	f.Add("22:00", "06:00", "", "America/New_York", int64(0))
	f.Add("", "24:00", "sun", "", int64(-1))
	f.Add("02:10", "02:50", "sun", "Australia/Lord_Howe", int64(1_774_000_000))
	f.Fuzz(func(t *testing.T, from, to, days, zone string, unix int64) {
		w := WindowConfig{From: from, To: to, TZ: zone, Rate: 1}
		if days != "" {
			for name := range strings.SplitSeq(days, ",") {
				w.Days = append(w.Days, Day(name))
			}
		}
		c := DefaultConfig()
		c.Schedule = []WindowConfig{w}
		const century = 50 * 366 * secondsOfDay
		if len(c.Validate("l")) > 0 || unix > 2*century || unix < -century {
			return
		}
		asked := newWindow(&w, "")
		at := unix * int64(time.Second)
		opened := false
		for i := 0; i < 20 && !opened; i++ {
			inside, until := asked.at(at)
			if until <= at {
				t.Fatalf("%v: the answer changes at %d", at, until)
			}
			if before, _ := asked.at(until - 1); before != inside {
				t.Fatalf("%d: inside is %v, but %v just before the change at %d", at, inside, before, until)
			}
			opened = inside
			at = until
		}
		if !opened {
			t.Fatal("the window never opens")
		}
	})
}

func FuzzParseClock(f *testing.F) {
	for _, seed := range []string{"00:00", "24:00", "08:30", "8:00", "08:60", "25:00", "08:00:00", " 08:00", "٠٨:٠٠", "-1:00", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		seconds, err := parseClock(s)
		if err != nil {
			return
		}
		if got := fmt.Sprintf("%02d:%02d", seconds/3600, seconds/60%60); got != s || seconds > secondsOfDay {
			t.Errorf("parseClock(%q) = %d, which is %s", s, seconds, got)
		}
	})
}
