package generator_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// brokenObserver fails at the first drop that it is told of.
type brokenObserver struct {
	*rig
	failed atomic.Bool
}

func (o *brokenObserver) Dropped(string, metrics.DropReason, int64) {
	if !o.failed.Swap(true) {
		panic("an observer that is broken")
	}
}

func TestATargetThatPanicsStartsAnew(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		sendStream(w, goodStream)
	}))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL, func(c *generator.TargetConfig) { c.Load.Rate, c.Load.MaxInFlight = 100, 1 })
	observer := &brokenObserver{rig: r}
	r.deps.Observer = observer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	target := r.target(t)
	go func() {
		defer close(ended)
		target.Run(ctx, time.Minute, 0)
	}()
	eventually(t, "the panic is counted", func() bool {
		return r.series(t, "aiperf_exporter_panics_total", "component", "target") == 1
	})
	eventually(t, "the target is shown as failed", func() bool { return r.series(t, "aiperf_exporter_targets", "state", "failed") == 1 })
	dropped := r.series(t, "aiperf_arrivals_dropped_total", "reason", "in_flight")
	eventually(t, "arrivals go on", func() bool {
		return r.series(t, "aiperf_arrivals_dropped_total", "reason", "in_flight") > dropped
	})
	if got := r.series(t, "aiperf_exporter_targets", "state", "running"); got != 1 {
		t.Errorf("running targets = %v, want 1", got)
	}
	close(release)
	stop()
	<-ended
	if sent, ok := r.series(t, "aiperf_arrivals_sent_total"), r.series(t, "aiperf_requests_total", "outcome", "success"); sent != ok || sent == 0 {
		t.Errorf("%v sent, %v successes: the request that ran when its target failed must not be lost", sent, ok)
	}
}

// lateObserver fails when it is told of what was queued and not sent in time.
type lateObserver struct{ *rig }

func (lateObserver) Dropped(_ string, reason metrics.DropReason, _ int64) {
	if reason == metrics.DropSchedulerLate {
		panic("an observer that is broken")
	}
}

func TestATargetThatPanicsAtItsEndEndsAlone(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(hang))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL, func(c *generator.TargetConfig) {
		c.Load.Rate, c.Load.MaxInFlight, c.Load.OnFull = 50, 1, load.Queue
		c.Load.Queue = load.QueueConfig{Size: 3, MaxWait: time.Hour}
	})
	r.deps.Observer = lateObserver{r}
	g, err := generator.New(generator.Config{Targets: []generator.TargetConfig{r.config}}, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.Serve(ctx, 0)
	}()
	eventually(t, "arrivals wait", func() bool { return r.series(t, "aiperf_inflight_requests", "phase", "queued") > 0 })
	stop()
	<-ended
	if got := r.series(t, "aiperf_exporter_panics_total", "component", "target"); got != 1 {
		t.Errorf("%v panics, want 1", got)
	}
	for _, phase := range []string{"prefill", "decode"} {
		if got := r.series(t, "aiperf_inflight_requests", "phase", phase); got != 0 {
			t.Errorf("%v requests run on in %s", got, phase)
		}
	}
}

// deafObserver fails at every request that it is told of.
type deafObserver struct{ *rig }

func (deafObserver) Finished(string, *metrics.Record, *metrics.Measures, []metrics.Verdict) {
	panic("an observer that is broken")
}

func (deafObserver) Dropped(string, metrics.DropReason, int64) {}

