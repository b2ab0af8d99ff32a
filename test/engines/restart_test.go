//go:build engines

package engines

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

const generated = "aiperf_server_generation_tokens_total"

// TestARestartedServerIsSeen kills a server and starts it again where it was, beside one that nothing happens to.
func TestARestartedServerIsSeen(t *testing.T) {
	t.Run("llama", func(t *testing.T) {
		llama := enginesByName["llama"]
		address, err := process.FreeAddress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first := llama.start(t, address)
		exporter := serve(t, fmt.Sprintf(watching+`
loads: {trickle: {mode: constant, rate: 3, max_in_flight: 16}}
targets:
  - {name: restarts, url: "http://%s", model: tiny, endpoint: {type: chat}, workload: short, load: trickle}
  - {name: stays, url: %q, model: tiny, endpoint: {type: chat}, workload: short, load: trickle}
`, address, startEngine(t, llama)))
		restarts := scrape.Labels{"target": "restarts"}
		grown(t, exporter, 500)
		before := read(t, exporter)
		began := time.Now()

		if err := first.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := first.Wait(process.Within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		await(t, exporter, time.Minute, func(f scrape.Families) error {
			if up := f.Sum("aiperf_server_up", restarts); up != 0 || f.Sum("aiperf_scrape_errors_total", scrape.Labels{"target": "restarts", "reason": "connect"}) == 0 {
				return fmt.Errorf("up is %v", up)
			}
			return nil
		})
		t.Logf("down was seen %v after the end", time.Since(began).Round(time.Millisecond))
		state := []string{"aiperf_server_replicas_mixed", "aiperf_server_restarts_total", "aiperf_server_up"}
		await(t, exporter, time.Minute, func(f scrape.Families) error {
			if diff := cmp.Diff(state, shownOf(f, "restarts")); diff != "" {
				return fmt.Errorf("shown of a server that is down (-want +got):\n%s", diff)
			}
			return nil
		})
		t.Logf("the series were gone %v after the end", time.Since(began).Round(time.Millisecond))

		llama.start(t, address)
		await(t, exporter, time.Minute, func(f scrape.Families) error {
			if up, tokens := f.Sum("aiperf_server_up", restarts), f.Sum(generated, restarts); up != 1 || tokens == 0 {
				return fmt.Errorf("up is %v, and %v tokens are generated", up, tokens)
			}
			return nil
		})
		checkRestart(t, before, read(t, exporter))
		settle(t, exporter)
	})
}

// grown waits until both servers have told that they generated so many tokens.
func grown(t *testing.T, exporter string, tokens float64) {
	t.Helper()
	await(t, exporter, startup, func(f scrape.Families) error {
		by := f.By(generated, "target", nil)
		if by["restarts"] < tokens || by["stays"] < tokens {
			return fmt.Errorf("tokens generated: %v", by)
		}
		return nil
	})
}

// checkRestart looks at the series from before the end and after the return of one server of two.
func checkRestart(t *testing.T, before, after scrape.Families) {
	t.Helper()
	restarts, stays := scrape.Labels{"target": "restarts"}, scrape.Labels{"target": "stays"}
	if was, is := before.Sum(generated, restarts), after.Sum(generated, restarts); is >= was {
		t.Errorf("the server that is new has generated %v tokens, the old one %v", is, was)
	}
	if was, is := before.Sum(generated, stays), after.Sum(generated, stays); is <= was {
		t.Errorf("the server that stays has generated %v tokens, after %v", is, was)
	}
	if diff := cmp.Diff(map[string]float64{"restarts": 1}, after.By("aiperf_server_restarts_total", "target", nil)); diff != "" {
		t.Errorf("restarts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{}, after.By("aiperf_server_replicas_mixed", "target", nil)); diff != "" {
		t.Errorf("mixed (-want +got):\n%s", diff)
	}
	// What was under way when the server died has lost its end, if it had begun to be answered; 503 is said while the model is loaded.
	errors := after.By("aiperf_request_errors_total", "error_class", restarts)
	t.Logf("requests that failed: %v", errors)
	for class := range errors {
		if class != "connect" && class != "truncated" && class != "http_5xx" {
			t.Errorf("requests failed by %s, too", class)
		}
	}
	if errors["connect"] == 0 {
		t.Error("no request found the server gone")
	}
	if n := after.Sum("aiperf_request_errors_total", stays); n != 0 {
		t.Errorf("%v requests to the server that stays failed", n)
	}
	checkLooks(t, after, stays)
}

// checkLooks checks that no look at a server failed, but for those to which a busy machine did not answer in time.
func checkLooks(t *testing.T, f scrape.Families, of scrape.Labels) {
	t.Helper()
	reasons := f.By("aiperf_scrape_errors_total", "reason", of)
	delete(reasons, "timeout")
	if len(reasons) != 0 {
		t.Errorf("looks at the server of %v failed: %v", of, reasons)
	}
}

// TestAServerWithoutMetricsCostsNothing but a count: llama.cpp's own without --metrics, looked for and told.
func TestAServerWithoutMetricsCostsNothing(t *testing.T) {
	t.Run("llama", func(t *testing.T) {
		server := startEngine(t, variant("model/tiny.gguf", nil))
		exporter := serve(t, fmt.Sprintf(watching+`
loads: {trickle: {mode: constant, rate: 3, max_in_flight: 16}}
targets:
  - {name: looked-for, url: &url %q, model: tiny, endpoint: {type: chat}, workload: short, load: trickle}
  - {name: told, url: *url, model: tiny, endpoint: {type: chat}, workload: short, load: trickle, server: {kind: llamacpp}}
`, server))
		await(t, exporter, startup, func(f scrape.Families) error {
			missing := f.By("aiperf_scrape_errors_total", "target", scrape.Labels{"reason": "not_found"})
			requests := f.By("aiperf_requests_total", "target", scrape.Labels{"outcome": "success"})
			if missing["looked-for"] == 0 || missing["told"] < 1 || requests["looked-for"] < 10 || requests["told"] < 10 {
				return fmt.Errorf("%v looks found nothing beside %v requests", missing, requests)
			}
			return nil
		})
		f := read(t, exporter)
		want := map[string][]string{"looked-for": nil, "told": {"aiperf_server_replicas_mixed", "aiperf_server_restarts_total", "aiperf_server_up"}}
		for target, want := range want {
			if diff := cmp.Diff(want, shownOf(f, target)); diff != "" {
				t.Errorf("shown of %s (-want +got):\n%s", target, diff)
			}
			reasons := f.By("aiperf_scrape_errors_total", "reason", scrape.Labels{"target": target})
			if _, ok := reasons["not_found"]; !ok || len(reasons) != 1 {
				t.Errorf("%s: looks that failed: %v", target, reasons)
			}
			if n := f.Sum("aiperf_request_errors_total", scrape.Labels{"target": target}); n != 0 {
				t.Errorf("%s: %v requests failed", target, n)
			}
		}
		if up := f.Series("aiperf_server_up", nil); len(up) != 1 || up[0].GetGauge().GetValue() != 0 {
			t.Errorf("up is %v, want 0 of the one that is told", up)
		}
		settle(t, exporter)
	})
}
