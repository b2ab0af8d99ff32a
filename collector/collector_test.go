package collector

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// shown is a collector that always shows the same.
type shown []*dto.MetricFamily

func (shown) Run(context.Context) {}

func (s shown) Families() []*dto.MetricFamily { return s }

func testTable() []metrics.Series {
	return []metrics.Series{
		{Name: "aiperf_server_tokens_total", Kind: metrics.Counter, Scope: metrics.PerServer, Help: "Tokens."},
		{Name: "aiperf_gpu_power_watts", Kind: metrics.Gauge, Scope: metrics.PerGPU, Help: "Power."},
		{Name: "aiperf_server_queue_seconds", Kind: metrics.Histogram, Scope: metrics.PerServer, Help: "Queue."},
		{Name: "aiperf_scrape_errors_total", Kind: metrics.Counter, Scope: metrics.PerProcess, Help: "Errors.", Labels: []metrics.Label{{Name: "target"}, {Name: "reason"}}},
	}
}

// family makes one of a single type with a series for each value of the label a.
func family(name string, kind dto.MetricType, help string, values ...string) *dto.MetricFamily {
	f := &dto.MetricFamily{Name: &name, Type: &kind, Help: &help}
	for _, value := range values {
		m := &dto.Metric{Label: []*dto.LabelPair{{Name: new("a"), Value: &value}}}
		if kind == dto.MetricType_COUNTER {
			m.Counter = &dto.Counter{Value: new(1.)}
		} else {
			m.Gauge = &dto.Gauge{Value: new(1.)}
		}
		f.Metric = append(f.Metric, m)
	}
	return f
}

// text is what a gatherer shows, beside an empty registry, as a scrape would see it.
func text(t *testing.T, g prometheus.Gatherer) string {
	t.Helper()
	families, err := prometheus.Gatherers{prometheus.NewPedanticRegistry(), g}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestBuilderMakesFamiliesOfItsTable(t *testing.T) {
	t.Parallel()
	b := NewBuilder(testTable())
	b.Add("aiperf_server_tokens_total", 7, "t", "h:1", "vllm", "m", "0")
	b.Add("aiperf_gpu_power_watts", 400.5, "0", "GPU-1", "host", "", "dcgm")
	b.Add("aiperf_scrape_errors_total", 0, "t", "timeout")
	b.AddHistogram("aiperf_server_queue_seconds", &dto.Histogram{SampleCount: new(uint64(1)), SampleSum: new(.5)}, "t", "h:1", "vllm", "m", "")
	want := `# HELP aiperf_gpu_power_watts Power.
# TYPE aiperf_gpu_power_watts gauge
aiperf_gpu_power_watts{gpu="0",hostname="host",mig_instance="",region="eu",source="dcgm",uuid="GPU-1"} 400.5
# HELP aiperf_scrape_errors_total Errors.
# TYPE aiperf_scrape_errors_total counter
aiperf_scrape_errors_total{reason="timeout",region="eu",target="t"} 0
# HELP aiperf_server_queue_seconds Queue.
# TYPE aiperf_server_queue_seconds histogram
aiperf_server_queue_seconds_bucket{engine="",instance_id="h:1",model="m",region="eu",server="vllm",target="t",le="+Inf"} 1
aiperf_server_queue_seconds_sum{engine="",instance_id="h:1",model="m",region="eu",server="vllm",target="t"} 0.5
aiperf_server_queue_seconds_count{engine="",instance_id="h:1",model="m",region="eu",server="vllm",target="t"} 1
# HELP aiperf_server_tokens_total Tokens.
# TYPE aiperf_server_tokens_total counter
aiperf_server_tokens_total{engine="0",instance_id="h:1",model="m",region="eu",server="vllm",target="t"} 7
`
	if diff := cmp.Diff(want, text(t, NewGatherer(map[string]string{"region": "eu"}, shown(b.Families())))); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
}

func TestBuilderRefusesWhatIsNotInItsTable(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*Builder){
		"a name":             func(b *Builder) { b.Add("aiperf_other", 1) },
		"a number of labels": func(b *Builder) { b.Add("aiperf_scrape_errors_total", 1, "t") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			add(NewBuilder(testTable()))
		})
	}
}

