//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// The first command of the README: within seconds there is something to see, and Prometheus' own linter likes it.
func TestDemoShowsMovingSeriesWithinSeconds(t *testing.T) {
	t.Parallel()
	e := startExporter(t, nil, "demo")
	moving := []string{"aiperf_time_to_first_token_seconds", "aiperf_inter_token_latency_seconds", "aiperf_good_requests_total", "aiperf_tokens_total"}
	before := e.scrape(t)
	eventually(t, 20*time.Second, func() error {
		now := e.scrape(t)
		var still []error
		for _, name := range moving {
			if now.Sum(name, nil) <= before.Sum(name, nil) {
				still = append(still, fmt.Errorf("%s does not move", name))
			}
		}
		return errors.Join(still...)
	})

	text, err := scrape.Bytes(process.Within(t, patience), e.url+"/metrics", scrape.Text)
	if err != nil {
		t.Fatal(err)
	}
	lint(t, text)
	if targets := len(e.scrape(t).Series("aiperf_target_info", nil)); targets != 3 {
		t.Errorf("got %d targets, want 3", targets)
	}
}

// The three models are on one server, whose page of metrics is about all of them.
func TestDemoShowsToEachTargetTheMetricsOfItsModel(t *testing.T) {
	t.Parallel()
	e := startExporter(t, nil, "demo")
	models := map[string]string{"steady": "demo-steady-8b", "thinker": "demo-thinker-32b", "flaky": "demo-flaky-8b"}
	// A page that cannot be had at first is looked for again after a minute.
	eventually(t, 2*patience, func() error {
		f := e.scrape(t)
		var errs []error
		for target, model := range models {
			if n := f.Sum("aiperf_server_time_to_first_token_seconds", scrape.Labels{"target": target, "model": model}); n == 0 {
				errs = append(errs, fmt.Errorf("the server of %s tells nothing of %s", target, model))
			}
		}
		return errors.Join(errs...)
	})
	f := e.scrape(t)
	others := map[string]string{} // a series of each family that is about another model
	seen := 0
	for name, family := range f {
		if !strings.HasPrefix(name, "aiperf_server_") {
			continue
		}
		for _, m := range family.GetMetric() {
			seen++
			labels := scrape.LabelsOf(m)
			if model, ok := labels["model"]; ok && model != models[labels["target"]] {
				others[name] = labels["target"] + " has " + model
			}
		}
	}
	if seen < 3*10 || len(others) > 0 {
		t.Errorf("of %d series of servers some are about other models: %v", seen, others)
	}
	if up := f.Sum("aiperf_server_up", nil); up != 3 {
		t.Errorf("the servers of %v targets are up, want 3", up)
	}
}

// One of the three models fails now and then; the others are not disturbed by it.
func TestDemoTargetThatMisbehavesDisturbsNoOther(t *testing.T) {
	t.Parallel()
	e := startExporter(t, nil, "demo")
	eventually(t, 2*time.Minute, func() error {
		f := e.scrape(t)
		if errs := f.By("aiperf_request_errors_total", "target", nil); len(errs) != 1 {
			return fmt.Errorf("targets with errors: %v, want one", errs)
		}
		return nil
	})
}
