package generator_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// variant is a target as the n-th change of it wants it: each time something else of it is different.
func variant(name string, n int) generator.TargetConfig {
	c := simple(name, 150*time.Millisecond)
	c.Load.Rate, c.Load.MaxInFlight = 20, 10
	switch n % 10 {
	case 1:
		c.Load.Rate = 25
	case 2:
		c.URL += "/other"
	case 3:
		c.Load.Mode, c.Load.OnFull = load.Poisson, load.Queue
	case 4:
		c.Load.Mode, c.Load.Rate, c.Load.Concurrency, c.Load.MinInterval = load.Closed, 0, 3, 100*time.Millisecond
	case 5:
		c.Workload.Turns.Mean, c.Load.Mode, c.Load.Users = 3, load.Users, 4
	case 6:
		c.Client.Timeouts.Total = 120 * time.Millisecond
	case 7:
		c.SLOs = []metrics.SLO{{Name: fmt.Sprint("slo", n%3), Objective: .9, Window: time.Hour, Thresholds: []metrics.Threshold{{Metric: metrics.SLORequestLatency, Limit: 1e8}}}}
	case 8:
		c.Load.MaxInFlight, c.Load.MaxPrefill = 2, 1
	case 9:
		c.Budget.USDPerMillionInput = float64(n)
	}
	return c
}

// TestAHundredChangesOfAllTargets under 200 requests a second, with a scrape between them.
func TestAHundredChangesOfAllTargets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const targets, changes = 10, 100
		all := func(n int) (out []generator.TargetConfig) {
			for i := range targets {
				out = append(out, variant(fmt.Sprint("t", i), n+i))
			}
			return append(out, simple("unchanged", 100*time.Millisecond))
		}
		s := newSite(t, all(0)...)
		seen := map[string]float64{}
		for n := range changes {
			wait(280 * time.Millisecond)
			s.balanced(t)
			wait(207 * time.Millisecond)
			got := s.change(t, all(n+1)...)
			if len(got.Changed) != targets || !slices.Equal(got.Kept, []string{"unchanged"}) {
				t.Fatalf("change %d: %+v", n, got)
			}
			rises(t, seen, s.balanced(t))
		}
		for _, gap := range s.gaps("http://unchanged") {
			if gap != time.Second {
				t.Errorf("the unchanged target had a gap of %v", gap)
			}
		}
		sent := sum(s.gather(t)["aiperf_arrivals_sent_total"], "")
		if sent < 0.5*200*changes/2 {
			t.Errorf("only %v requests were sent", sent)
		}
		wait(time.Second)
		if got := s.carriers(); got != targets+1 {
			t.Errorf("%d clients, want %d", got, targets+1)
		}
	})
}

// rises wants no counter to be lower than at the scrape before. A series that has ended begins anew.
func rises(t *testing.T, seen map[string]float64, families map[string]*dto.MetricFamily) {
	t.Helper()
	before := maps.Clone(seen)
	clear(seen)
	for name, family := range families {
		if !strings.HasPrefix(name, "aiperf_") || family.GetType().String() != "COUNTER" {
			continue
		}
		for _, m := range family.GetMetric() {
			key := name
			for _, l := range m.GetLabel() {
				key += "," + l.GetName() + "=" + l.GetValue()
			}
			if !strings.Contains(key, ",target=") {
				continue // which targets are summed changes
			}
			if seen[key] = m.GetCounter().GetValue(); seen[key] < before[key] {
				t.Fatalf("%s moved from %v to %v", key, before[key], seen[key])
			}
		}
	}
}

// held is what this process holds after a collection of garbage.
type held struct {
	goroutines, files int
	heapBytes         float64
}

func heldNow(t *testing.T) held {
	t.Helper()
	for range 3 { // finalizers and pools need more than one
		runtime.GC()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("descriptors cannot be counted here: %v", err)
	}
	return held{runtime.NumGoroutine(), len(files), float64(memory.HeapAlloc)}
}

// It is not parallel: others would open files and start goroutines meanwhile.
func TestChangesLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // see above
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { sendStream(w, goodStream) }))
	defer server.Close()
	r := newRig(t, server.URL)
	r.deps.Observer = nil // it keeps every record
	all := func(n int) (out []generator.TargetConfig) {
		for i := range 5 {
			c := with(rigConfig(fmt.Sprint("t", i)), func(c *generator.TargetConfig) {
				c.URL, c.Client.Reuse = fmt.Sprint(server.URL, "/", n%2), transport.KeepAlive
				c.Load.Rate, c.Load.MaxInFlight = 40+float64(n%2), 20
				c.Workload.InputTokens.Mean = float64(10 + n%2)
			})
			out = append(out, c)
		}
		if n%3 == 0 {
			out = append(out, with(rigConfig("flaps"), func(c *generator.TargetConfig) { c.URL, c.Model = server.URL, fmt.Sprint("m", n%2) }))
		}
		return out
	}
	g, err := generator.New(generator.Config{Targets: all(0)}, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.Serve(ctx, time.Minute)
	}()
	n := 0
	change := func(times int) {
		every := time.NewTicker(20 * time.Millisecond)
		defer every.Stop()
		for range times {
			<-every.C
			n++
			c, err := g.Plan(generator.Config{Targets: all(n)})
			if err != nil {
				t.Fatal(err)
			}
			if c.Commit(); n%10 == 0 {
				r.balancedAll(t)
			}
		}
	}
	settle := func() held {
		c, err := g.Plan(generator.Config{})
		if err != nil {
			t.Fatal(err)
		}
		c.Commit()
		eventually(t, "all targets are gone", func() bool { return len(g.Status()) == 0 })
		server.CloseClientConnections()
		return heldNow(t)
	}
	change(101) // all that is made once
	before := settle()
	change(102)
	var after held
	eventually(t, "everything is given back", func() bool {
		after = settle()
		return after.goroutines <= before.goroutines && after.files <= before.files
	})
	if after.heapBytes > 1.02*before.heapBytes {
		t.Errorf("%v bytes before a hundred changes, %v after them", before.heapBytes, after.heapBytes)
	}
	stop()
	<-ended
	g.Close()
}

// balancedAll wants each arrival of all targets together accounted for.
func (r *rig) balancedAll(t *testing.T) {
	t.Helper()
	families := r.gather(t)
	arrivals, sent := sum(families["aiperf_arrivals_total"], ""), sum(families["aiperf_arrivals_sent_total"], "")
	dropped, queued := sum(families["aiperf_arrivals_dropped_total"], ""), sum(families["aiperf_inflight_requests"], "queued")
	if arrivals != sent+dropped+queued {
		t.Fatalf("%v arrivals, but %v sent, %v dropped and %v queued", arrivals, sent, dropped, queued)
	}
}
