//go:build e2e

package e2e

import (
	"errors"
	"fmt"
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
