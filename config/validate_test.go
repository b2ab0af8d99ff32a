package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTargetsWithTooManySeriesAreRefused(t *testing.T) {
	t.Parallel()
	text := `slos: {s: {time_to_first_token: 123ms, request_latency: 4567ms}}
targets:
  - {name: off, url: "http://h", model: m, endpoint: {type: chat}, enabled: false}
  - {name: on, url: "http://h", model: m, endpoint: {type: chat}, slo: s}
`
	config, problems := loadTexts(t, nil, text)
	if problems != "" {
		t.Fatal(problems)
	}
	features, _ := config.features(&config.Targets[1])
	n := config.Metrics.SeriesOf(&features, config.AllSLOs())
	if _, problems := loadTexts(t, nil, fmt.Sprintf("metrics: {max_series_per_target: %d}\n", n)+text); problems != "" {
		t.Errorf("a target at the limit is refused: %s", problems)
	}
	_, got := loadTexts(t, nil, fmt.Sprintf("metrics: {max_series_per_target: %d}\n", n-1)+text)
	want := fmt.Sprintf("one.yml:5:5: targets[1]: has an estimated %d series, metrics.max_series_per_target allows %d", n, n-1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAllTargetsTogetherHaveALimitOfSeries(t *testing.T) {
	t.Parallel()
	fleet := func(targets int, histograms string) string {
		var text strings.Builder
		fmt.Fprintf(&text, "metrics: {histograms: %s}\ndefaults: {url: \"http://h\", model: m, endpoint: {type: chat}}\ntargets:\n", histograms)
		for i := range targets {
			fmt.Fprintf(&text, "  - {name: t%d}\n", i)
		}
		return text.String()
	}
	config, problems := loadTexts(t, nil, fleet(1, "both"))
	if problems != "" {
		t.Fatal(problems)
	}
	features, _ := config.features(&config.Targets[0])
	each := config.Metrics.SeriesOf(&features, nil)
	most := maxSeries / each
	if _, problems := loadTexts(t, nil, fleet(most, "both")); problems != "" {
		t.Errorf("%d targets of %d series are refused: %s", most, each, problems)
	}
	_, got := loadTexts(t, nil, fleet(most+1, "both"))
	want := fmt.Sprintf("one.yml:3:1: targets: have an estimated %d series together, %d are allowed: metrics.histograms: native needs far fewer", (most+1)*each, maxSeries)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, problems := loadTexts(t, nil, fleet(most+1, "native")); problems != "" {
		t.Errorf("the way out does not help: %s", problems)
	}
}

func TestEveryBuiltInDefaultIsValid(t *testing.T) {
	t.Parallel()
	config, problems := loadTexts(t, nil, `
http_clients: {x: {}}
workloads: {x: {}}
loads: {x: {}}
targets:
  - {name: a, url: "http://h", model: m, endpoint: {type: chat}, client: x, workload: x, load: x}
`)
	if problems != "" || len(config.Warnings) > 0 {
		t.Errorf("got %s%v", problems, config.Warnings)
	}
}
