package genai_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
)

var sampled = metrics.Trace{ID: [16]byte{0x4b, 15: 0x36}, Span: [8]byte{0xf0, 7: 0xb7}, Sampled: true}

// tracer makes spans as the exporter does, and keeps them.
func tracer(tb testing.TB) (trace.Tracer, *tracetest.InMemoryExporter) {
	tb.Helper()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept), sdktrace.WithIDGenerator(genai.IDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	return provider.Tracer("test"), kept
}

// always is one tracer.
func always(t trace.Tracer) func() trace.Tracer { return func() trace.Tracer { return t } }

// spansOf are those of requests that ended so.
func spansOf(t *testing.T, semconv string, target genai.Target, clock *metrics.SystemClock, records ...*metrics.Record) tracetest.SpanStubs {
	t.Helper()
	tr, kept := tracer(t)
	o, err := genai.New(genai.Options{Settings: genai.Settings{Semconv: semconv, Targets: []genai.Target{target}}, Clock: clock, Tracer: always(tr)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		finish(o, target.Name, r)
	}
	return kept.GetSpans()
}

func TestASpanIsTheRequest(t *testing.T) {
	t.Parallel()
	clock := metrics.NewSystemClock()
	r := but(func(r *metrics.Record) {
		r.Trace, r.Product = sampled, metrics.ProductTokens
		at := r.Time.Start
		r.Time.ConnDone, r.Time.DNSDone, r.Time.ConnectDone, r.Time.TLSDone = at+4*ms, at+ms, at+2*ms, at+3*ms
		r.Time.Sent, r.Time.FirstByte = at+5*ms, at+6*ms
	})
	spans := spansOf(t, "1.41", chat, clock, r)
	if len(spans) != 1 {
		t.Fatalf("%d spans, want 1", len(spans))
	}
	got := spans[0]
	since := func(at time.Time) time.Duration { return at.Sub(clock.Wall(r.Time.Start)) }
	events := map[string]time.Duration{}
	for _, e := range got.Events {
		events[e.Name] = since(e.Time)
	}
	if diff := cmp.Diff(map[string]time.Duration{
		"aiperf.dns.done": time.Millisecond, "aiperf.connect.done": 2 * time.Millisecond, "aiperf.tls.done": 3 * time.Millisecond,
		"aiperf.connection.obtained": 4 * time.Millisecond, "aiperf.request.sent": 5 * time.Millisecond, "aiperf.response.first_byte": 6 * time.Millisecond,
		"aiperf.response.first_token": 250 * time.Millisecond, "aiperf.response.last_token": 300 * time.Millisecond,
	}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(got.Events, func(a, b sdktrace.Event) int { return a.Time.Compare(b.Time) }) {
		t.Error("events are not in their order")
	}
	context := got.SpanContext
	if context.TraceID() != sampled.ID || context.SpanID() != sampled.Span || !context.IsSampled() || got.Parent.IsValid() {
		t.Errorf("context %v with the parent %v, want %v and none", context, got.Parent, sampled)
	}
	if got.Name != "chat llama" || got.SpanKind != trace.SpanKindClient || since(got.StartTime) != 0 || since(got.EndTime) != 403*time.Millisecond {
		t.Errorf("%s span %q from %v to %v", got.SpanKind, got.Name, since(got.StartTime), since(got.EndTime))
	}
}

func TestWhatASpanSays(t *testing.T) {
	t.Parallel()
	const told = "gen_ai.usage.input_tokens=100 gen_ai.usage.output_tokens=4"
	const streamed = "gen_ai.request.stream=true gen_ai.response.time_to_first_chunk=0.25"
	for name, test := range map[string]struct {
		semconv string // 1.41 if none
		change  func(*metrics.Record)
		want    string // attributes beside those of the target, sorted; then the status
	}{
		"a success": {
			change: func(*metrics.Record) {},
			want:   `aiperf.outcome=success aiperf.request.id=a ` + streamed + ` gen_ai.response.finish_reasons=["stop"] http.response.status_code=200 ` + told + `; Unset`,
		},
		"all that may be known": {
			change: func(r *metrics.Record) {
				r.Usage.CachedInput, r.Usage.CacheWrite, r.Usage.Reasoning = metrics.Tokens(60), metrics.Tokens(30), metrics.Tokens(0)
				r.Session, r.TurnIndex, r.Suspect, r.Warmup, r.RequestedTokens, r.ServedModel = "s", 2, true, true, 64, "llama-3"
				r.RequestBytes, r.ResponseBytes, r.ConnObtained, r.ConnReused = 600, 900, true, true
			},
			want: `aiperf.connection.reused=true aiperf.outcome=success aiperf.request.id=a aiperf.suspect=true aiperf.turn=2 aiperf.warmup=true ` +
				`gen_ai.conversation.id=s gen_ai.request.max_tokens=64 ` + streamed + ` gen_ai.response.finish_reasons=["stop"] gen_ai.response.model=llama-3 ` +
				`gen_ai.usage.cache_creation.input_tokens=30 gen_ai.usage.cache_read.input_tokens=60 gen_ai.usage.reasoning.output_tokens=0 ` +
				`http.request.body.size=600 http.response.body.size=900 http.response.status_code=200 ` + told + `; Unset`,
		},
		"a cache under its newer name": {
			semconv: "genai-0.1",
			change:  func(r *metrics.Record) { r.Usage = metrics.Usage{CacheWrite: metrics.Tokens(30)} },
			want: `aiperf.outcome=success aiperf.request.id=a ` + streamed + ` gen_ai.response.finish_reasons=["stop"] ` +
				`gen_ai.usage.cache_write.input_tokens=30 http.response.status_code=200; Unset`,
		},
		"estimates are not told": {
			semconv: "none",
			change: func(r *metrics.Record) {
				r.InputSource, r.OutputSource, r.Usage.Reasoning = metrics.SourceDataset, metrics.SourceTokenizer, metrics.Tokens(1)
			},
			want: `aiperf.outcome=success aiperf.request.id=a ` + streamed + ` gen_ai.response.finish_reasons=["stop"] http.response.status_code=200; Unset`,
		},
		"a failure, without the server's words": {
			change: func(r *metrics.Record) {
				*r = *failed(metrics.ErrHTTP5xx)
				r.Trace, r.Status, r.Finish, r.Streaming, r.Unstreamed, r.Detail = sampled, 503, "", false, true, "prompt: sesame"
			},
			want: `aiperf.outcome=error aiperf.request.id=a error.type=http_5xx gen_ai.request.stream=true http.response.status_code=503; Error: http_5xx`,
		},
		"a stream that broke off": {
			change: func(r *metrics.Record) {
				r.Outcome, r.Class, r.Finish, r.Usage = metrics.Failure, metrics.ErrTruncated, "", metrics.Usage{}
			},
			want: `aiperf.outcome=error aiperf.request.id=a error.type=truncated ` + streamed + ` http.response.status_code=200; Error: truncated`,
		},
		"a stream that broke off has a reason in the newer conventions": {
			semconv: "genai-0.1",
			change: func(r *metrics.Record) {
				r.Outcome, r.Class, r.Finish, r.Usage = metrics.Failure, metrics.ErrTruncated, "", metrics.Usage{}
			},
			want: `aiperf.outcome=error aiperf.request.id=a error.type=truncated ` + streamed + ` gen_ai.response.finish_reasons=["error"] ` +
				`http.response.status_code=200; Error: truncated`,
		},
		"a cancellation is no error": {
			change: func(r *metrics.Record) { r.Outcome, r.Finish, r.Usage = metrics.Cancelled, "", metrics.Usage{} },
			want:   `aiperf.outcome=cancelled aiperf.request.id=a ` + streamed + ` http.response.status_code=200; Unset`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := but(func(r *metrics.Record) { r.Trace = sampled })
			test.change(r)
			generation := test.semconv
			if generation == "" {
				generation = "1.41"
			}
			spans := spansOf(t, generation, chat, metrics.NewSystemClock(), r)
			if len(spans) != 1 {
				t.Fatalf("%d spans, want 1", len(spans))
			}
			if got, want := said(&spans[0]), inOrder(test.want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// said are the attributes of a span beside those of the target chat, and its status.
func said(s *tracetest.SpanStub) string {
	var attributes, ofTarget []string
	for _, kv := range s.Attributes {
		word := string(kv.Key) + "=" + kv.Value.String()
		if slices.Contains(strings.Fields(chatAttributes), word) {
			ofTarget = append(ofTarget, word)
		} else {
			attributes = append(attributes, word)
		}
	}
	if len(ofTarget) != len(strings.Fields(chatAttributes)) {
		attributes = append(attributes, fmt.Sprintf("only %v of the target", ofTarget))
	}
	slices.Sort(attributes)
	status := s.Status.Code.String()
	if s.Status.Code == codes.Error {
		status += ": " + s.Status.Description
	}
	return strings.Join(attributes, " ") + "; " + status
}

// inOrder sorts the attributes before the semicolon.
func inOrder(said string) string {
	attributes, status, _ := strings.Cut(said, ";")
	words := strings.Fields(attributes)
	slices.Sort(words)
	return strings.Join(words, " ") + ";" + status
}

func TestSomeRequestsHaveNoSpan(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*metrics.Record){
		"one that is not sampled":         func(r *metrics.Record) { r.Trace.Sampled = false },
		"one that carries another's span": func(r *metrics.Record) { r.Trace = metrics.Trace{} },
		"one that never began":            func(r *metrics.Record) { r.Time.Start = 0 },
	} {
		r := but(func(r *metrics.Record) { r.Trace = sampled })
		change(r)
		if got := spansOf(t, "1.41", chat, metrics.NewSystemClock(), r); len(got) != 0 {
			t.Errorf("%s: %d spans", name, len(got))
		}
	}
}

func TestAnImpossibleRecordHasASpanThatEndsNotBeforeItsStart(t *testing.T) {
	t.Parallel()
	r := but(func(r *metrics.Record) {
		r.Trace, r.Outcome, r.Class, r.Time.End = sampled, metrics.Failure, metrics.ErrClientInternal, r.Time.Start-ms
	})
	spans := spansOf(t, "1.41", chat, metrics.NewSystemClock(), r)
	if len(spans) != 1 || !spans[0].EndTime.Equal(spans[0].StartTime) {
		t.Errorf("spans %v, want one without length", spans)
	}
}

func TestEventsOfAWholeAnswerAreThoseOfTheExchange(t *testing.T) {
	t.Parallel()
	r := but(func(r *metrics.Record) { r.Trace, r.Streaming, r.Content = sampled, false, r.Content[:1] })
	var got []string
	for _, e := range spansOf(t, "1.41", chat, metrics.NewSystemClock(), r)[0].Events {
		got = append(got, e.Name)
	}
	if diff := cmp.Diff([]string{"aiperf.request.sent"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
