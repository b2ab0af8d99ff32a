package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestARequestThatIsUnderWayEndsRightWhateverChanges(t *testing.T) {
	t.Parallel()
	tight, wide := limited("tight", time.Nanosecond, time.Nanosecond), limited("wide", time.Hour, 0)
	before := TargetInfo{Name: "t", Features: Features{Streaming: true, SLOs: []SLO{tight, wide}, Checks: []string{"regex"}}}
	for name, c := range map[string]struct {
		update TargetInfo
		want   map[string]float64
	}{
		"its SLOs have changed places": {
			TargetInfo{Name: "t", Features: Features{Streaming: true, SLOs: []SLO{wide, tight}}},
			map[string]float64{"good tight": 0, "all tight": 1, "broken tight": 2, "good wide": 1, "all wide": 1, "broken wide": 0},
		},
		"an SLO has gone and another has come": {
			TargetInfo{Name: "t", Features: Features{Streaming: true, SLOs: []SLO{limited("new", time.Nanosecond, 0), wide}}},
			map[string]float64{"good new": 0, "all new": 0, "broken new": 0, "good wide": 1, "all wide": 1, "broken wide": 0},
		},
		"a limit has gone": {
			TargetInfo{Name: "t", Features: Features{Streaming: true, SLOs: []SLO{limited("tight", time.Nanosecond, 0)}}},
			map[string]float64{"good tight": 0, "all tight": 1, "broken tight": 1},
		},
		"there are no SLOs any more": {TargetInfo{Name: "t", Features: Features{Streaming: true}}, map[string]float64{}},
		"it is something else":       {TargetInfo{Name: "t", Features: Features{Product: ProductImages}}, map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(s)
			target := s.Add(before)
			r := goldenTimelines()["plain"].record()
			r.Items = 5
			waiting, streaming := target.Sent(), target.Sent()
			for _, flight := range []*Flight{waiting, streaming} {
				flight.Start(r.Time.Start, 1)
			}
			streaming.Content(r.Content[0], Count{})
			target.Queued()
			target.Update(c.update)
			target.DequeuedDropped(DropGlobalLimit)
			if _, verdicts := streaming.Finish(r); len(verdicts) != 2 || verdicts[0].Good || !verdicts[1].Good {
				t.Errorf("verdicts %+v, want those of the SLOs at the beginning", verdicts)
			}
			waiting.Finish(&Record{Outcome: Cancelled, FailedChecks: []string{"regex"}})

			families := gather(t, registry)
			for _, phase := range InflightPhases {
				if n := value(t, families, "aiperf_inflight_requests", "phase", phase); n != 0 {
					t.Errorf("%v requests are in %s", n, phase)
				}
			}
			if got := value(t, families, "aiperf_arrivals_total"); got != 3 {
				t.Errorf("%v arrivals, want 3", got)
			}
			if got := sum(families, "aiperf_requests_total"); got != 2 {
				t.Errorf("%v requests, want 2", got)
			}
			if got := sum(families, "aiperf_images_total"); got != 0 {
				t.Errorf("%v images, want 0: nobody asked for them", got)
			}
			got := map[string]float64{}
			for word, series := range map[string]string{"good": "aiperf_good_requests_total", "all": "aiperf_slo_requests_total", "broken": "aiperf_slo_metric_violations_total"} {
				for _, m := range families[series].GetMetric() {
					for _, l := range m.GetLabel() {
						if l.GetName() == "slo" {
							got[word+" "+l.GetValue()] += m.GetCounter().GetValue()
						}
					}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("what the SLOs say (-want +got):\n%s", diff)
			}
			if target.sweep.head != nil {
				t.Error("a request is still open in the sweep")
			}
		})
	}
}
