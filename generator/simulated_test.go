package generator_test

import (
	"context"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// simulated is a server in the time of a synctest bubble, with one token for each request. It answers a request that starts at some time
// of the run after service says.
type simulated struct {
	clock   *metrics.SystemClock
	anchor  int64 // instant at which the run begins
	service func(start time.Duration) time.Duration
}

// Do implements the generator's client.
func (s *simulated) Do(ctx context.Context, _ *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer {
	timeline.Start = s.clock.Now()
	timeline.Sent = timeline.Start
	handler.Start(timeline.Start)
	held := time.NewTimer(s.service(time.Duration(timeline.Start - s.anchor)))
	defer held.Stop()
	select {
	case <-ctx.Done():
		timeline.End = s.clock.Now()
		return transport.Answer{Cancelled: true}
	case <-held.C:
	}
	timeline.End = s.clock.Now()
	handler.Event(&transport.Event{
		Data: []byte(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`),
		At:   timeline.End, Read: 1,
	})
	return transport.Answer{Status: http.StatusOK, Stream: true, ConnObtained: true}
}

// Close implements the generator's client.
func (*simulated) Close() {}

// run is what came of a run in simulated time: the finished requests as they were wanted, when each was wanted, started and answered, in
// milliseconds of the run, and the series at its end.
type run struct {
	Sched, Start, Service, Delay, Effective []float64

	rig *rig
}

// simulate runs a target until it has sent that many requests, and scrapes it all the while.
func simulate(t *testing.T, requests int64, service func(time.Duration) time.Duration, configure func(*load.Config)) run {
	t.Helper()
	r := newRig(t, "http://simulated", func(c *generator.TargetConfig) {
		c.Load.MaxInFlight = 1
		configure(&c.Load)
		c.Client.Timestamps = transport.ReadTimestamps
	})
	wait(time.Second) // the instant 0 means that something did not happen
	target := r.target(t)
	anchor := r.clock.Now()
	target.Carry(&simulated{r.clock, anchor, service})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		target.Run(t.Context(), time.Hour, requests)
	}()
	r.scrapeUntil(t, ended, anchor, requests)
	out := run{rig: r}
	for _, o := range r.records() {
		if o.record.Outcome != metrics.Success {
			t.Fatalf("a request ended as %s %s: %s", o.record.Outcome, o.record.Class, o.record.Detail)
		}
		timeline := &o.record.Time
		out.Sched = append(out.Sched, float64(timeline.Sched-anchor)/1e6)
		out.Start = append(out.Start, float64(timeline.Start-anchor)/1e6)
		out.Service = append(out.Service, o.measures.RequestLatency.V*1e3)
		out.Delay = append(out.Delay, o.measures.ScheduleDelay.V*1e3)
		out.Effective = append(out.Effective, o.measures.EffectiveLatency.V*1e3)
	}
	return out
}

// scrapeUntil wants every arrival to be accounted for at every scrape: none is forgotten while a server is slow, and each that is known
// has been sent, was dropped or is queued.
func (r *rig) scrapeUntil(t *testing.T, ended <-chan struct{}, anchor, requests int64) {
	t.Helper()
	interval := int64(r.config.Load.Interval)
	if interval == 0 {
		interval = int64(1e9 / r.config.Load.Rate)
	}
	every := time.NewTicker(20 * time.Millisecond) // on arrivals, between them, and when a request ends
	defer every.Stop()
	for {
		select {
		case <-ended:
			return
		case <-every.C:
		}
		now := r.clock.Now() - anchor
		families := r.gather(t)
		arrivals, sent := sum(families["aiperf_arrivals_total"], ""), sum(families["aiperf_arrivals_sent_total"], "")
		dropped, queued := sum(families["aiperf_arrivals_dropped_total"], ""), sum(families["aiperf_inflight_requests"], "queued")
		if arrivals != sent+dropped+queued {
			t.Fatalf("at %v: %v arrivals, but %v sent, %v dropped and %v queued", time.Duration(now), arrivals, sent, dropped, queued)
		}
		// At an arrival's own instant, its scrape may come before it. The last arrivals of a run are not wanted any more.
		if due := float64(now/interval + 1); now%interval != 0 && sent+queued < float64(requests) && arrivals != due {
			t.Fatalf("at %v: %v arrivals, want %v", time.Duration(now), arrivals, due)
		}
		finished, running := sum(families["aiperf_requests_total"], ""), sum(families["aiperf_inflight_requests"], "prefill")+sum(families["aiperf_inflight_requests"], "decode")
		if sent != finished+running {
			t.Fatalf("at %v: %v sent, but %v finished and %v running", time.Duration(now), sent, finished, running)
		}
	}
}

func (r *rig) gather(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		out[f.GetName()] = f
	}
	return out
}

// sum adds the counters and gauges with that label value, "" = all.
func sum(family *dto.MetricFamily, label string) (total float64) {
	for _, m := range family.GetMetric() {
		if label == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label }) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return total
}

// shown is what a histogram says: how many observations, their mean, and how many over half a second, the latter two in seconds.
type shown struct {
	Count, Slow uint64
	Mean        float64
}

func (r *run) shown(t *testing.T, name, label string) shown {
	t.Helper()
	for _, m := range r.rig.gather(t)[name].GetMetric() {
		if label != "" && !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label }) {
			continue
		}
		h := m.GetHistogram()
		for _, b := range h.GetBucket() {
			if b.GetUpperBound() == .5 {
				return shown{h.GetSampleCount(), h.GetSampleCount() - b.GetCumulativeCount(), h.GetSampleSum() / float64(h.GetSampleCount())}
			}
		}
	}
	t.Fatalf("no histogram %s %s with a boundary at 0.5 s", name, label)
	return shown{}
}

// wait lets the time of a synctest bubble go on.
func wait(d time.Duration) { <-time.NewTimer(d).C }

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// interpolated is a quantile between the ranks.
func interpolated(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	whole, part := math.Modf(q * float64(len(sorted)-1))
	i := int(whole)
	if part == 0 {
		return sorted[i]
	}
	return sorted[i] + part*(sorted[i+1]-sorted[i])
}

// near says whether two figures are the same but for the rounding of sums.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*math.Max(1, math.Abs(b)) }

// nearly compares figures, of which no rounding is to be seen.
func nearly() cmp.Option { return cmp.Comparer(near) }

// series is a histogram, and the label value of its child if it has several.
type series struct{ name, label string }

func wantShown(t *testing.T, r *run, want map[series]shown) {
	t.Helper()
	got := map[series]shown{}
	for s := range want {
		got[s] = r.shown(t, s.name, s.label)
	}
	both := cmp.Comparer(func(a, b float64) bool { return near(a, b) || math.IsNaN(a) && math.IsNaN(b) })
	if diff := cmp.Diff(want, got, both, cmp.AllowUnexported(series{})); diff != "" {
		t.Errorf("histograms (-want +got):\n%s", diff)
	}
}
