package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// The files are what the tools wrote about 20 requests, without the parts that are not read.
func TestFilesOfOthersAreRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		read func(string) (figures, error)
		want figures
	}{
		"aiperf.json": {readAIPerf, figures{
			requests: 20,
			ttft:     distribution{Mean: 0.0557476358, P50: 0.0551278435, P99: 0.06711771088},
			itl:      distribution{Mean: 0.020078680059, P50: 0.020086368293, P99: 0.020128025675},
		}},
		"guidellm.json": {readGuidellm, figures{
			requests: 20,
			ttft:     distribution{Mean: 0.054854369164, P50: 0.052324771881, P99: 0.07037281990},
			itl:      distribution{Mean: 0.020000441508, P50: 0.019998822549, P99: 0.02002818175},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.read(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(figures{}), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesThatAreSomethingElseAreErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		read func(string) (figures, error)
		text string
		want error // nil: any
	}{
		"aiperf in seconds":        {readAIPerf, `{"request_count":{"avg":1},"time_to_first_token":{"unit":"sec"},"inter_token_latency":{"unit":"ms"}}`, errUnit},
		"aiperf without latencies": {readAIPerf, `{"request_count":{"avg":0}}`, errUnit},
		"guidellm with nothing":    {readGuidellm, `{"benchmarks":[]}`, errBenchmarks},
		"no JSON":                  {readGuidellm, `Traceback`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "export.json")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := test.read(file)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
		})
	}
}

// native observes values and gives the histogram as it is exposed.
func native(t *testing.T, values ...float64) *dto.Metric {
	t.Helper()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{NativeHistogramBucketFactor: 1.1})
	for _, v := range values {
		h.Observe(v)
	}
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		t.Fatal(err)
	}
	return &m
}

func TestQuantileOfANativeHistogramIsExactToABucket(t *testing.T) {
	t.Parallel()
	var values []float64
	for i := range 1000 { // 1 to 1000 ms, so that buckets of all widths and gaps between them occur
		values = append(values, float64(i+1)/1000)
	}
	h := native(t, values...).GetHistogram()
	for _, q := range []float64{.001, .01, .5, .9, .99, 1} {
		if got, want := quantile(h, q), q; math.Abs(got/want-1) > .1 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := quantile(native(t).GetHistogram(), .5); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v, want NaN", got)
	}
	// Two values far apart: the second bucket lies behind a gap.
	if got := quantile(native(t, .001, 10).GetHistogram(), .99); math.Abs(got/10-1) > .1 {
		t.Errorf("p99 of 0.001 and 10 is %v, want about 10", got)
	}
}

func TestExposedGivesWhatTheHistogramsSay(t *testing.T) {
	t.Parallel()
	families := scrape.Families{
		"aiperf_time_to_first_token_seconds": {Metric: []*dto.Metric{native(t, .05, .07)}},
		"aiperf_inter_token_latency_seconds": {Metric: []*dto.Metric{native(t, .01, .01)}},
	}
	got, err := exposed(families)
	if err != nil {
		t.Fatal(err)
	}
	if got.requests != 2 || math.Abs(got.ttft.Mean-.06) > 1e-9 || math.Abs(got.itl.P99/.01-1) > .1 {
		t.Errorf("got %+v, want 2 requests, a mean TTFT of 0.06 and a p99 of ITL of about 0.01", got)
	}
	delete(families, "aiperf_inter_token_latency_seconds")
	if _, err := exposed(families); err == nil {
		t.Error("no error without the histogram of ITL")
	}
}
