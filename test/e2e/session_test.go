//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// talking are conversations of three turns with a model that reasons: URL.
const talking = `
workloads:
  talk: {input_tokens: 32, output_tokens: 20, turns: 3, turn_delay: 50ms}
loads:
  quick: {mode: constant, rate: 10, max_in_flight: 100}
targets:
  - name: thinker
    url: %q
    model: demo-thinker-32b
    endpoint: {type: chat, affinity_headers: [X-Session-Affinity, X-SMG-Routing-Key]}
    workload: talk
    load: quick
`

// demoServer is where the demo's inference server listens, as the demo says.
var demoServer = regexp.MustCompile(`(?m)^\s+server\s+(http://127\.0\.0\.1:\d+)/metrics`)

// spoken is what a model said in an answer.
type spoken struct{ text, reasoning string }

func (s *spoken) read(stream []byte) error {
	for line := range bytes.Lines(stream) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					Reasoning string `json:"reasoning_content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return fmt.Errorf("%w in %s", err, data)
		}
		for _, c := range chunk.Choices {
			s.text += c.Delta.Content
			s.reasoning += c.Delta.Reasoning
		}
	}
	return nil
}

func TestConversationsRepeatWhatWasAnsweredAndNotWhatWasThought(t *testing.T) {
	t.Parallel()
	demo := process.ForTest(t, nil, binary, "demo", "--web.listen-address="+address(t))
	server, err := demo.Find(process.Within(t, patience), demoServer)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	answers := map[string]spoken{} // by what was asked
	p := startPeer(t, func(w http.ResponseWriter, r *http.Request, q *question) {
		forward, err := http.NewRequestWithContext(r.Context(), http.MethodPost, server+r.URL.Path, bytes.NewReader(q.body))
		if err != nil {
			t.Error(err)
			return
		}
		forward.Header = r.Header.Clone()
		answer, err := http.DefaultTransport.RoundTrip(forward)
		if err != nil {
			return // the test has ended
		}
		defer answer.Body.Close()
		stream, err := io.ReadAll(answer.Body)
		if err != nil {
			return
		}
		var s spoken
		if err := s.read(stream); err != nil {
			t.Error(err)
		}
		mu.Lock()
		answers[q.session()+q.last()] = s
		mu.Unlock()
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(stream) // whether anybody still reads it
	})
	e := serve(t, fmt.Sprintf(talking, p.url))
	eventually(t, patience, func() error {
		if n := e.scrape(t).Sum("aiperf_sessions_total", scrape.Labels{"end": "completed"}); n < 10 {
			return fmt.Errorf("%v conversations are over", n)
		}
		return nil
	})
	f := e.scrape(t)
	if n := f.Sum("aiperf_sessions_total", scrape.Labels{"end": "failed"}) + f.Sum("aiperf_sessions_total", scrape.Labels{"end": "truncated"}); n != 0 {
		t.Errorf("%v conversations ended early", n)
	}

	conversations := map[string][]question{}
	for _, q := range p.asked("thinker") {
		conversations[q.session()] = append(conversations[q.session()], q)
	}
	mu.Lock()
	defer mu.Unlock()
	complete := 0
	for session, turns := range conversations {
		if len(turns) > 3 {
			t.Errorf("the correlation id %s has %d turns", session, len(turns))
		}
		if len(turns) == 3 {
			complete++
		}
		var want []message
		for i, q := range turns {
			want = append(want, message{"user", q.last()})
			if diff := cmp.Diff(want, q.chat.Messages); diff != "" {
				t.Fatalf("turn %d (-want +got):\n%s", i+1, diff)
			}
			said := answers[session+q.last()]
			if i+1 < len(turns) && (said.text == "" || said.reasoning == "") {
				t.Errorf("the model said %q and thought %q, want both to be something", said.text, said.reasoning)
			}
			want = append(want, message{"assistant", said.text})
			for _, name := range []string{"X-Session-Affinity", "X-SMG-Routing-Key"} {
				if got := q.header.Get(name); got != session {
					t.Errorf("%s is %q, want that of the conversation, %s", name, got, session)
				}
			}
		}
		if strings.Trim(session, "0-") == "" {
			t.Errorf("%q is no correlation id", session)
		}
	}
	if complete < 10 {
		t.Errorf("%d conversations of three turns, want 10", complete)
	}
}
