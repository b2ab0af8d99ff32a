//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// peer is a server of the test's own that keeps what it was asked. How it answers is for the test to say.
type peer struct {
	url string

	mu        sync.Mutex
	questions []question
	running   map[string]int // by target
	most      map[string]int // that ran at the same time, by target
}

// question is one request as it came over the wire.
type question struct {
	target  string // that the exporter asks for
	number  int    // of those of the target, from 0
	arrived time.Time
	from    string // the other end of the connection
	header  http.Header
	body    []byte

	chat chat
}

// chat is what the exporter's body says, as far as tests look at it.
type chat struct {
	Messages  []message `json:"messages"`
	MaxTokens int       `json:"max_completion_tokens"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// session is the conversation that the request belongs to.
func (q *question) session() string { return q.header.Get("X-Correlation-Id") }

// last is what the user says.
func (q *question) last() string { return q.chat.Messages[len(q.chat.Messages)-1].Content }

// startPeer starts a server without metrics that lives as long as the test. answer may run for many requests at a time.
func startPeer(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, q *question)) *peer {
	t.Helper()
	return startPeerWith(t, http.NotFound, answer)
}

// connections are counted, because the kernel gives the port of one to another later.
var connections atomic.Int64

// connection is the key under which the context of a request has the number of its connection.
type connection struct{}

func connectionOf(r *http.Request) string { return fmt.Sprint(r.Context().Value(connection{})) }

// startPeerWith starts one with pages.
func startPeerWith(t *testing.T, page http.HandlerFunc, answer func(w http.ResponseWriter, r *http.Request, q *question)) *peer {
	t.Helper()
	p := &peer{running: map[string]int{}, most: map[string]int{}}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			page(w, r)
			return
		}
		q := question{target: r.Header.Get("X-Aiperf-Exporter"), arrived: time.Now(), from: connectionOf(r), header: r.Header}
		var err error
		if q.body, err = io.ReadAll(r.Body); err != nil {
			return // the exporter was killed
		}
		if err := json.Unmarshal(q.body, &q.chat); err != nil {
			t.Errorf("the body is not of the protocol: %v\n%s", err, q.body)
			return
		}
		p.begin(&q)
		defer p.end(q.target)
		answer(w, r, &q)
	}))
	s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connection{}, connections.Add(1))
	}
	s.Start()
	t.Cleanup(s.Close) // before the exporter ends, which was started later and hence ended before
	p.url = s.URL
	return p
}

func (p *peer) begin(q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.questions {
		if p.questions[i].target == q.target {
			q.number++
		}
	}
	p.questions = append(p.questions, *q)
	p.running[q.target]++
	p.most[q.target] = max(p.most[q.target], p.running[q.target])
}

func (p *peer) end(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[target]--
}

// peak is how many requests of a target ran at the same time, at most.
func (p *peer) peak(target string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most[target]
}

// asked gives the requests for a target so far, in the order of their arrival.
func (p *peer) asked(target string) []question {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.questions), func(q question) bool { return q.target != target })
}

// waitFor waits until a target has sent so many requests, and gives them.
func (p *peer) waitFor(t *testing.T, target string, requests int) []question {
	t.Helper()
	eventually(t, patience, func() error {
		if n := len(p.asked(target)); n < requests {
			return fmt.Errorf("%d requests for %s, want %d", n, target, requests)
		}
		return nil
	})
	return p.asked(target)
}

// reply is a streamed answer.
type reply struct {
	model         string
	text          string
	input, output int // tokens; an input of 0 = the server counts none
}

// write streams the reply, the text in two chunks.
func (a *reply) write(w http.ResponseWriter) {
	a.open(w)
	half := len(a.text) / 2
	a.chunk(w, a.text[:half], "null")
	a.chunk(w, a.text[half:], `"length"`)
	if a.input > 0 {
		fmt.Fprintf(w, `data: {"model":%q,"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n",
			a.model, a.input, a.output, a.input+a.output)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (a *reply) open(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
}

// chunk sends a part of the text at once.
func (a *reply) chunk(w http.ResponseWriter, text, finish string) {
	content, _ := json.Marshal(text) // a string cannot fail
	fmt.Fprintf(w, `data: {"model":%q,"choices":[{"index":0,"delta":{"content":%s},"finish_reason":%s}]}`+"\n\n", a.model, content, finish)
	w.(http.Flusher).Flush()
}

// plain answers as long as asked, and counts four bytes of the body as a token.
func plain(w http.ResponseWriter, _ *http.Request, q *question) {
	a := reply{model: "peer", text: strings.Repeat("word ", q.chat.MaxTokens), input: len(q.body) / 4, output: q.chat.MaxTokens}
	a.write(w)
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":"the test wants it so","type":"test","code":%d}}`, status)
}

// records reads what `run --records` wrote into a folder.
func records(t *testing.T, folder string) []record {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join(folder, "profile_export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []record
	for line := range bytes.Lines(lines) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, r)
	}
	return all
}

// record is one request as the exporter tells it.
type record struct {
	Metadata struct {
		RequestID string `json:"x_request_id"`
		Session   string `json:"x_correlation_id"`
		Start     int64  `json:"request_start_ns"` // wall clock
		End       int64  `json:"request_end_ns"`
		Cancelled bool   `json:"was_cancelled"`
	} `json:"metadata"`
	Exporter struct {
		Scheduled int64 `json:"scheduled_ns"` // wall clock
	} `json:"exporter"`
}
