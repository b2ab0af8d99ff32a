package config

import (
	"fmt"
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
