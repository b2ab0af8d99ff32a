package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// reader takes a stream of events as a connection does: one that is stuck takes nothing until its deadline.
type reader struct {
	header   http.Header
	stuck    bool
	deadline time.Time

	mu   sync.Mutex
	text strings.Builder
}

func newReader() *reader { return &reader{header: http.Header{}} }

func (r *reader) Header() http.Header { return r.header }
func (r *reader) WriteHeader(int)     {}
func (r *reader) Flush()              {}

func (r *reader) SetWriteDeadline(at time.Time) error {
	r.deadline = at
	return nil
}

func (r *reader) Write(p []byte) (int, error) {
	if r.stuck {
		time.Sleep(time.Until(r.deadline)) //nolint:forbidigo // in a bubble of synctest
		return 0, errors.New("deadline exceeded")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// took gives what was written since the last call, each event as a line: its name and data.
func (r *reader) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for block := range strings.SplitSeq(strings.TrimSuffix(r.text.String(), "\n\n"), "\n\n") {
		if block != "" {
			out = append(out, strings.NewReplacer("event: ", "", "\ndata: ", " ").Replace(block))
		}
	}
	r.text.Reset()
	return out
}

// stage is an API in a bubble of synctest, with its time.
type stage struct {
	*API
	daemon *daemon
	stop   context.CancelFunc
	all    sync.WaitGroup
}

func newStage(t *testing.T) *stage {
	t.Helper()
	d := &daemon{targets: []view.Target{{Name: "a", Health: view.Healthy}}}
	ctx, cancel := context.WithCancel(t.Context())
	s := &stage{API: newAPI(d, nil), daemon: d, stop: cancel}
	s.all.Go(func() { s.Run(ctx) })
	return s
}

// end stops it; every goroutine must end by itself then.
func (s *stage) end() {
	s.stop()
	s.all.Wait()
}

// listen lets a reader listen until it goes away, if it does.
func (s *stage) listen(t *testing.T, r *reader) (leave context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/events", http.NoBody)
	s.all.Go(func() { serve(s.API).ServeHTTP(r, request) })
	synctest.Wait()
	return cancel
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a bubble of synctest
	synctest.Wait()
}

func fleetEvent(health view.Health) string {
	return `targets [{"name":"a","health":"` + string(health) + `","reason":"","state":"","asked_rate_hz":null,"achieved_rate_hz":0,"in_flight":0,"window":{"seconds":0,"requests":0,"failures":0,` +
		`"ttft_seconds":{"samples":0,"p50":null,"p95":null,"p99":null},"itl_seconds":{"samples":0,"p50":null,"p95":null,"p99":null},` +
		`"latency_seconds":{"samples":0,"p50":null,"p95":null,"p99":null},"goodput_ratio":null,"errors":{},"dropped":{}}}]`
}

func TestListenersHearOfWhatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		r := newReader()
		s.listen(t, r)
		want := func(what string, events ...string) {
			t.Helper()
			if diff := cmp.Diff(events, r.took()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		want("at once", "retry: 2000", fleetEvent(view.Healthy))
		if got := r.header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("Content-Type %q", got)
		}
		pass(period)
		want("the first of the regular ones", fleetEvent(view.Healthy))
		pass(5 * period)
		want("nothing while nothing changes")
		s.daemon.set(view.Target{Name: "a", Health: view.Failing})
		pass(period)
		want("what has changed", fleetEvent(view.Failing))
		s.Notify("reload")
		synctest.Wait()
		want("a note, at once", "reload {}")
		s.Notify("reload")
		s.Notify("failure")
		s.Notify("failure")
		synctest.Wait()
		s.Notify("failure")
		synctest.Wait()
		want("another kind at once, the same one not", "failure {}")
		pass(period)
		want("then with the next second", "reload {}", "failure {}")
		pass(2*heartbeat + period)
		want("signs of life", ": still here", ": still here")
		s.end()
	})
}

