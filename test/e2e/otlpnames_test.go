//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// beside are names that only one of the two ways has, with the reason.
var beside = map[string]map[string]string{
	"scraped": {
		"up":                                    "Prometheus makes it of a scrape",
		"scrape_duration_seconds":               "likewise",
		"scrape_samples_scraped":                "likewise",
		"scrape_samples_post_metric_relabeling": "likewise",
		"scrape_series_added":                   "likewise",
	},
	"pushed": {
		"target_info": "Prometheus makes it of the attributes of the resource",
	},
}

// both scrapes a target, native histograms if they are wanted, and takes what is pushed. The jobs are called scraped and, after the service,
// pushed.
const both = `
global: {scrape_interval: 1s, scrape_timeout: 1s, scrape_native_histograms: %t}
scrape_configs:
  - {job_name: scraped, static_configs: [{targets: [%q]}]}
`

// zeroBucket is how Prometheus writes the bucket around zero of a native histogram: kind of its bounds, bounds.
var zeroBucket = regexp.MustCompile(`\[3,"-[^"]*","[^"]*"`)

// alike takes out what Prometheus itself does differently on its two ways: bounds that are whole numbers are "1.0" and "1e+06" if they were scraped,
// "1" and "1000000" if they were pushed, and it does not look at how wide the bucket around zero is that was pushed.
func (s *sampled) alike(labels map[string]string) {
	for _, name := range []string{"le", "quantile"} {
		if bound, err := strconv.ParseFloat(labels[name], 64); err == nil {
			labels[name] = fmt.Sprint(bound)
		}
	}
	s.native = zeroBucket.ReplaceAll(s.native, []byte(`[3,"",""`))
}

// everySeries asks for all series of a job.
func everySeries(job string) string { return fmt.Sprintf(`{__name__=~".+", job=%q}`, job) }

// sampled is the value of a series as Prometheus has it: a number or, in its own form, a native histogram.
type sampled struct {
	number string
	native json.RawMessage
}

// instant evaluates an expression now and gives all of the answer, by series without the labels that tell the two ways apart.
func (p prom) instant(t *testing.T, expression string) map[string]sampled {
	t.Helper()
	body, err := scrape.Bytes(process.Within(t, patience), p.url+"/api/v1/query?query="+url.QueryEscape(expression), "application/json")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric    map[string]string  `json:"metric"`
				Value     [2]any             `json:"value"`
				Histogram [2]json.RawMessage `json:"histogram"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	out := map[string]sampled{}
	for _, series := range answer.Data.Result {
		delete(series.Metric, "job")
		delete(series.Metric, "instance")
		number, _ := series.Value[1].(string)
		value := sampled{number, series.Histogram[1]}
		value.alike(series.Metric)
		out[fmt.Sprint(series.Metric)] = value
	}
	return out
}

// nameIn is the name of a series in the form of instant.
func nameIn(series string) string {
	_, rest, _ := strings.Cut(series, "__name__:")
	return strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == ']' })[0]
}

func TestPrometheusHasTheSameOfAScrapeAndOfOTLP(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"explicit", "exponential"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			r := startReceiver(t)
			s := startServer(t, "-ttft=40ms", "-ttft-spread=200ms", "-itl=2ms", "-fail-every=7")
			config := fmt.Sprintf(exported, form, r.address, s.url, pages(t))
			e := serveIn(t, []string{"OTEL_SERVICE_NAME=pushed"}, config, "--web.enable-admin-api")
			p := launch(t, fmt.Sprintf(both, form == "exponential", e.url[len("http://"):]), "--web.enable-otlp-receiver")
			r.passTo(p)
			e.sends(t, 200)
			e.rest(t)
			e.arrivals(t, 2)
			eventually(t, patience, func() error { // a scrape that a busy machine loses makes all of its series stale
				scraped, pushed := p.instant(t, everySeries("scraped")), p.instant(t, everySeries("pushed"))
				return errors.Join(sameNames(scraped, pushed), sameValues(scraped, pushed), sameQuantiles(t, p, form))
			})
		})
	}
}

// sameNames compares the names of all series.
func sameNames(scraped, pushed map[string]sampled) error {
	var errs []error
	names := map[string]map[string]bool{}
	for job, all := range map[string]map[string]sampled{"scraped": scraped, "pushed": pushed} {
		names[job] = map[string]bool{}
		for series := range all {
			names[job][nameIn(series)] = true
		}
	}
	for job, other := range map[string]string{"scraped": "pushed", "pushed": "scraped"} {
		for _, name := range slices.Sorted(maps.Keys(names[job])) {
			if !names[other][name] && beside[job][name] == "" && !isConvention(name) {
				errs = append(errs, fmt.Errorf("%s is only %s", name, job))
			}
		}
	}
	for _, name := range []string{
		"aiperf_server_kv_cache_usage_ratio", "aiperf_requests_total", "aiperf_gpu_memory_total_bytes", "aiperf_gpu_energy_joules_total",
	} {
		if !names["pushed"][name] {
			errs = append(errs, fmt.Errorf("%s is missing", name))
		}
	}
	return errors.Join(errs...)
}

// sameValues compares what rests.
func sameValues(scraped, pushed map[string]sampled) error {
	var errs []error
	for series, want := range scraped {
		name := nameIn(series)
		got, ok := pushed[series]
		switch {
		case isRestless(name) || beside["scraped"][name] != "":
		case !ok:
			errs = append(errs, fmt.Errorf("%s was not pushed", series))
		case got.number != want.number || string(got.native) != string(want.native):
			errs = append(errs, fmt.Errorf("%s is %s%s, pushed as %s%s", series, want.number, want.native, got.number, got.native))
		}
	}
	for series := range pushed {
		name := nameIn(series)
		if _, ok := scraped[series]; !ok && !isRestless(name) && !isConvention(name) && beside["pushed"][name] == "" {
			errs = append(errs, fmt.Errorf("%s was not scraped", series))
		}
	}
	return errors.Join(errs...)
}

// sameQuantiles asks as people do.
func sameQuantiles(t *testing.T, p prom, form string) error {
	t.Helper()
	expression := `histogram_quantile(0.9, sum by (job, le) (aiperf_time_to_first_token_seconds_bucket))`
	if form == "exponential" {
		expression = `histogram_quantile(0.9, sum by (job) (aiperf_time_to_first_token_seconds))`
	}
	p90 := p.query(t, expression)
	if got, want := p90["pushed"], p90["scraped"]; !(got > 0) || math.Abs(got/want-1) > 1e-12 {
		return fmt.Errorf("p90 of TTFT is %v s of what was pushed, %v s of what was scraped", got, want)
	}
	return nil
}
