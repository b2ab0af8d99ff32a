package otlp

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// fleet has a counter and a histogram, in both forms, of each of its targets.
type fleet struct {
	mu      sync.Mutex
	targets map[string]uint64                 // what they have counted
	born    map[string]*timestamppb.Timestamp // since when
	total   map[string]uint64                 // what was counted of those that are gone too, in all their lives
}

func newFleet(targets ...string) *fleet {
	f := &fleet{targets: map[string]uint64{}, born: map[string]*timestamppb.Timestamp{}, total: map[string]uint64{}}
	for _, name := range targets {
		f.count(name, 0)
	}
	return f
}

// count is what happens to a target; one that is not there appears.
func (f *fleet) count(target string, n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.targets[target]; !known {
		f.born[target] = timestamppb.Now()
	}
	f.targets[target] += n
	f.total[target] += n
}

func (f *fleet) remove(target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.targets, target)
}

// Gather implements prometheus.Gatherer.
func (f *fleet) Gather() ([]*dto.MetricFamily, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	total := &dto.MetricFamily{Name: new("aiperf_tokens_total"), Help: new("H"), Type: dto.MetricType_COUNTER.Enum()}
	seconds := &dto.MetricFamily{Name: new("aiperf_time_to_first_token_seconds"), Help: new("H"), Type: dto.MetricType_HISTOGRAM.Enum()}
	for _, name := range slices.Sorted(maps.Keys(f.targets)) {
		n, label := f.targets[name], []*dto.LabelPair{{Name: new("target"), Value: new(name)}}
		total.Metric = append(total.Metric, &dto.Metric{Label: label, Counter: &dto.Counter{Value: new(float64(n)), CreatedTimestamp: f.born[name]}})
		seconds.Metric = append(seconds.Metric, &dto.Metric{Label: label, Histogram: &dto.Histogram{
			SampleCount: new(n), SampleSum: new(float64(n)), CreatedTimestamp: f.born[name], Bucket: []*dto.Bucket{{UpperBound: new(1.), CumulativeCount: new(n)}},
			Schema: new(int32(3)), ZeroThreshold: new(1e-6), ZeroCount: new(uint64(0)),
			PositiveSpan: []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(1))}}, PositiveDelta: []int64{int64(n)},
		}})
	}
	return []*dto.MetricFamily{total, seconds}, nil
}

// arrivals are the sums of differences that a collector got, by metric and target.
func arrivals(t *testing.T, requests []*collectormetrics.ExportMetricsServiceRequest) map[string]uint64 {
	t.Helper()
	out, ends := map[string]uint64{}, map[string]uint64{}
	take := func(m *metricspb.Metric, kind string, labels []*commonpb.KeyValue, start, end, n uint64) {
		key := m.Name + " " + labels[0].Value.GetStringValue()
		if start < ends[key+kind] {
			t.Errorf("%s: a window begins before the end of the one before", key)
		}
		ends[key+kind] = end
		out[key] += n
	}
	const delta = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	for _, r := range requests {
		for _, m := range r.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			if m.Name != "aiperf.tokens" && m.Name != "aiperf.time_to_first_token" {
				continue
			}
			if data := m.GetSum(); data.GetAggregationTemporality() == delta {
				for _, p := range data.DataPoints {
					take(m, "sum", p.Attributes, p.StartTimeUnixNano, p.TimeUnixNano, uint64(p.GetAsDouble()))
				}
			}
			if data := m.GetHistogram(); data.GetAggregationTemporality() == delta {
				for _, p := range data.DataPoints {
					take(m, "explicit", p.Attributes, p.StartTimeUnixNano, p.TimeUnixNano, p.Count)
				}
			}
			if data := m.GetExponentialHistogram(); data.GetAggregationTemporality() == delta {
				for _, p := range data.DataPoints {
					take(m, "exponential", p.Attributes, p.StartTimeUnixNano, p.TimeUnixNano, p.Count)
				}
			}
		}
	}
	return out
}

// runs lets an exporter run; the function ends it and waits.
func runs(t *testing.T, e *Exporter) (stop func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); e.Run(ctx) }()
	stop = sync.OnceFunc(func() { end(); <-ended })
	t.Cleanup(stop)
	return stop
}

// begun tells whether the session has that was put into effect last.
func (e *Exporter) begun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.session.Load().stop != nil
}

func awaitBegun(e *Exporter) {
	for !e.begun() {
		runtime.Gosched()
	}
}

func change(t *testing.T, e *Exporter, c Config) {
	t.Helper()
	change, err := e.Plan(c)
	if err != nil {
		t.Fatal(err)
	}
	change.Commit()
}