func TestNothingIsMadeWhileNobodyListens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.Notify("failure")
		pass(time.Hour)
		if n := s.daemon.askedFor(); n != 0 {
			t.Errorf("the fleet was asked for %d times", n)
		}
		r := newReader()
		leave := s.listen(t, r)
		pass(10 * period)
		leave()
		synctest.Wait()
		if got := r.took(); len(got) != 3 {
			t.Errorf("a note from before: %q", got)
		}
		asked := s.daemon.askedFor()
		pass(time.Hour)
		if n := s.daemon.askedFor() - asked; n > 1 {
			t.Errorf("the fleet was asked for %d times after everybody has left", n)
		}
		s.end()
	})
}

func TestSixteenMayListen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var leave context.CancelFunc
		for range maxListeners {
			leave = s.listen(t, newReader())
		}
		ask := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			serve(s.API).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/events", http.NoBody))
			return w
		}
		if w := ask(); w.Code != http.StatusServiceUnavailable || w.Body.String() != `{"status":"error","errorType":"unavailable","error":"no more than 16 may listen"}`+"\n" {
			t.Errorf("the 17th: code %d, %s", w.Code, w.Body)
		}
		leave()
		synctest.Wait()
		if w := ask(); w.Code != http.StatusOK {
			t.Errorf("after one has left: code %d", w.Code)
		}
		s.end()
		if w := ask(); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the exporter is stopping") {
			t.Errorf("after the end: code %d, %s", w.Code, w.Body)
		}
	})
}

// A reader that is stuck holds up nobody, and is gone when its deadline is over.
func TestASlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		slow, other := &reader{header: http.Header{}, stuck: true}, newReader()
		s.listen(t, slow)
		s.listen(t, other)
		other.took()
		for i := range backlog + 4 {
			s.daemon.set(view.Target{Name: "a", InFlight: i + 1})
			pass(period)
		}
		if got := len(other.took()); got != backlog+4 {
			t.Errorf("the other reader took %d events, want %d", got, backlog+4)
		}
		s.events.mu.Lock()
		if n := len(s.events.listeners); n != 1 {
			t.Errorf("%d listeners, want 1", n)
		}
		s.events.mu.Unlock()
		s.end()
	})
}

// The channel of one who does not keep up is closed before its deadline; then its answer ends as soon as it is read again.
func TestAReaderThatFallsBehindIsLetGo(t *testing.T) {
	t.Parallel()
	e := newEvents(&daemon{}, nil, nil)
	l, err := e.join()
	if err != nil {
		t.Fatal(err)
	}
	for range backlog + 1 {
		e.mu.Lock()
		e.send([]byte("x"))
		e.mu.Unlock()
	}
	for range backlog {
		<-l.events
	}
	if _, ok := <-l.events; ok || len(e.listeners) != 0 {
		t.Errorf("still listens: %v, %d listeners", ok, len(e.listeners))
	}
	e.leave(l) // as its answer does
}

func TestAFaultDoesNotEndTheEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		r := newReader()
		s.listen(t, r)
		r.took()
		s.daemon.mu.Lock()
		s.daemon.broken = true
		s.daemon.mu.Unlock()
		pass(3 * period)
		s.Notify("failure")
		synctest.Wait()
		if diff := cmp.Diff([]string{"failure {}"}, r.took()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s.end()
	})
}

// Over real connections: many readers, all of whom end when the daemon does, so that a shutdown of the server does not wait.
func TestShutdownEndsTheStreams(t *testing.T) {
	t.Parallel()
	a := newAPI(&daemon{targets: []view.Target{{Name: "a"}}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	server := httptest.NewServer(serve(a))
	defer server.Close()
	var readers sync.WaitGroup
	first := make(chan struct{}, maxListeners)
	for range maxListeners {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			defer resp.Body.Close()
			lines := bufio.NewReader(resp.Body)
			for {
				line, err := lines.ReadString('\n')
				if strings.HasPrefix(line, "event: targets") {
					select {
					case first <- struct{}{}:
					default:
					}
				}
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Errorf("the stream broke: %v", err)
					}
					return
				}
			}
		})
	}
	for range maxListeners {
		<-first
	}
	cancel()
	readers.Wait()
	running.Wait()
}

func TestHEADOfEventsEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := ask(t, newAPI(&daemon{}, nil), http.MethodHead, "/api/v1/events")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" || w.Body.Len() != 0 {
		t.Errorf("code %d, %q, %d bytes", w.Code, w.Header().Get("Content-Type"), w.Body.Len())
	}
}
