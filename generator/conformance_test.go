package generator_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint/endpointtest"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// asked is what a server saw of a request.
type asked struct {
	Method, Path, Accept, MediaType string
	body                            []byte
}

// said is what the generator made of an answer.
type said struct {
	Outcome         metrics.Outcome
	Class           metrics.ErrorClass
	Product         metrics.Product
	Contents, Items int
	Input, Output   *int64
	Finish          metrics.FinishReason
	Served          string
	Limit           int
}

// TestEachProtocolThroughTheWholeGenerator sends the requests of all cases over real sockets to a server that answers as the cases say.
func TestEachProtocolThroughTheWholeGenerator(t *testing.T) {
	t.Parallel()
	for _, c := range endpointtest.Load(t, "endpoint/testdata/conformance") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var saw asked
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
				mu.Lock()
				saw = asked{r.Method, r.URL.EscapedPath(), r.Header.Get("Accept"), media, body}
				mu.Unlock()
				w.Header().Set("Content-Type", c.Answer.MediaType())
				if c.Answer.Status != 0 {
					w.WriteHeader(c.Answer.Status)
				}
				_, _ = w.Write(c.Answer.Bytes())
			}))
			defer server.Close()
			r := newRig(t, server.URL, func(tc *generator.TargetConfig) {
				tc.Endpoint, tc.Model, tc.SLOs = c.Config.Endpoint(), c.Model, nil
				tc.Workload.Stream = c.Stream
			})
			turn := c.Turn()
			r.target(t).Ask(t.Context(), &workload.Turn{Prompt: *turn.Prompt, OutputTokens: c.Limit, Extra: c.Extra})
			all := r.records()
			if len(all) != 1 {
				t.Fatalf("%d records, want 1", len(all))
			}
			mu.Lock()
			defer mu.Unlock()
			compareRequest(t, &c, saw)
			compareRecord(t, &c, &all[0].record)
		})
	}
}

func compareRequest(t *testing.T, c *endpointtest.Case, saw asked) {
	t.Helper()
	want := asked{Method: http.MethodPost, Path: c.Request.Path, Accept: c.Request.Accept, MediaType: "application/json"}
	if c.Request.Form != nil {
		want.MediaType = "multipart/form-data"
	}
	if diff := cmp.Diff(want, saw, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "body" }, cmp.Ignore())); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if c.NoUsage || c.Request.Form != nil {
		return // the generator asks for usage until a server refuses; forms have a boundary of their own
	}
	if !bytes.Equal(c.Request.Bytes(), saw.body) {
		t.Errorf("body (-want +got):\n%s", cmp.Diff(string(c.Request.Bytes()), string(saw.body)))
	}
}

func compareRecord(t *testing.T, c *endpointtest.Case, r *metrics.Record) {
	t.Helper()
	want := said{
		Outcome: c.Record.Outcome, Class: c.Record.Class, Product: c.Record.Product, Contents: c.Record.Contents, Items: c.Record.Items,
		Input: c.Record.Input, Output: c.Record.Output, Finish: c.Record.Finish, Served: c.Record.Served, Limit: c.Record.Limit,
	}
	if want.Outcome == "" {
		want.Outcome = metrics.Success
	}
	got := said{
		Outcome: r.Outcome, Class: r.Class, Product: r.Product, Contents: len(r.Content), Items: int(r.Items),
		Input: told(r.Usage.Input, r.InputSource), Output: told(r.Usage.Output, r.OutputSource), Finish: r.Finish, Served: r.ServedModel,
		Limit: int(r.RequestedTokens),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s\n%s", diff, r.Detail)
	}
}

// told is a count as the server told it; nil = it did not.
func told(n metrics.Count, source metrics.TokenSource) *int64 {
	if !n.Known || !source.Exact() {
		return nil
	}
	return &n.N
}

func TestTheExpectationsOfARowAreJudgedAndNeverIgnored(t *testing.T) {
	t.Parallel()
	const answered = `{"choices":[{"message":{"content":"Budapest"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`
	for name, test := range map[string]struct {
		expect  string
		outcome metrics.Outcome
		class   metrics.ErrorClass
		checks  []string
	}{
		"one that holds":           {`{"contains": "budapest", "ignore_case": true}`, metrics.Success, "", nil},
		"one that does not":        {`[{"contains": "Vienna"}, {"regex": "^B"}]`, metrics.Failure, metrics.ErrContentCheck, []string{"contains"}},
		"one that nobody can read": {`{"contains": 5}`, metrics.Failure, metrics.ErrClientInternal, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, answered)
			}))
			defer server.Close()
			r := newRig(t, server.URL, func(tc *generator.TargetConfig) { tc.Workload.Stream, tc.SLOs = false, nil })
			r.target(t).Ask(t.Context(), &workload.Turn{Prompt: prompt.OfText("Where?"), Expect: []byte(test.expect)})
			got := r.records()[0].record
			if got.Outcome != test.outcome || got.Class != test.class || !slices.Equal(got.FailedChecks, test.checks) {
				t.Errorf("%s %s %v, want %s %s %v (%s)", got.Outcome, got.Class, got.FailedChecks, test.outcome, test.class, test.checks, got.Detail)
			}
		})
	}
}