func TestWhoeverIsToldOfARequestMayPanic(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { sendStream(w, goodStream) }))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL, func(c *generator.TargetConfig) { c.Load.Rate, c.Load.MaxInFlight = 100, 1 })
	r.deps.Observer = deafObserver{r}
	r.target(t).Run(t.Context(), time.Minute, 3)
	for name, want := range map[string]float64{"aiperf_arrivals_sent_total": 3, "aiperf_inflight_requests": 0} {
		if got := r.series(t, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	if got := r.series(t, "aiperf_requests_total", "outcome", "success"); got != 3 {
		t.Errorf("%v successes, want 3", got)
	}
	if got := r.series(t, "aiperf_exporter_panics_total", "component", "request"); got != 3 {
		t.Errorf("%v panics, want 3", got)
	}
}

func TestARequestThatPanicsIsACountedFailure(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { sendStream(w, goodStream) }))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL, func(c *generator.TargetConfig) {
		c.Client.Credential = func() (string, string, error) { panic("a credential that is broken") }
	})
	got := r.once(t.Context(), t).record
	if got.Outcome != metrics.Failure || got.Class != metrics.ErrClientInternal {
		t.Errorf("outcome %q, class %q, want error client_internal", got.Outcome, got.Class)
	}
	if n := r.series(t, "aiperf_exporter_panics_total", "component", "request"); n != 1 {
		t.Errorf("panics = %v, want 1", n)
	}
	if n := r.series(t, "aiperf_inflight_requests"); n != 0 {
		t.Errorf("in flight = %v, want 0", n)
	}
}

// With a budget the loop makes the turns, so that it can tell what they may cost.
func TestAWorkloadThatPanicsHoldsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "http://simulated", func(c *generator.TargetConfig) {
			c.Client.Timestamps = transport.ReadTimestamps
			c.Load.Rate, c.Load.MaxInFlight = 1, 1
			c.Budget = budget.Config{RequestsPerDay: 100, TZ: "UTC"}
		})
		var err error
		if r.deps.Ledger, err = budget.Open(""); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		target := r.target(t)
		repair := target.BreakWorkload()
		defer repair()
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			target.Run(ctx, time.Second, 0)
		}()
		select {
		case <-ended:
		case <-time.NewTimer(time.Hour).C:
			t.Fatal("the target does not come to its end")
		}
		for _, want := range []struct {
			name, label, value string
			is                 float64
		}{
			{"aiperf_arrivals_total", "target", "open", 4},
			{"aiperf_arrivals_sent_total", "target", "open", 4},
			{"aiperf_request_errors_total", "error_class", "client_internal", 4},
			{"aiperf_exporter_panics_total", "component", "request", 4},
			{"aiperf_inflight_requests", "target", "open", 0},
			{"aiperf_budget_used", "kind", "requests", 0},
		} {
			if got := r.series(t, want.name, want.label, want.value); got != want.is {
				t.Errorf("%s{%s=%q} = %v, want %v", want.name, want.label, want.value, got, want.is)
			}
		}
	})
}

func TestQueuedArrivalsThatWaitTooLongAreDropped(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(hang))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL, func(c *generator.TargetConfig) {
		c.Load.Rate, c.Load.MaxInFlight, c.Load.OnFull = 50, 1, load.Queue
		c.Load.Queue = load.QueueConfig{Size: 3, MaxWait: 100 * time.Millisecond}
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	target := r.target(t)
	go func() {
		defer close(ended)
		target.Run(ctx, 0, 0)
	}()
	eventually(t, "arrivals wait too long", func() bool {
		return r.series(t, "aiperf_arrivals_dropped_total", "reason", "queue_timeout") > 0
	})
	eventually(t, "the queue is full", func() bool {
		return r.series(t, "aiperf_arrivals_dropped_total", "reason", "queue_full") > 0
	})
	stop()
	<-ended
	arrivals, sent, dropped := r.series(t, "aiperf_arrivals_total"), r.series(t, "aiperf_arrivals_sent_total"), r.series(t, "aiperf_arrivals_dropped_total")
	if arrivals != sent+dropped {
		t.Errorf("arrivals %v, want sent %v + dropped %v", arrivals, sent, dropped)
	}
	caused := dropped - r.series(t, "aiperf_arrivals_dropped_total", "reason", "scheduler_late") // those that were left when the grace ended
	if got := r.series(t, "aiperf_slo_requests_total"); got != caused {
		t.Errorf("slo requests = %v, want the %v drops that the server caused", got, caused)
	}
}

// eventually waits for something that happens on another goroutine; the test's own deadline ends it.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !happened() {
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatalf("it never happened that %s", what)
		}
	}
}
