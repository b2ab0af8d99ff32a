package demo

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// running starts a server on a port of its own; stop ends it and gives what Run returned.
func running(t *testing.T, s *Server) (c *client, stop func() error) {
	t.Helper()
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- s.Run(ctx) }()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{"http://" + addr.String(), &http.Client{Transport: transport}}, func() error {
		cancel()
		return <-result
	}
}

func TestRunServesUntilItIsToldToEnd(t *testing.T) {
	t.Parallel()
	c, stop := running(t, newServer(t, quick("m")))
	if got := c.ask(t, "completions", `{"prompt":"x","max_tokens":3,"stream":true}`); len(got.tokens) != 3 {
		t.Errorf("tokens = %v, want 3", got.tokens)
	}
	if err := stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://")); err == nil {
		t.Error("the port is still open")
	}
}

func TestTheEndCutsAnswers(t *testing.T) {
	t.Parallel()
	p := quick("m")
	p.AnswerTokens, p.Engine.StepTime = p.Engine.MaxContext, 20*time.Millisecond // minutes
	s := newServer(t, p)
	c, stop := running(t, s)
	var begun, ended sync.WaitGroup
	for range 50 {
		begun.Add(1)
		ended.Go(func() {
			resp := c.post(t.Context(), t, "chat/completions", `{`+hello+`,"stream":true}`)
			first := make([]byte, 1)
			_, err := io.ReadFull(resp.Body, first)
			begun.Done()
			if err != nil {
				t.Errorf("no first byte: %v", err)
				return
			}
			if _, err := events(io.MultiReader(strings.NewReader(string(first)), resp.Body)); err == nil {
				t.Error("an answer that was cut looks whole")
			}
		})
	}
	begun.Wait()
	if err := stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	ended.Wait()
	got := scrape(t, s)
	if n := got[`vllm:request_success_total{finished_reason="abort"}`]; n != 50 || got["vllm:num_requests_running"] != 0 {
		t.Errorf("%v requests were aborted and %v still run, want 50 and 0", n, got["vllm:num_requests_running"])
	}
}

func TestTheEndDoesNotWaitForSilentConnections(t *testing.T) {
	t.Parallel()
	c, stop := running(t, newServer(t, quick("m")))
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c.get(t, "/health") // the server has accepted the silent one before
	if err := stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the silent connection got an answer")
	}
}

func TestRunReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newServer(t, quick("m"))
	if err := s.Run(t.Context()); err == nil {
		t.Error("Run without Listen gives no error")
	}
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newServer(t, quick("m")).Listen(addr.String()); err == nil {
		t.Error("Listen on a port in use gives no error")
	}
	s.listener.Close()
	if err := s.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run on a closed port = %v", err)
	}
}

func TestFailuresLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	p := quick("m")
	for _, kind := range []FaultKind{RateLimit, ServerError, CutStream, StreamError, HTML, Empty} {
		p.Faults = append(p.Faults, Fault{Kind: kind, Probability: 0.2, AfterTokens: 2})
	}
	s := newServer(t, p)
	c, stop := running(t, s)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range 50 {
				c.outcome(t, "completions", `{"prompt":"x","max_tokens":8,"stream":true}`)
			}
		})
	}
	clients.Wait()
	if err := stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	m := s.models[0]
	if !m.engine.Idle() || !m.due.IsZero() {
		t.Error("the engine still has work")
	}
}