func TestGathererJoinsWhatCollectorsShow(t *testing.T) {
	t.Parallel()
	counter, gauge := dto.MetricType_COUNTER, dto.MetricType_GAUGE
	first := shown{family("x_total", counter, "First.", "2", "1"), family("y", gauge, "Y.", "1")}
	second := shown{family("x_total", counter, "Second.", "3", "1"), family("y", counter, "Y as a counter.", "2", "3")}
	g := NewGatherer(nil, first, second)
	want := `# HELP aiperf_scrape_type_conflicts Series that are left out because most servers have the family with another type, or have one of which it would be a part, as x_count is of a histogram x.
# TYPE aiperf_scrape_type_conflicts gauge
aiperf_scrape_type_conflicts{family="y"} 1
# HELP x_total First.
# TYPE x_total counter
x_total{a="1"} 1
x_total{a="2"} 1
x_total{a="3"} 1
# HELP y Y.
# TYPE y counter
y{a="2"} 1
y{a="3"} 1
`
	if diff := cmp.Diff(want, text(t, g)); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, text(t, g)); diff != "" {
		t.Errorf("the second time (-want +got):\n%s", diff)
	}
	if len(first[0].Metric) != 2 || first[0].Metric[0].Label[0].GetValue() != "2" {
		t.Error("what a collector returned was changed")
	}
}

func TestFamilyWithTheNameOfAPartOfAnotherIsLeftOut(t *testing.T) {
	t.Parallel()
	histogram := family("x", dto.MetricType_HISTOGRAM, "X.")
	histogram.Metric = []*dto.Metric{{Histogram: &dto.Histogram{SampleCount: new(uint64(1)), SampleSum: new(1.)}}}
	summary := family("y", dto.MetricType_SUMMARY, "Y.")
	summary.Metric = []*dto.Metric{{Summary: &dto.Summary{SampleCount: new(uint64(1)), SampleSum: new(1.)}}}
	gauge := dto.MetricType_GAUGE
	others := shown{family("x_count", gauge, "", "1", "2"), family("x_max", gauge, "", "1"), family("y_bucket", gauge, "", "1"), family("y_sum", gauge, "", "1")}
	got := text(t, NewGatherer(nil, others, shown{histogram, summary}))
	for _, want := range []string{"family=\"x_count\"} 2\n", "family=\"y_sum\"} 1\n", "x_count 1\n", "x_max{a=\"1\"} 1\n", "y_bucket{a=\"1\"} 1\n", "y_sum 1\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestConflictsOfManyFamiliesAreCountedTogether(t *testing.T) {
	t.Parallel()
	var first, second shown
	for i := range maxConflicts + 5 {
		name := fmt.Sprintf("x%03d", i)
		first = append(first, family(name, dto.MetricType_GAUGE, "", "1", "2"))
		second = append(second, family(name, dto.MetricType_COUNTER, "", "1"))
	}
	got := text(t, NewGatherer(nil, first, second))
	if n := strings.Count(got, conflicts+"{"); n != maxConflicts+1 || !strings.Contains(got, conflicts+`{family="other"} 5`) {
		t.Errorf("%d families of conflicts, want %d and 5 series of others", n, maxConflicts)
	}
}

func TestLabelOfASeriesWinsOverThatOfAll(t *testing.T) {
	t.Parallel()
	g := NewGatherer(map[string]string{"a": "all", "z": "all"}, shown{family("y", dto.MetricType_GAUGE, "Y.", "own")})
	want := "# HELP y Y.\n# TYPE y gauge\ny{a=\"own\",z=\"all\"} 1\n"
	if diff := cmp.Diff(want, text(t, g)); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
}

func BenchmarkGather(b *testing.B) {
	var sources []Source
	for range 100 {
		builder := NewBuilder(testTable())
		for range 100 {
			builder.Add("aiperf_gpu_power_watts", 1, string(rune('a'+len(sources)%26)), "uuid", "host", "", "dcgm")
		}
		sources = append(sources, shown(builder.Families()))
	}
	g := NewGatherer(map[string]string{"region": "eu"}, sources...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
