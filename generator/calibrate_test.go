package generator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// byteServer counts a token for two bytes, tells usage, and answers /tokenize as it is told to.
type byteServer struct {
	url string

	mu      sync.Mutex
	prompts []int // tokens of the prompts that were answered
}

func startByteServer(t *testing.T, tokenize func(w http.ResponseWriter, r *http.Request, tokens int)) *byteServer {
	t.Helper()
	s := &byteServer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Messages []struct{ Content string } }
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		tokens := 0
		for _, m := range asked.Messages {
			tokens += 20 + len(m.Content)/2
		}
		if !strings.HasPrefix(r.URL.Path, "/v1/") {
			tokenize(w, r, tokens)
			return
		}
		s.mu.Lock()
		s.prompts = append(s.prompts, tokens)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, role()+content("a")+finish("stop")+usage(tokens, 1)+done)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// first is the number of tokens of the first prompt.
func (s *byteServer) first(t *testing.T) int {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.prompts) == 0 {
		t.Fatal("nothing was asked")
	}
	return s.prompts[0]
}

func asksTheServer(c *generator.TargetConfig) {
	c.Workload.Tokenizer.Server, c.Workload.InputTokens.Mean = true, 500
}

func TestTheFirstPromptHasTheWishedLengthWhereTheServerCounts(t *testing.T) {
	t.Parallel()
	s := startByteServer(t, func(w http.ResponseWriter, r *http.Request, tokens int) {
		if r.URL.Path != "/tokenize" || r.Header.Get("X-Aiperf-Exporter") == "" {
			t.Errorf("%s with %v", r.URL, r.Header)
		}
		fmt.Fprintf(w, `{"count":%d}`, tokens)
	})
	r := newRig(t, s.url, asksTheServer)
	r.run(t, 1)
	if got := s.first(t); got < 495 || got > 505 {
		t.Errorf("%d tokens, want 500", got)
	}
	if n := r.series(t, "aiperf_arrivals_total"); n != 1 {
		t.Errorf("%v arrivals, want 1: asking for counts is none", n)
	}
}

func TestRequestsGoOnWhereTheServerDoesNotCount(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	for name, test := range map[string]struct {
		tokenize func(w http.ResponseWriter, r *http.Request, tokens int)
		logged   int
	}{
		"it has no such path": {func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusNotFound) }, 1},
		"it never answers": {func(_ http.ResponseWriter, r *http.Request, _ int) {
			select {
			case <-over:
			case <-r.Context().Done():
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			s := startByteServer(t, test.tokenize)
			r := newRig(t, s.url, asksTheServer)
			r.deps.Logger = slog.New(slog.NewTextHandler(&log, nil))
			all := r.run(t, 1)
			if len(all) != 1 || all[0].record.Outcome != metrics.Success {
				t.Fatalf("%d requests", len(all))
			}
			if got := s.first(t); got < 750 {
				t.Errorf("%d tokens, want far more than 500, as the server is unknown", got)
			}
			if n := strings.Count(log.String(), "the server does not count tokens"); n != test.logged {
				t.Errorf("logged %d times: %s", n, log.String())
			}
		})
	}
	t.Cleanup(func() { close(over) })
}
