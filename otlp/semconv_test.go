package otlp

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestConventionsAreSecondNames(t *testing.T) {
	t.Parallel()
	families := frozen{
		family(t, `name: "aiperf_server_time_to_first_token_seconds" type: HISTOGRAM metric {
			label { name: "target" value: "a" } label { name: "instance_id" value: "10.0.0.1:8000" } label { name: "server" value: "vllm" }
			label { name: "model" value: "m" } label { name: "engine" value: "" }
			histogram { sample_count: 3 sample_sum: 9 bucket { cumulative_count: 2 upper_bound: 1 } } }`),
		family(t, `name: "aiperf_gpu_memory_used_bytes" type: GAUGE metric {
			label { name: "gpu" value: "0" } label { name: "uuid" value: "GPU-1" } label { name: "mig_instance" value: "" } gauge { value: 5 } }`),
		family(t, `name: "aiperf_gpu_utilization_ratio" type: GAUGE metric { label { name: "uuid" value: "GPU-1" } gauge { value: 0.5 } }`),
		family(t, `name: "aiperf_gpu_pcie_transmit_bytes_total" type: COUNTER metric { label { name: "uuid" value: "GPU-1" } counter { value: 7 } }`),
		family(t, `name: "aiperf_gpu_pcie_receive_bytes_total" type: COUNTER metric { label { name: "uuid" value: "GPU-1" } counter { value: 8 } }`),
		family(t, `name: "aiperf_gpu_ecc_errors_total" type: COUNTER
			metric { label { name: "uuid" value: "GPU-1" } label { name: "type" value: "corrected" } label { name: "scope" value: "aggregate" } counter { value: 2 } }
			metric { label { name: "uuid" value: "GPU-1" } label { name: "type" value: "corrected" } label { name: "scope" value: "volatile" } counter { value: 1 } }`),
	}
	p := testProducer(Explicit)
	p.gatherer, p.extra = families, conventions(&Config{ServerSemconv: true, HardwareSemconv: true})
	scopes, err := p.scopes()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]metricdata.Aggregation{}
	for _, m := range scopes[0].Metrics {
		if _, taken := got[m.Name]; taken {
			t.Errorf("%s is there twice", m.Name)
		}
		got[m.Name] = m.Data
	}
	gpu := func(more ...string) attribute.Set { return set(append(more, "hw.type", "gpu", "hw.id", "GPU-1")...) }
	counter := func(points ...sumPoint) metricdata.Sum[float64] {
		for i := range points {
			points[i].StartTime, points[i].Time = created, reading
		}
		return metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true, DataPoints: points}
	}
	want := map[string]metricdata.Aggregation{
		"gen_ai.server.time_to_first_token": metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []histogramPoint{{
			Attributes: attribute.NewSet(
				attribute.String("gen_ai.operation.name", "inference"), attribute.String("gen_ai.provider.name", "vllm"), attribute.String("gen_ai.request.model", "m"),
				attribute.String("server.address", "10.0.0.1"), attribute.Int("server.port", 8000), attribute.String("aiperf.target", "a"),
			),
			StartTime: created, Time: reading, Count: 3, Sum: 9, Bounds: []float64{1}, BucketCounts: []uint64{2, 1},
		}}},
		"hw.gpu.memory.usage": metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []sumPoint{{
			Attributes: gpu("hw.name", "0"), Time: reading, Value: 5,
		}}},
		"hw.gpu.utilization": metricdata.Gauge[float64]{DataPoints: []sumPoint{{Attributes: gpu(), Time: reading, Value: .5}}},
		"hw.gpu.io": counter(
			sumPoint{Attributes: gpu("network.io.direction", "transmit"), Value: 7}, sumPoint{Attributes: gpu("network.io.direction", "receive"), Value: 8},
		),
		"hw.errors": counter(sumPoint{Attributes: gpu("error.type", "corrected"), Value: 2}),
	}
	for name, data := range want {
		if diff := cmp.Diff(data, got[name], samePoints); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", name, diff)
		}
	}
	if len(got) != len(families)+len(want) {
		t.Errorf("got %d metrics, want those of %d families and %d conventions", len(got), len(families), len(want))
	}
}

func TestConventionsNameSeriesThatThereAre(t *testing.T) {
	t.Parallel()
	known := map[string][]string{}
	for _, s := range wholeTable() {
		known[s.Name] = s.LabelNames(nil, nil)
	}
	for family, c := range conventions(&Config{ServerSemconv: true, HardwareSemconv: true}) {
		labels, ok := known[family]
		if !ok {
			t.Errorf("there is no series %s", family)
		}
		for label := range c.labels {
			if !slices.Contains(labels, label) {
				t.Errorf("%s has no label %s", family, label)
			}
		}
		for label := range c.only {
			if !slices.Contains(labels, label) {
				t.Errorf("%s has no label %s", family, label)
			}
		}
	}
	if n := len(conventions(&Config{})); n != 0 {
		t.Errorf("got %d conventions, want none unless they are asked for", n)
	}
}