// TestDifferencesAreExactWhateverChanges counts, adds and removes targets while the configuration of what is sent, its form and its address change and the
// collector is away at times. In the end everything has arrived once.
func TestDifferencesAreExactWhateverChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			var away atomic.Bool
			s := &collectorServer{answer: func(int) (*collectormetrics.ExportMetricsServiceResponse, error) {
				if away.Load() {
					return nil, status.Error(codes.Unavailable, "away")
				}
				return &collectormetrics.ExportMetricsServiceResponse{}, nil
			}}
			addresses := make([]string, 2)
			for i := range addresses {
				addresses[i], _ = serve(t, s, "127.0.0.1:0")
			}
			config := testConfig(addresses[0])
			config.Temporality, config.Interval = Delta, time.Hour
			f := newFleet()
			e := newExporter(t, config, f)
			stop := runs(t, e)
			for range 30 {
				for _, target := range []string{"a", "b", "c"} {
					f.count(target, uint64(random.IntN(5)))
				}
				if config.Enabled && random.IntN(3) == 0 {
					e.Removing("c", "nobody")
					f.remove("c")
				}
				away.Store(random.IntN(3) == 0)
				config.Histogram = []HistogramForm{Exponential, Explicit}[random.IntN(2)]
				config.Endpoint = "http://" + addresses[random.IntN(2)]
				config.ServerSemconv = !config.ServerSemconv
				config.Enabled = random.IntN(8) > 0
				change(t, e, config)
				if random.IntN(2) == 0 { // else the next change comes before this one has been made
					awaitBegun(e)
				}
			}
			away.Store(false)
			config.Enabled, config.Interval = true, 2*time.Hour
			change(t, e, config)
			stop()
			want := map[string]uint64{}
			for target, n := range f.total {
				want["aiperf.tokens "+target], want["aiperf.time_to_first_token "+target] = n, n
			}
			if diff := cmp.Diff(want, arrivals(t, s.received())); diff != "" {
				t.Errorf("what arrived (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDifferencesBeginWithWhatWasSentAsAWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after Temporality
		want          map[string]uint64 // that arrives as differences
	}{
		"all were sent as a whole":   {Cumulative, Delta, map[string]uint64{"aiperf.tokens a": 2, "aiperf.time_to_first_token a": 2}},
		"counters were":              {LowMemory, Delta, map[string]uint64{"aiperf.tokens a": 2, "aiperf.time_to_first_token a": 7}},
		"counters are from now on":   {Delta, LowMemory, map[string]uint64{"aiperf.tokens a": 5, "aiperf.time_to_first_token a": 7}},
		"everything is, from now on": {Delta, Cumulative, map[string]uint64{"aiperf.tokens a": 5, "aiperf.time_to_first_token a": 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &collectorServer{}
			address, _ := serve(t, s, "127.0.0.1:0")
			config := testConfig(address)
			config.Temporality, config.Interval = c.before, time.Hour
			f := newFleet()
			e := newExporter(t, config, f)
			f.count("a", 5)
			stop := runs(t, e)
			awaitBegun(e)
			config.Temporality = c.after
			change(t, e, config)
			awaitBegun(e)
			f.count("a", 2)
			stop()
			if diff := cmp.Diff(c.want, arrivals(t, s.received())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOldOneEndsBeforeTheNewOneSends(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	old, next := &collectorServer{}, &collectorServer{got: make(chan struct{})}
	var entered sync.Once
	inside := make(chan struct{})
	old.answer = func(int) (*collectormetrics.ExportMetricsServiceResponse, error) {
		entered.Do(func() { close(inside) })
		<-release
		return &collectormetrics.ExportMetricsServiceResponse{}, nil
	}
	first, _ := serve(t, old, "127.0.0.1:0")
	second, _ := serve(t, next, "127.0.0.1:0")
	config := testConfig(first)
	config.Interval = time.Millisecond
	e := newExporter(t, config, newFleet("a"))
	stop := runs(t, e)
	<-inside
	config.Endpoint = "http://" + second
	change(t, e, config)
	if e.begun() {
		t.Error("the new one has begun while the old one sends")
	}
	close(release)
	<-next.got
	stop()
	if n := valueOf(t, e, exportsSeries, success); n < 3 {
		t.Errorf("%v exports were counted, want those of both", n)
	}
}

func TestARemovedTargetSendsOneLastDifference(t *testing.T) {
	t.Parallel()
	for _, temporality := range []Temporality{Delta, Cumulative} {
		s := &collectorServer{}
		address, _ := serve(t, s, "127.0.0.1:0")
		config := testConfig(address)
		config.Temporality = temporality
		f := newFleet()
		e := newExporter(t, config, f)
		f.count("b", 0)
		send := func() map[string]uint64 {
			before := len(s.received())
			e.session.Load().export(t.Context())
			return arrivals(t, s.received()[before:])
		}
		f.count("a", 5)
		send()
		f.count("a", 4)
		e.Removing("a")
		f.remove("a")
		last, after := send(), send()
		want := map[string]uint64{"aiperf.tokens a": 4, "aiperf.tokens b": 0, "aiperf.time_to_first_token a": 4, "aiperf.time_to_first_token b": 0}
		wantAfter := map[string]uint64{"aiperf.tokens b": 0, "aiperf.time_to_first_token b": 0}
		if temporality == Cumulative { // whose series simply end
			want, wantAfter = map[string]uint64{}, map[string]uint64{}
			if n := len(e.looks.noted); n != 0 {
				t.Errorf("%d looks are kept for nobody", n)
			}
			for _, m := range s.received()[1].ResourceMetrics[0].ScopeMetrics[0].Metrics {
				if m.Name == "aiperf.tokens" && len(m.GetSum().DataPoints) != 1 {
					t.Errorf("%d series, want the one that is left", len(m.GetSum().DataPoints))
				}
			}
		}
		if diff := cmp.Diff([]map[string]uint64{want, wantAfter}, []map[string]uint64{last, after}); diff != "" {
			t.Errorf("%s: the two exports after the removal (-want +got):\n%s", temporality, diff)
		}
	}
}

func TestLooksThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	l := &looks{gatherer: newFleet("a"), now: time.Now}
	for range maxNoted + 10 {
		l.note([]string{"a"})
	}
	if n := len(l.noted); n != maxNoted {
		t.Errorf("%d are kept, want %d", n, maxNoted)
	}
}

// TestChangesLeaveNothingRunning changes an exporter two hundred times, while spans are made and it is looked at.
func TestChangesLeaveNothingRunning(t *testing.T) {
	t.Parallel()
	s := &collectorServer{}
	address, _ := serve(t, s, "127.0.0.1:0")
	config := testConfig(address)
	config.Interval = time.Millisecond
	e := newExporter(t, config, newFleet("a"))
	stop := runs(t, e)
	ctx, end := context.WithCancel(t.Context())
	var using sync.WaitGroup
	using.Go(func() {
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for ctx.Err() == nil {
			<-again.C
			if tracer := e.Tracer(); tracer != nil {
				_, span := tracer.Start(ctx, "x")
				span.End()
			}
			e.Trace()
			e.Families()
			e.Status()
			e.Removing("a")
		}
	})
	for i := range 200 {
		config.Traces = TracesConfig{Enabled: i%3 == 0, Ratio: 1}
		config.Enabled, config.Interval = i%7 != 0, time.Duration(1+i%2)*time.Millisecond
		planned, err := e.Plan(config)
		if err != nil {
			t.Fatal(err)
		}
		if i%5 == 4 {
			planned.Discard()
		} else {
			planned.Commit()
		}
	}
	end()
	using.Wait()
	stop()
	config.Enabled, config.Interval = true, time.Hour
	change(t, e, config) // after the end, which the test's own end looks at (goleak)
}

func TestAFileThatCannotBeReadLeavesWhatRuns(t *testing.T) {
	t.Parallel()
	config := testConfig("127.0.0.1:1")
	e := newExporter(t, config, newFleet("a"))
	before := e.session.Load()
	config.HeadersFile = "testdata/no-such-file"
	if _, err := e.Plan(config); err == nil {
		t.Error("want an error")
	}
	config.HeadersFile = ""
	change(t, e, config)
	if e.session.Load() != before {
		t.Error("what has not changed was made anew")
	}
}

func TestPanicsAreTold(t *testing.T) {
	t.Parallel()
	var causes []any
	config := testConfig("127.0.0.1:1")
	config.Traces.Enabled = true
	e := newExporterWith(t, config, Deps{Panicked: func(cause any) { causes = append(causes, cause) }})
	e.session.Load().export(t.Context()) // there is nothing to gather from
	q := e.session.Load().queue
	q.exporter = nil
	_, span := e.Tracer().Start(t.Context(), "x")
	span.End()
	if left := q.send(t.Context(), []sdktrace.ReadOnlySpan{<-q.waiting}); len(left) != 0 {
		t.Errorf("%d spans wait", len(left))
	}
	if len(causes) != 2 || valueOf(t, e, spansSeries, lost) != 1 {
		t.Errorf("panics %v, and %v spans lost, want two and one", causes, valueOf(t, e, spansSeries, lost))
	}
}

func TestStatusOfSending(t *testing.T) {
	t.Parallel()
	refusal := false
	s := &collectorServer{answer: func(int) (*collectormetrics.ExportMetricsServiceResponse, error) {
		if refusal {
			return nil, status.Error(codes.Unauthenticated, "who is hunter2hunter2?")
		}
		return &collectormetrics.ExportMetricsServiceResponse{}, nil
	}}
	address, _ := serve(t, s, "127.0.0.1:0")
	config := testConfig(address)
	config.Headers = map[string]secret.Secret{"authorization": "hunter2hunter2"}
	e := newExporter(t, config, newFleet("a"))
	shown := func(state, detail string, points int) {
		t.Helper()
		got := e.Status()
		if len(got) != 1 || got[0].Endpoint != "http://"+address || got[0].State != state || got[0].Detail != detail || got[0].Points != points {
			t.Errorf("got %+v, want %s, %s, %d points", got, state, detail, points)
		}
	}
	shown(collector.StateWaiting, "", 0)
	e.session.Load().export(t.Context())
	shown(collector.StateOK, "", 2)
	refusal = true
	e.session.Load().export(t.Context())
	got := e.Status()[0]
	if got.State != string(reasonUnauthorized) || got.LastSuccess.IsZero() || got.Took <= 0 {
		t.Errorf("got %+v", got)
	}
	if got.Detail == "" || strings.Contains(got.Detail, "hunter2") {
		t.Errorf("detail %q", got.Detail)
	}
}
