package demo

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = time.Millisecond

// exact is a profile in round numbers without chance: a step takes 10 ms, 1 ms for each decoded sequence, 1 ms per prompt token.
func exact() Profile {
	p := DefaultProfile("m")
	p.Engine.StepTime = 10 * ms
	p.Engine.DecodeTime = ms
	p.Engine.PrefillTime = ms
	p.Engine.Jitter = 0
	return p
}

// recorder keeps the instants at which a handler flushes, after the request's start.
type recorder struct {
	*httptest.ResponseRecorder
	start   time.Time
	flushed []time.Duration
}

func (r *recorder) Flush() {
	r.ResponseRecorder.Flush()
	r.flushed = append(r.flushed, time.Since(r.start))
}

// pass lets the time of a synctest bubble go on.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// call lets the handler answer a request in the time of a synctest bubble.
func call(ctx context.Context, s *Server, body string) (r *recorder, took time.Duration, aborted bool) {
	r = &recorder{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/completions", strings.NewReader(body))
	func() {
		defer func() {
			if e := recover(); e != nil {
				aborted = e == http.ErrAbortHandler //nolint:errorlint // panics with this very value
			}
		}()
		s.ServeHTTP(r, req)
	}()
	return r, time.Since(r.start), aborted
}

// A prompt of 10 tokens: 20 ms to the first token, 11 ms to each other one.
const tenTokens = `"prompt":"0123456789012345678901234567890123456789"`

func TestChunksComeAtTheEndsOfSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, exact())
		r, _, _ := call(t.Context(), s, `{`+tenTokens+`,"max_tokens":4,"stream":true}`)
		want := []time.Duration{20 * ms, 31 * ms, 42 * ms, 53 * ms}
		if diff := cmp.Diff(want, r.flushed); diff != "" {
			t.Errorf("instants of the chunks (-want +got):\n%s", diff)
		}
		if _, took, _ := call(t.Context(), s, `{`+tenTokens+`,"max_tokens":4}`); took != 53*ms {
			t.Errorf("an answer that is not streamed took %v, want 53 ms", took)
		}
	})
}

func TestASlowEpisodeComesAndGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := exact()
		p.Faults = []Fault{{Kind: Slow, Factor: 4, Episode: Episode{Every: 10 * time.Second, Lasts: 2 * time.Second, Offset: time.Second}}}
		s := newServer(t, p)
		start := time.Now()
		for _, tc := range []struct{ at, want time.Duration }{
			{0, 20 * ms}, {time.Second, 80 * ms}, {2 * time.Second, 80 * ms}, {3 * time.Second, 20 * ms}, {11 * time.Second, 80 * ms},
		} {
			pass(tc.at - time.Since(start))
			if _, took, _ := call(t.Context(), s, `{`+tenTokens+`,"max_tokens":1}`); took != tc.want {
				t.Errorf("after %v a request took %v, want %v", tc.at, took, tc.want)
			}
		}
	})
}

func TestTheGaugesShowTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := exact()
		p.Engine.MaxRunning = 1
		s := newServer(t, p)
		for range 3 {
			go call(t.Context(), s, `{`+tenTokens+`,"max_tokens":2}`) // 31 ms each
		}
		for _, tc := range []struct {
			at               time.Duration
			running, waiting float64
		}{{5 * ms, 1, 2}, {36 * ms, 1, 1}, {67 * ms, 1, 0}, {98 * ms, 0, 0}} {
			pass(tc.at - time.Since(s.start))
			got := scrape(t, s)
			if got["vllm:num_requests_running"] != tc.running || got["vllm:num_requests_waiting"] != tc.waiting {
				t.Errorf("at %v %v requests run and %v wait, want %v and %v", tc.at, got["vllm:num_requests_running"],
					got["vllm:num_requests_waiting"], tc.running, tc.waiting)
			}
			// 11 tokens after the prefill, of which the newest is not yet computed when it has just been given.
			if usage := got["vllm:kv_cache_usage_perc"]; (usage > 0) != (tc.running > 0) || usage > 13./65536 {
				t.Errorf("at %v the cache usage is %v", tc.at, usage)
			}
		}
	})
}

