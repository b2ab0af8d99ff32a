package generator_test

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// A client that stops asking while a server is slow does not measure what its users would have waited for (coordinated omission). These
// tests run a whole target, from the schedule to the series, in the time of a synctest bubble, where nothing takes any: every figure is
// exact, and no machine is too busy.

// TestTheEffectiveLatencyTellsWhatWaitingAdds: one request a second, one at a time, each takes 1.5 s.
func TestTheEffectiveLatencyTellsWhatWaitingAdds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := simulate(t, 5, always(1500*time.Millisecond), func(c *load.Config) {
			c.Rate, c.OnFull, c.Queue = 1, load.Queue, load.QueueConfig{Size: 10, MaxWait: time.Hour}
		})
		want := run{
			Sched:     []float64{0, 1000, 2000, 3000, 4000},
			Start:     []float64{0, 1500, 3000, 4500, 6000},
			Service:   []float64{1500, 1500, 1500, 1500, 1500},
			Delay:     []float64{0, 500, 1000, 1500, 2000},
			Effective: []float64{1500, 2000, 2500, 3000, 3500},
			rig:       got.rig,
		}
		if diff := cmp.Diff(want, got, nearly(), cmp.AllowUnexported(run{}), cmp.Comparer(func(a, b *rig) bool { return a == b })); diff != "" {
			t.Errorf("milliseconds (-want +got):\n%s", diff)
		}
		for q, want := range map[float64]float64{.5: 2500, .9: 3300, .99: 3480} {
			if figure := interpolated(got.Effective, q); !near(figure, want) {
				t.Errorf("the %v quantile of the effective latency is %v ms, want %v", q, figure, want)
			}
		}
		wantShown(t, &got, map[series]shown{
			{"aiperf_effective_latency_seconds", ""}:       {5, 5, 2.5},
			{"aiperf_request_duration_seconds", "success"}: {5, 5, 1.5},
			{"aiperf_schedule_delay_seconds", ""}:          {5, 3, 1},
			{"aiperf_request_duration_seconds", "error"}:   {0, 0, math.NaN()},
		})
	})
}

// TestASlowServerIsSeenUnderBothPolicies: four requests a second, one at a time, each takes 515 ms. A client that stops asking would tell of
// 515 ms and of nothing else.
func TestASlowServerIsSeenUnderBothPolicies(t *testing.T) {
	t.Parallel()
	const requests, interval, service = 8, 250., 515.
	t.Run("on_full queue shows the wait", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			got := simulate(t, requests, always(service*time.Millisecond), func(c *load.Config) {
				c.Rate, c.OnFull, c.Queue = 4, load.Queue, load.QueueConfig{Size: 10, MaxWait: time.Hour}
			})
			want := make([]float64, requests)
			for i := range want {
				want[i] = service*float64(i+1) - interval*float64(i)
			}
			if diff := cmp.Diff(want, got.Effective, nearly()); diff != "" {
				t.Errorf("effective latencies in ms (-want +got):\n%s", diff)
			}
			figures := []float64{mean(got.Effective), slices.Max(got.Effective), slices.Max(got.Delay), mean(got.Service)}
			if diff := cmp.Diff([]float64{1442.5, 2370, 1855, service}, figures, nearly()); diff != "" {
				t.Errorf("mean and maximum of the effective latency, largest delay, mean from the start (-want +got):\n%s", diff)
			}
			wantShown(t, &got, map[series]shown{
				{"aiperf_effective_latency_seconds", ""}:       {requests, requests, 1.4425},
				{"aiperf_request_duration_seconds", "success"}: {requests, requests, .515},
			})
			if dropped := got.rig.series(t, "aiperf_arrivals_dropped_total"); dropped != 0 {
				t.Errorf("%v arrivals were dropped, want none", dropped)
			}
		})
	})
	t.Run("on_full drop counts the slots that were skipped", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			got := simulate(t, requests, always(service*time.Millisecond), func(c *load.Config) { c.Rate, c.OnFull = 4, load.Drop })
			want := []float64{0, 750, 1500, 2250, 3000, 3750, 4500, 5250}
			if diff := cmp.Diff(want, got.Sched, nearly()); diff != "" {
				t.Errorf("scheduled instants of what was sent, in ms (-want +got):\n%s", diff)
			}
			if slices.Max(got.Delay) != 0 || !near(slices.Max(got.Effective), service) {
				t.Errorf("largest delay %v ms, largest effective latency %v ms; want 0 and %v", slices.Max(got.Delay), slices.Max(got.Effective), service)
			}
			// Two of every three slots: those between the first and the last request.
			if dropped := got.rig.series(t, "aiperf_arrivals_dropped_total", "reason", "in_flight"); dropped != 14 {
				t.Errorf("%v arrivals were dropped for want of a slot, want 14", dropped)
			}
			// The server has caused the drops: they count against the SLO.
			if good, all := got.rig.series(t, "aiperf_good_requests_total"), got.rig.series(t, "aiperf_slo_requests_total"); good != 8 || all != 22 {
				t.Errorf("%v of %v arrivals are good, want 8 of 22", good, all)
			}
		})
	})
}

// TestAStallIsSeenByAllWhoWouldHaveAsked (vllm-project/guidellm#1048): 20 requests a second for 10 s, at most 10 at a time, each takes 20 ms,
// but what the server receives between 3 s and 5 s is held until 5 s.
func TestAStallIsSeenByAllWhoWouldHaveAsked(t *testing.T) {
	t.Parallel()
	const requests, stalled, recovered = 200, 3 * time.Second, 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		got := simulate(t, requests, func(start time.Duration) time.Duration {
			if start >= stalled && start < recovered {
				return recovered - start
			}
			return 20 * time.Millisecond
		}, func(c *load.Config) {
			c.Rate, c.MaxInFlight, c.OnFull, c.Queue = 20, 10, load.Queue, load.QueueConfig{Size: 100, MaxWait: time.Minute}
		})
		for i, sched := range got.Sched {
			if sched != float64(50*i) {
				t.Errorf("request %d was scheduled at %v ms, want %d: the stall moved the schedule", i, sched, 50*i)
			}
			if sched >= 6000 && got.Delay[i] != 0 {
				t.Errorf("request %d started %v ms late, long after the stall", i, got.Delay[i])
			}
		}
		figures := []float64{
			quantile(got.Effective, .90), quantile(got.Effective, .95), mean(got.Effective),
			quantile(got.Service, .90), mean(got.Service),
		}
		if diff := cmp.Diff([]float64{1070, 1550, 227.35, 20, 107.75}, figures, nearly()); diff != "" {
			t.Errorf("p90, p95, mean from the scheduled instant, p90, mean from the start, in ms (-want +got):\n%s", diff)
		}
		wantShown(t, &got, map[series]shown{
			{"aiperf_effective_latency_seconds", ""}:       {requests, 32, .22735},
			{"aiperf_request_duration_seconds", "success"}: {requests, 10, .10775},
			{"aiperf_schedule_delay_seconds", ""}:          {requests, 21, .1196},
		})
		if sent, dropped := got.rig.series(t, "aiperf_arrivals_sent_total"), got.rig.series(t, "aiperf_arrivals_dropped_total"); sent != requests || dropped != 0 {
			t.Errorf("%v arrivals were sent and %v dropped, want %d and 0", sent, dropped, requests)
		}
	})
}
