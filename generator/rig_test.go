package generator_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// observed is a finished request, as the generator tells it.
type observed struct {
	record   metrics.Record
	measures metrics.Measures
}

// rig is one target with everything that the process gives it, and what it measured.
type rig struct {
	config   generator.TargetConfig
	clock    *metrics.SystemClock
	registry *prometheus.Registry
	deps     generator.Deps

	mu   sync.Mutex
	seen []observed
}

// newRig prepares a chat target at url; each configure may change it.
func newRig(tb testing.TB, url string, configure ...func(*generator.TargetConfig)) *rig {
	tb.Helper()
	r := &rig{
		config:   rigConfig("open"),
		clock:    metrics.NewSystemClock(),
		registry: prometheus.NewPedanticRegistry(),
	}
	r.config.URL = url
	for _, change := range configure {
		change(&r.config)
	}
	store := metrics.NewStore(metrics.Options{Config: metrics.DefaultConfig(), Clock: r.clock, Settings: metrics.Settings{SLOs: r.config.SLOs}})
	r.registry.MustRegister(store)
	r.deps = generator.Deps{
		Clock: r.clock, Store: store, Limiter: load.NewLimiter(0, 0), Logger: slog.New(slog.DiscardHandler),
		UserAgent: "test", Observer: r,
	}
	if r.config.Client.Timestamps == transport.KernelTimestamps { // simulated time has no use for it
		poller, err := transport.NewPoller(r.clock)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(poller.Close)
		r.deps.Poller = poller
	}
	return r
}

// rigConfig is a chat target.
func rigConfig(name string) generator.TargetConfig {
	return generator.TargetConfig{
		Name: name, URL: "http://" + name, Model: "m", WorkloadName: "short", LoadName: "default",
		Endpoint: endpoint.Config{Type: endpoint.Chat, MaxTokensField: endpoint.FieldAuto},
		Workload: workload.DefaultConfig(),
		Load:     load.DefaultConfig(),
		Client:   transport.DefaultConfig(),
		Seed:     1,
		SLOs: []metrics.SLO{{
			Name: "interactive", Objective: .99, Window: time.Hour, CountDrops: true,
			Thresholds: []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: float64(time.Minute)}},
		}},
	}
}

// Finished implements generator.Observer.
func (r *rig) Finished(_ string, record *metrics.Record, measures *metrics.Measures, _ []metrics.Verdict) {
	kept := *record
	kept.Content = slices.Clone(record.Content)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, observed{kept, *measures})
}

// Dropped implements generator.Observer; the tests look at the series instead.
func (*rig) Dropped(string, metrics.DropReason, int64) {}

// misplaced says that an instant of a record, which started at start, does not fit the writes that brought it, the first and the last of a
// read; it says nothing if it does. Events that a client took in one read, because it was late, have the instant of the last.
func (r *rig) misplaced(what string, got, start int64, first, last written) []string {
	from, to := r.clock.At(first.before.Add(-tooEarly)), r.clock.At(last.after.Add(tooLate))
	if got < from || got > to {
		return []string{fmt.Sprintf("%s at %v, want between %v and %v (after the start)", what, time.Duration(got-start),
			time.Duration(from-start), time.Duration(to-start))}
	}
	return nil
}

// target builds the target, which ends with the test.
func (r *rig) target(tb testing.TB) *generator.Target {
	tb.Helper()
	target, err := generator.NewTarget(r.config, r.deps)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(target.Close)
	return target
}

// run sends that many requests as the load wants them, and returns what came of them.
func (r *rig) run(tb testing.TB, requests int64) []observed {
	tb.Helper()
	g, err := generator.New(generator.Config{Targets: []generator.TargetConfig{r.config}}, r.deps)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(g.Close)
	g.Run(tb.Context(), time.Minute, requests)
	return r.records()
}

// once sends a single request.
func (r *rig) once(ctx context.Context, tb testing.TB) observed {
	tb.Helper()
	r.target(tb).Once(ctx)
	all := r.records()
	if len(all) != 1 {
		tb.Fatalf("%d records, want 1", len(all))
	}
	return all[0]
}

// records are those of all finished requests, in the order in which they were wanted.
func (r *rig) records() []observed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(slices.Values(r.seen), func(a, b observed) int {
		return int(a.record.Time.Sched - b.record.Time.Sched)
	})
}

// series is the value of a counter or gauge, or the number of observations of a histogram, summed over the children with that label.
func (r *rig) series(tb testing.TB, name string, label ...string) float64 {
	tb.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		var sum float64
		for _, m := range family.GetMetric() {
			if len(label) == 0 || hasLabel(m, label[0], label[1]) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		return sum
	}
	tb.Fatalf("there is no series %s", name)
	return 0
}

func hasLabel(m *dto.Metric, name, value string) bool {
	return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == value })
}