func TestAClientThatGoesFreesItsPlace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body string }{
		{"from a stream", `"stream":true`},
		{"from a whole answer", `"stream":false`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, exact())
				ctx, leave := context.WithTimeout(t.Context(), 100*ms)
				defer leave()
				_, took, aborted := call(ctx, s, `{`+tenTokens+`,"max_tokens":1000,`+tc.body+`}`)
				if took != 100*ms || !aborted {
					t.Errorf("the answer ended after %v, aborted = %v; want 100 ms, true", took, aborted)
				}
				got := scrape(t, s)
				if got["vllm:num_requests_running"] != 0 || got[`vllm:request_success_total{finished_reason="abort"}`] != 1 {
					t.Errorf("still running: %v, aborted: %v", got["vllm:num_requests_running"],
						got[`vllm:request_success_total{finished_reason="abort"}`])
				}
				if n := got["vllm:generation_tokens_total"]; n != 8 { // at 20, 31, … 97 ms
					t.Errorf("%v tokens were generated, want 8", n)
				}
				if _, took, _ := call(t.Context(), s, `{`+tenTokens+`,"max_tokens":1}`); took != 20*ms {
					t.Errorf("the next request took %v, want 20 ms", took)
				}
			})
		})
	}
}

// deaf is a connection that takes n writes and then fails.
type deaf struct {
	*httptest.ResponseRecorder
	n int
}

func (d *deaf) Write(p []byte) (int, error) {
	if d.n--; d.n < 0 {
		return 0, io.ErrClosedPipe
	}
	return d.ResponseRecorder.Write(p)
}

func TestAWriteThatFailsEndsTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, exact())
		defer func() {
			if e := recover(); e != http.ErrAbortHandler { //nolint:errorlint // panics with this very value
				t.Errorf("the handler ended with %v, want ErrAbortHandler", e)
			}
			if n := scrape(t, s)[`vllm:request_success_total{finished_reason="abort"}`]; n != 1 {
				t.Errorf("%v requests were aborted, want 1", n)
			}
		}()
		body := strings.NewReader(`{` + tenTokens + `,"max_tokens":1000,"stream":true}`)
		s.ServeHTTP(&deaf{httptest.NewRecorder(), 3}, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", body))
	})
}

func TestFailuresInTheMiddleAreCounted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind   FaultKind
		reason string
		took   time.Duration
	}{{CutStream, "abort", 31 * ms}, {StreamError, "error", 31 * ms}, {Stall, "abort", time.Second}} {
		t.Run(string(tc.kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := exact()
				p.Faults = []Fault{{Kind: tc.kind, Probability: 1, AfterTokens: 2}}
				s := newServer(t, p)
				ctx, leave := context.WithTimeout(t.Context(), time.Second)
				defer leave()
				_, took, _ := call(ctx, s, `{`+tenTokens+`,"max_tokens":1000,"stream":true}`)
				if took != tc.took {
					t.Errorf("the answer ended after %v, want %v", took, tc.took)
				}
				got := scrape(t, s)
				if n := got[`vllm:request_success_total{finished_reason="`+tc.reason+`"}`]; n != 1 {
					t.Errorf("%v requests ended with %s, want 1", n, tc.reason)
				}
				if n := got["vllm:generation_tokens_total"]; n != 2 {
					t.Errorf("%v tokens were generated, want 2", n)
				}
			})
		})
	}
}

func TestAHeldUpProcessDoesNotCatchUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		late, want time.Duration // the next step's end, after the late one
	}{
		{"a little late: the next step ends on time", 5 * ms, 6 * ms},
		{"a whole step late: the next step takes its full time", 15 * ms, 11 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newServer(t, exact()).models[0]
				m.submit(m.newJob(&ask{promptTokens: 10, limit: 4}))
				m.timer.Stop() // what follows is what a late timer would do
				pass(20*ms + tc.late)
				m.endStep()
				m.timer.Stop()
				if got := time.Until(m.due); got != tc.want {
					t.Errorf("the next step ends in %v, want %v", got, tc.want)
				}
				m.endStep() // a timer that fires for a step that has gone
				if n := m.engine.Load(time.Now()).Running; n != 1 {
					t.Errorf("%d sequences run, want 1", n)
				}
			})
		})
	}
}
