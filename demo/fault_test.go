package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// faulty is a quick profile that always misbehaves in one way.
func faulty(f Fault) Profile {
	p := quick("m")
	f.Probability = 1
	p.Faults = []Fault{f}
	return p
}

// outcome is what a client sees of an answer.
type outcome struct {
	status      int
	contentType string
	retryAfter  string
	body        string
	err         error
}

func (c *client) outcome(tb testing.TB, path, body string) outcome {
	tb.Helper()
	resp := c.post(tb.Context(), tb, path, body)
	data, err := io.ReadAll(resp.Body)
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return outcome{resp.StatusCode, kind, resp.Header.Get("Retry-After"), string(data), err}
}

func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	const eventStream, jsonBody = "text/event-stream", "application/json"
	for _, tc := range []struct {
		name   string
		fault  Fault
		stream bool
		status int
		kind   string
		tokens int  // in a stream
		cut    bool // the body ends before its end
		has    string
		hasNot string
	}{
		{"429", Fault{Kind: RateLimit, RetryAfter: 1500 * time.Millisecond}, true, 429, jsonBody, 0, false, `"rate_limit_error"`, ""},
		{"500", Fault{Kind: ServerError}, true, 500, jsonBody, 0, false, `"InternalServerError"`, ""},
		{"a page", Fault{Kind: HTML}, true, 200, "text/html", 0, false, "<h1>", ""},
		{"an empty stream", Fault{Kind: Empty}, true, 200, eventStream, 0, false, `"finish_reason":"stop"`, ""},
		{"an empty body", Fault{Kind: Empty}, false, 200, jsonBody, 0, false, `"content":""}`, ""},
		{"a stream cut in the middle", Fault{Kind: CutStream, AfterTokens: 3}, true, 200, eventStream, 3, true, "", "[DONE]"},
		{"a stream cut before its first token", Fault{Kind: CutStream}, true, 200, eventStream, 0, true, `"role"`, "[DONE]"},
		{"a stream cut after its last token", Fault{Kind: CutStream, AfterTokens: 99}, true, 200, eventStream, 8, true, "", `"length"`},
		{"a body cut in the middle", Fault{Kind: CutStream, AfterTokens: 3}, false, 200, jsonBody, 0, true, `"object"`, "usage"},
		{
			"an error in the stream",
			Fault{Kind: StreamError, AfterTokens: 2},
			true, 200, eventStream, 2, false,
			`data: {"error":{"message":"the engine failed in the middle`, `"length"`,
		},
		{"an error instead of a body", Fault{Kind: StreamError, AfterTokens: 2}, false, 500, jsonBody, 0, false, `{"error":{`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := serve(t, faulty(tc.fault)).outcome(t, "chat/completions", fmt.Sprintf(`{%s,"max_tokens":8,"stream":%v}`, hello, tc.stream))
			if got.status != tc.status || got.contentType != tc.kind {
				t.Errorf("status %d, type %q; want %d, %q", got.status, got.contentType, tc.status, tc.kind)
			}
			if cut := errors.Is(got.err, io.ErrUnexpectedEOF); cut != tc.cut || (got.err != nil && !cut) {
				t.Errorf("the body ended with %v, want cut = %v", got.err, tc.cut)
			}
			if n := strings.Count(got.body, `"content":" `) + strings.Count(got.body, `"content":",`) +
				strings.Count(got.body, `"content":".`); tc.stream && n != tc.tokens {
				t.Errorf("%d tokens, want %d", n, tc.tokens)
			}
			if !strings.Contains(got.body, tc.has) {
				t.Errorf("no %s in the body:\n%s", tc.has, got.body)
			}
			if tc.hasNot != "" && strings.Contains(got.body, tc.hasNot) {
				t.Errorf("%s in the body:\n%s", tc.hasNot, got.body)
			}
			if want := map[FaultKind]string{RateLimit: "2"}[tc.fault.Kind]; got.retryAfter != want {
				t.Errorf("Retry-After = %q, want %q", got.retryAfter, want)
			}
		})
	}
}

func TestAStalledStreamWaitsForTheClientToGo(t *testing.T) {
	t.Parallel()
	c := serve(t, faulty(Fault{Kind: Stall, AfterTokens: 2}))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp := c.post(ctx, t, "chat/completions", `{`+hello+`,"max_tokens":8,"stream":true}`)
	lines := bufio.NewReader(resp.Body)
	for i := range 2 * 3 { // the role and two tokens, and the empty line behind each
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
	}
	leave()
	if rest, err := io.ReadAll(lines); !errors.Is(err, context.Canceled) || len(rest) > 0 {
		t.Errorf("after two tokens came %q, %v; want silence", rest, err)
	}
}

func TestAStalledAnswerWaitsForTheClientToGo(t *testing.T) {
	t.Parallel()
	s := newServer(t, faulty(Fault{Kind: Stall}))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave() // the request has arrived
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(`{`+hello+`}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the server answered: %v", err)
	}
}

func TestEpisode(t *testing.T) {
	t.Parallel()
	e := Episode{Every: 2 * time.Minute, Lasts: 30 * time.Second, Offset: 10 * time.Second}
	for _, tc := range []struct {
		since time.Duration
		want  bool
	}{
		{0, false},
		{10*time.Second - 1, false},
		{10 * time.Second, true},
		{40*time.Second - 1, true},
		{40 * time.Second, false},
		{130*time.Second - 1, false},
		{130 * time.Second, true},
	} {
		if got := e.active(tc.since); got != tc.want {
			t.Errorf("after %v the episode is active = %v, want %v", tc.since, got, tc.want)
		}
	}
	if !(Episode{}).active(time.Hour) {
		t.Error("the zero episode is not always")
	}
}

func TestDrawKeepsTheProbabilities(t *testing.T) {
	t.Parallel()
	faults := []Fault{
		{Kind: Slow, Factor: 2},
		{Kind: RateLimit, Probability: 0.2},
		{Kind: HTML, Probability: 1, Episode: Episode{Every: time.Hour, Lasts: time.Minute}},
		{Kind: Empty, Probability: 0.5},
	}
	const n = 20_000
	count := func(since time.Duration) map[FaultKind]int {
		rng := rand.New(rand.NewPCG(1, 2))
		counts := make(map[FaultKind]int)
		for range n {
			if f := draw(faults, since, rng); f != nil {
				counts[f.Kind]++
			}
		}
		return counts
	}
	near := func(got int, share float64) bool {
		return float64(got) > (share-0.02)*n && float64(got) < (share+0.02)*n
	}
	// The later ones only have what the earlier ones left.
	if c := count(0); !near(c[RateLimit], 0.2) || !near(c[HTML], 0.8) || c[Empty] != 0 || c[Slow] != 0 {
		t.Errorf("in the episode: %v", c)
	}
	if c := count(2 * time.Minute); !near(c[RateLimit], 0.2) || c[HTML] != 0 || !near(c[Empty], 0.4) {
		t.Errorf("after the episode: %v", c)
	}
}

func TestSlowdownsMultiply(t *testing.T) {
	t.Parallel()
	faults := []Fault{
		{Kind: Slow, Factor: 2},
		{Kind: Slow, Factor: 3, Episode: Episode{Every: time.Hour, Lasts: time.Minute}},
		{Kind: Empty, Probability: 1},
	}
	if got := slowdown(faults, 0); got != 6 {
		t.Errorf("slowdown in the episode = %v, want 6", got)
	}
	if got := slowdown(faults, 2*time.Minute); got != 2 {
		t.Errorf("slowdown after the episode = %v, want 2", got)
	}
}
