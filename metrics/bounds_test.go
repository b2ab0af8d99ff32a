package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// A native histogram that outgrows its buckets is reset, and then loses its count.
func TestNoRealisticSpreadResetsAHistogram(t *testing.T) {
	t.Parallel()
	s, target, registry := newTestStore(t, testSLO())
	random := rand.New(rand.NewPCG(1, 2))
	spread := func(least, most float64) int64 { // nanoseconds, evenly over the orders of magnitude
		return int64(least * math.Pow(most/least, random.Float64()) * 1e9)
	}
	const requests = 20_000
	for range requests {
		r := goldenTimelines()["plain"].record()
		first, gap := r.Time.Start+spread(.001, 120), spread(.0005, 10)
		r.Time.Header, r.Time.FirstEvent, r.Time.FirstOutput = first, first, first
		r.Content = []int64{first, first + gap, first + 2*gap, first + 3*gap}
		r.Time.End = r.Content[3]
		r.Time.Sched -= spread(1e-5, .9)
		target.Sent().Finish(r)
		s.WokeUp(0, spread(1e-6, 5))
		s.InstrumentDelay(spread(1e-6, 5))
		s.Prepared(spread(1e-6, 1))
	}
	families := gather(t, registry)
	for _, name := range []string{
		"aiperf_time_to_first_token_seconds", "aiperf_inter_token_latency_seconds", "aiperf_effective_latency_seconds", "aiperf_schedule_delay_seconds",
		"aiperf_scheduler_wakeup_delay_seconds", "aiperf_exporter_instrument_delay_seconds", "aiperf_exporter_prepare_seconds",
	} {
		h := childOf(t, families, name).GetHistogram()
		if h.GetSampleCount() != requests || h.GetSchema() != 3 {
			t.Errorf("%s: %d samples at schema %d, want %d at 3", name, h.GetSampleCount(), h.GetSchema(), requests)
		}
	}
}

func TestTheServedModelIsShownAndBounded(t *testing.T) {
	t.Parallel()
	_, target, registry := newTestStore(t)
	shown := func() string {
		families := gather(t, registry)
		infos := families["aiperf_target_info"].GetMetric()
		if len(infos) != 1 {
			t.Fatalf("%d infos, want 1", len(infos))
		}
		for _, l := range infos[0].GetLabel() {
			if l.GetName() == "served_model" {
				return l.GetValue()
			}
		}
		return "no label"
	}
	if got := shown(); got != "" {
		t.Errorf("before the first answer: %q, want none", got)
	}
	finish := func(model string) {
		r := goldenTimelines()["plain"].record()
		r.ServedModel = model
		target.Sent().Finish(r)
	}
	finish("a\xff" + strings.Repeat("x", 200))
	if got := shown(); !strings.HasPrefix(got, "a\uFFFDx") || len(got) > maxLabelBytes {
		t.Errorf("an odd name is shown as %q", got)
	}
	for i := range 20 {
		finish(fmt.Sprint("model-", i))
	}
	if got := shown(); got != "other" {
		t.Errorf("after 20 names: %q, want other", got)
	}
}
