package mapping

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

var update = flag.Bool("update", false, "write the golden files again")

func readPage(tb testing.TB, name string) *exposition.Page {
	tb.Helper()
	body, err := os.ReadFile("testdata/" + name + ".prom")
	if err != nil {
		tb.Fatal(err)
	}
	page, err := exposition.NewParser(20000).Parse(body, "text/plain; version=0.0.4")
	if err != nil {
		tb.Fatal(err)
	}
	return page
}

// text is what families look like on a page. It fails if a registry would not take them.
func text(tb testing.TB, families []*dto.MetricFamily) string {
	tb.Helper()
	gathered, err := prometheus.Gatherers{prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return families, nil })}.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	for _, f := range gathered {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			tb.Fatal(err)
		}
	}
	return out.String()
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// samples are pages with made-up values for each kind, and after them some that servers have shown: the frontend of Dynamo 1.6.1 for two models
// (without most of what is ignored), its simulation of a worker with vLLM, llm-d's simulator of August 2026, and SGLang
// 0.5.23 on a CPU (likewise).
var samples = []string{
	"vllm", "sglang", "trtllm", "dynamo", "tgi", "triton", "nim", "lmdeploy", "llamacpp",
	"dynamo-frontend", "dynamo-worker", "llmd", "sglang-cpu",
}

func TestPagesOfServersBecomeOurSeries(t *testing.T) {
	t.Parallel()
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := New(Options{Target: "chat", Instance: "gpu-1:8000", Model: "configured", Kind: Auto, MaxSeries: 2000})
			got := m.Map(readPage(t, name))
			compareGolden(t, "testdata/golden/"+name+".prom", text(t, got.Normalised))
			problems, err := promlint.NewWithMetricFamilies(got.Normalised).Lint()
			if err != nil || len(problems) > 0 {
				t.Errorf("%v: %v", err, problems)
			}
			if diff := cmp.Diff(map[string]int{"unknown": 0, "type": 0}, got.Unmapped); diff != "" {
				t.Errorf("families of the server that are in no table: %s", diff)
			}
			if got.Dropped > 0 || got.Passed != nil {
				t.Errorf("dropped %d, passed %v, want nothing", got.Dropped, got.Passed)
			}
		})
	}
}
