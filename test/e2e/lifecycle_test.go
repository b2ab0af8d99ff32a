//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// busy is a target that always has requests in flight.
const busy = `
workloads:
  long: {input_tokens: 16, output_tokens: 200}
loads:
  fast: {mode: constant, rate: 25, max_in_flight: 100}
targets:
  - {name: busy, url: %q, model: truth, endpoint: {type: chat}, workload: long, load: fast}
`

// inFlight waits until a number of requests run.
func inFlight(t *testing.T, e exporter, want float64) {
	t.Helper()
	eventually(t, patience, func() error {
		if got := e.scrape(t).Sum("aiperf_exporter_inflight_requests", nil); got < want {
			return fmt.Errorf("%v requests in flight, want %v", got, want)
		}
		return nil
	})
}

// stop ends the daemon as an orchestrator does, and gives its exit code and its last scrape.
func stop(t *testing.T, e exporter) (code int, last scrape.Families) {
	t.Helper()
	if err := e.Terminate(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(process.Within(t, patience))
	defer cancel()
	go func() {
		defer cancel()
		var err error
		if code, err = e.Wait(process.Within(t, patience)); err != nil {
			t.Error(err)
		}
	}()
	for ctx.Err() == nil {
		if f, err := scrape.Get(ctx, e.url+"/metrics"); err == nil {
			last = f
		}
	}
	return code, last
}

func TestSIGTERMLetsRunningRequestsFinish(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=50ms", "-itl=5ms")
	e := serve(t, fmt.Sprintf(busy, s.url), "--shutdown.grace=20s")
	inFlight(t, e, 15)
	code, last := stop(t, e)
	if code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if err := balanced(last, "busy"); err != nil {
		t.Errorf("last scrape: %v", err)
	}
	known := s.truth(t)
	if known.Aborted != 0 {
		t.Errorf("%d of %d streams were cut, want none", known.Aborted, known.Requests)
	}
	if sent := last.Sum("aiperf_arrivals_sent_total", nil); int(sent) != known.Requests {
		t.Errorf("%v requests sent by the last scrape, the server had %d", sent, known.Requests)
	}
}

func TestSIGTERMCancelsWhatOutlivesTheGrace(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=50ms", "-itl=500ms")
	e := serve(t, fmt.Sprintf(busy, s.url), "--shutdown.grace=1s")
	inFlight(t, e, 20)
	began := time.Now()
	code, last := stop(t, e)
	if code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if took := time.Since(began); took > 25*time.Second { // the grace is 30 s if nobody says it
		t.Errorf("took %v to stop with a grace of 1 s", took)
	}
	if err := balanced(last, "busy"); err != nil {
		t.Errorf("last scrape: %v", err)
	}
	if errors := last.Sum("aiperf_request_errors_total", nil); errors != 0 {
		t.Errorf("%v requests counted as errors, want them cancelled", errors)
	}
	eventually(t, patience, func() error {
		if known := s.truth(t); known.Aborted != known.Requests {
			return fmt.Errorf("%d of %d streams were cut, want all", known.Aborted, known.Requests)
		}
		return nil
	})
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=50ms", "-itl=500ms")
	e := serve(t, fmt.Sprintf(busy, s.url), "--shutdown.grace=50s")
	inFlight(t, e, 5)
	if err := e.Terminate(); err != nil {
		t.Fatal(err)
	}
	// The first signal has been taken once the daemon is no longer ready.
	eventually(t, patience, func() error {
		if _, err := scrape.Bytes(process.Within(t, patience), e.url+"/-/ready", scrape.Text); err == nil {
			return fmt.Errorf("still ready")
		}
		return nil
	})
	// One that follows the first within milliseconds is taken for the first, sent to the process and to its group: an operator's is later.
	time.Sleep(500 * time.Millisecond)
	if err := e.Terminate(); err != nil {
		t.Fatal(err)
	}
	code, err := e.Wait(process.Within(t, 40*time.Second)) // less than the grace
	if err != nil {
		t.Fatal(err)
	}
	if code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

func TestMistakesInTheConfigurationAreAllToldWithTheirPlace(t *testing.T) {
	t.Parallel()
	path := file(t, "bad.yml", `workloads:
  short: {output_tokens: many}
loads:
  quick: {mode: constant, rate: -1}
targets:
  - name: one
    url: http://127.0.0.1:1
    modl: m
    endpoint: {type: chatt}
    load: quikc
`)
	for name, args := range map[string][]string{
		"check config": {"check", "config", path},
		"serve":        {"serve", "--config.file=" + path, "--web.listen-address=" + address(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process.ForTest(t, nil, binary, args...)
			code, err := p.Wait(process.Within(t, patience))
			if err != nil {
				t.Fatal(err)
			}
			if code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			findings := regexp.MustCompile(regexp.QuoteMeta(path)+`:(\d+:\d+: [\w.\[\]]+):`).FindAllStringSubmatch(p.Output(), -1)
			places := make([]string, 0, len(findings))
			for _, m := range findings {
				places = append(places, m[1])
			}
			want := []string{
				"2:11: workloads.short.output_tokens", "4:27: loads.quick.rate", "8:5: targets[0].modl",
				"9:16: targets[0].endpoint.type", "10:5: targets[0].load",
			}
			if diff := cmp.Diff(want, places); diff != "" {
				t.Errorf("places (-want +got):\n%s\nin:\n%s", diff, p.Output())
			}
			if !strings.Contains(p.Output(), `"model"`) {
				t.Errorf("nothing suggests model instead of modl:\n%s", p.Output())
			}
		})
	}
}

// Targets that fail in their own ways are counted apart, and a healthy one beside them notices nothing.
func TestTargetsThatFailDisturbNoOther(t *testing.T) {
	t.Parallel()
	s := startServer(t, "-ttft=20ms", "-itl=1ms")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	e := serve(t, fmt.Sprintf(`
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  quick: {mode: constant, rate: 10, max_in_flight: 50}
targets:
  - {name: healthy, url: %[1]q, model: truth, endpoint: {type: chat}, workload: short, load: quick}
  - {name: dead, url: "http://%[2]s", model: truth, endpoint: {type: chat}, workload: short, load: quick}
  - {name: plain, url: "https://%[3]s", model: truth, endpoint: {type: chat}, workload: short, load: quick}
  - {name: lost, url: "%[1]s/nowhere", model: truth, endpoint: {type: chat, path: /nothing}, workload: short, load: quick}
  - {name: silent, url: "http://%[4]s", model: truth, endpoint: {type: chat}, workload: short, load: quick, timeouts: {first_token: 500ms}}
`, s.url, address(t), s.url[len("http://"):], silent.Addr()))
	want := map[string]string{"dead": "connect", "plain": "tls", "lost": "http_4xx", "silent": "timeout_first_token"}
	eventually(t, patience, func() error {
		f := e.scrape(t)
		for target, class := range want {
			enough := 20.0
			if target == "lost" { // what is refused is asked no more than once a minute
				enough = 3
			}
			if f.Sum("aiperf_request_errors_total", scrape.Labels{"target": target, "error_class": class}) < enough {
				return fmt.Errorf("%s has no %v errors of class %s yet: %v", target, enough, class, f.By("aiperf_request_errors_total", "error_class", scrape.Labels{"target": target}))
			}
		}
		return nil
	})
	f := e.scrape(t)
	for target, class := range want {
		classes := f.By("aiperf_request_errors_total", "error_class", scrape.Labels{"target": target})
		delete(classes, class)
		if len(classes) != 0 {
			t.Errorf("%s has errors of other classes than %s: %v", target, class, classes)
		}
	}
	healthy := scrape.Labels{"target": "healthy"}
	if errors := f.Sum("aiperf_request_errors_total", healthy); errors != 0 {
		t.Errorf("the healthy target has %v errors, want none", errors)
	}
	dropped := f.By("aiperf_arrivals_dropped_total", "reason", healthy)
	delete(dropped, "scheduler_late") // the machine's doing
	if len(dropped) != 0 {
		t.Errorf("the healthy target dropped arrivals: %v, want none", dropped)
	}
}
