//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// leaving is a target whose users go away in mid-answer, half of them, 200 ms after they have asked: URL.
const leaving = `
workloads:
  long: {input_tokens: 16, output_tokens: 200}
loads:
  leaving: {mode: constant, rate: 20, max_in_flight: 1000, cancel: {percent: 50, after: 200ms}}
slos:
  all: {objective: 0.99, request_latency: 1m}
targets:
  - {name: leaving, url: %q, model: peer, endpoint: {type: chat}, workload: long, load: leaving, slo: all}
`

// slow answers for as long as ten seconds, so that even a machine that stands still leaves no doubt who went away, and counts those.
type slow struct {
	mu          sync.Mutex
	stays, left int
}

func (s *slow) answer(w http.ResponseWriter, r *http.Request, _ *question) {
	a := reply{model: "peer", input: 20, output: 10}
	a.open(w)
	for range 10 {
		a.chunk(w, "word ", "null")
		select {
		case <-r.Context().Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			s.left++
			return
		case <-time.After(time.Second):
		}
	}
	a.text = "end"
	a.write(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stays++
}

func TestCancelledRequestsAreClosedAndCountForNobody(t *testing.T) {
	t.Parallel()
	var s slow
	p := startPeer(t, s.answer)
	e := serve(t, fmt.Sprintf(leaving, p.url), "--shutdown.final-scrape=1s")
	p.waitFor(t, "leaving", 60)
	code, f := stop(t, e)
	if code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	// The last of them may be on the way to the server.
	eventually(t, patience, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		want := map[string]float64{"success": float64(s.stays), "cancelled": float64(s.left)}
		if diff := cmp.Diff(want, f.By("aiperf_requests_total", "outcome", nil)); diff != "" {
			return fmt.Errorf("outcomes by the server and by us (-want +got):\n%s", diff)
		}
		return nil
	})
	// A fair coin: 4 standard deviations.
	if n, all := s.left, s.left+s.stays; n < all/4 || n > all*3/4 {
		t.Errorf("%d of %d were cancelled, want about half", n, all)
	}
	if good, counted := f.Sum("aiperf_good_requests_total", nil), f.Sum("aiperf_slo_requests_total", nil); good != float64(s.stays) || counted != good {
		t.Errorf("%v good of %v that count for the SLO, want both to be the %d that stayed", good, counted, s.stays)
	}
	if up := f.Sum("aiperf_target_up", nil); up != 1 {
		t.Errorf("up is %v, want 1", up)
	}
	if n := f.Sum("aiperf_request_errors_total", nil) + f.Sum("aiperf_arrivals_dropped_total", scrape.Labels{"reason": "backoff"}); n != 0 {
		t.Errorf("%v errors and drops, want none", n)
	}
}

func TestRunWithCancelledRequestsEndsWell(t *testing.T) {
	t.Parallel()
	var s slow
	p := startPeer(t, s.answer)
	config := file(t, "aiperf-exporter.yml", fmt.Sprintf(leaving, p.url))
	folder := t.TempDir()
	out, err := exec.CommandContext(process.Within(t, patience), binary, "run", "--config.file="+config, "--requests=20", "--format=json",
		"--records", "--out="+folder).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, r := range records(t, folder) {
		// By the clock of the client: its server may notice a request when it is over.
		if lasted := time.Duration(r.Metadata.End - r.Metadata.Start); r.Metadata.Cancelled && lasted < 200*time.Millisecond {
			t.Errorf("a client went away %v after its request, want 200 ms", lasted)
		}
	}
	var report struct {
		Requests struct {
			Avg float64 `json:"avg"`
		} `json:"request_count"`
		Errors struct {
			Avg float64 `json:"avg"`
		} `json:"error_request_count"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	eventually(t, patience, func() error { // the last answer may have been read before the server knows that it is written
		s.mu.Lock()
		defer s.mu.Unlock()
		if report.Requests.Avg != float64(s.stays) || report.Errors.Avg != 0 || s.left == 0 {
			return fmt.Errorf("%v successes and %v errors reported, %d stayed and %d left", report.Requests.Avg, report.Errors.Avg, s.stays, s.left)
		}
		return nil
	})
}
