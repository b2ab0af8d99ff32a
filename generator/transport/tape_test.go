package transport_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// taped sends a request for a stream and gives what is on its tape.
func taped(t *testing.T, client *transport.Client, url string, tapeBytes int, verdict func(seen) transport.Verdict) (*metrics.Tape, *result) {
	t.Helper()
	request := stream(url)
	request.Tape, request.TapeBytes = &metrics.Tape{}, tapeBytes
	r := doWith(t.Context(), client, request, verdict)
	return request.Tape, r
}

// pieces are the texts of the reads.
func pieces(tape *metrics.Tape) []string {
	var out []string
	from := 0
	for _, read := range tape.Reads {
		out = append(out, string(tape.Body[from:read.End]))
		from = read.End
	}
	return out
}

func TestTapeHasEachReadWithTheInstantOfItsEvents(t *testing.T) {
	t.Parallel()
	eachWay(t, "three reads", func(t *testing.T, way option) {
		t.Helper()
		handled := make(chan struct{}, 10)
		url := serve(t, func(p *peer) {
			p.request()
			p.send(chunkedHead + chunk(sse("a")) + chunk(sse("b")))
			p.wait(handled)
			p.wait(handled)
			p.send(chunk(sse("c")[:4]) + chunk(sse("c")[4:]))
			p.wait(handled)
			p.send(chunk(sse("[DONE]")) + lastChunk)
		})
		tape, r := taped(t, newClient(t, way), url, 1<<20, func(seen) transport.Verdict {
			handled <- struct{}{}
			return transport.Token
		})
		if err := r.failed(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{sse("a") + sse("b"), sse("c"), sse("[DONE]")}, pieces(tape)); diff != "" {
			t.Errorf("pieces (-want +got):\n%s", diff)
		}
		want := []int64{r.events[0].at, r.events[2].at, r.events[3].at}
		var got []int64
		for _, read := range tape.Reads {
			got = append(got, read.At)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("instants (-of events +of reads):\n%s", diff)
		}
		if tape.Status != http.StatusOK || tape.End != metrics.EndComplete || tape.Truncated {
			t.Errorf("status %d, end %q, truncated %v", tape.Status, tape.End, tape.Truncated)
		}
	})
}

func TestTapeTellsHowTheAnswerEnded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer func(*peer)
		stop   bool
		want   metrics.TapeEnd
		body   string
	}{
		{"with its last chunk", func(p *peer) { p.send(chunkedHead + chunk(sse("a")) + lastChunk) }, false, metrics.EndComplete, sse("a")},
		{"with its length", func(p *peer) { p.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") }, false, metrics.EndComplete, "{}"},
		{"with the connection, where nothing else ends it", func(p *peer) { p.send(streamHead + "\r\n" + sse("a")) }, false, metrics.EndComplete, sse("a")},
		{"a refusal, whole", func(p *peer) { p.send("HTTP/1.1 503 x\r\nContent-Length: 2\r\n\r\nno") }, false, metrics.EndComplete, "no"},
		{"a refusal, cut off", func(p *peer) { p.send("HTTP/1.1 503 x\r\nContent-Length: 9\r\n\r\nno") }, false, metrics.EndCut, "no"},
		{"between two chunks", func(p *peer) { p.send(chunkedHead + chunk(sse("a"))) }, false, metrics.EndCut, sse("a")},
		{"inside a chunk", func(p *peer) { p.send(chunkedHead + "ff\r\ndata: a") }, false, metrics.EndCut, "data: a"},
		{"before it began", func(*peer) {}, false, metrics.EndCut, ""},
		{"with a reset", func(p *peer) {
			p.send(chunkedHead + chunk(sse("a")))
			_ = p.tcp.SetLinger(0)
		}, false, metrics.EndReset, sse("a")},
		{"with a chunk that is none", func(p *peer) { p.send(chunkedHead + chunk(sse("a")) + "no\r\n") }, false, metrics.EndMalformed, sse("a")},
		{"with something that is not HTTP", func(p *peer) { p.send("SSH-2.0") }, false, metrics.EndMalformed, ""},
		{"with silence", func(p *peer) {
			p.send(chunkedHead + chunk(sse("a")))
			_, _ = p.in.Peek(1)
		}, false, metrics.EndSilence, sse("a")},
		{"because nothing more was wanted", func(p *peer) {
			p.send(chunkedHead + chunk(sse("a")))
			_, _ = p.in.Peek(1)
		}, true, metrics.EndStopped, sse("a")},
		{"because it is encoded", func(p *peer) { p.send(streamHead + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx") }, false, metrics.EndStopped, ""},
	}
	for _, tt := range tests {
		eachWay(t, tt.name, func(t *testing.T, way option) {
			t.Helper()
			url := serve(t, func(p *peer) {
				p.request()
				tt.answer(p)
			})
			client := newClient(t, way, func(c *transport.Config) {
				if tt.want == metrics.EndSilence { // a machine that stands still must not be taken for it
					c.Timeouts.Idle = 50 * time.Millisecond
				}
			})
			tape, _ := taped(t, client, url, 1<<20, func(seen) transport.Verdict {
				if tt.stop {
					return transport.Stop
				}
				return transport.Token
			})
			if tape.End != tt.want {
				t.Errorf("end %q, want %q", tape.End, tt.want)
			}
			if string(tape.Body) != tt.body {
				t.Errorf("body %q, want %q", tape.Body, tt.body)
			}
			if n := len(tape.Reads); tt.body != "" && (n == 0 || tape.Reads[n-1].End != len(tape.Body)) {
				t.Errorf("the reads %v do not cover the %d bytes of the body", tape.Reads, len(tape.Body))
			}
		})
	}
}

func TestTapeOverHTTP2EndsAsTheStreamDoes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   metrics.TapeEnd
	}{
		"whole": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }, metrics.EndComplete},
		"reset": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "{}")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, metrics.EndReset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, over2 := serveHTTP2(t, tt.answer)
			tape, r := taped(t, newClient(t, over2), url, 1<<20, nil)
			if tape.End != tt.want || string(tape.Body) != "{}" || len(tape.Reads) != 1 {
				t.Errorf("end %q, body %q, %d reads (%v), want %q", tape.End, tape.Body, len(tape.Reads), r.Err, tt.want)
			}
		})
	}
}

func TestTapeHasWhatWasAskedButNoCredential(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(c *transport.Config) {
		c.Credential = func() (string, string, error) { return "X-Mine", "planted-secret", nil }
	})
	url := serve(t, answering(wholeAnswer, false))
	tape, r := taped(t, client, strings.Replace(url, "http://", "http://planted:secret@", 1)+"/v1/x?key=planted", 1<<20, nil)
	if err := r.failed(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%+v", tape); strings.Contains(got, "planted") {
		t.Errorf("the tape holds a credential: %s", got)
	}
	if tape.Method != http.MethodPost || tape.URL != url+"/v1/x" || string(tape.RequestBody) != `{"stream":true}` || tape.RequestHeader["Accept-Encoding"] == nil {
		t.Errorf("got %+v", tape)
	}
}

func TestTapeKeepsNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 100)
	url := serve(t, answering(chunkedHead+chunk(body)+lastChunk, false))
	for limit, want := range map[int]int{1 << 10: 100, 100 + metrics.TapeReadBytes: 100, 99 + metrics.TapeReadBytes: 99, metrics.TapeReadBytes: 0, 5: 0} {
		tape, r := taped(t, newClient(t), url, limit, nil)
		if err := r.failed(); err != nil {
			t.Error(err)
		}
		if len(tape.Body) != want || tape.Truncated != (want < 100) || (want == 0) != (len(tape.Reads) == 0) {
			t.Errorf("of %d bytes: %d, %d reads, truncated %v, want %d", limit, len(tape.Body), len(tape.Reads), tape.Truncated, want)
		}
		if len(tape.RequestBody) > limit {
			t.Errorf("%d bytes of the request, %d are allowed", len(tape.RequestBody), limit)
		}
		if r.BodyBytes != 100 {
			t.Errorf("%d bytes were counted, want all 100", r.BodyBytes)
		}
	}
}

// It counts the allocations of the whole process, so it does not run beside others.
func TestAReadOnATapeThatHasRoomAllocatesNothing(t *testing.T) {
	url, next := pacedServer(t, sse(strings.Repeat("x", 240)))
	client := newClient(t, keepAlive)
	handler := &paced{next: next}
	tape := &metrics.Tape{}
	allocations := func(events int) uint64 {
		record := func() {
			tape.Erase()
			var timeline metrics.Timeline
			handler.events = 0
			answer := client.Do(t.Context(), &transport.Request{
				URL: url, Header: http.Header{}, Body: make([]byte, events), Stream: true, Tape: tape, TapeBytes: 1 << 20,
			}, &timeline, handler)
			if answer.Err != nil || len(tape.Reads) < events {
				t.Fatalf("%d reads of %d: %v", len(tape.Reads), events, answer.Err)
			}
		}
		record()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			record()
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	const more = 300
	few, many := allocations(10), allocations(10+more)
	if perRead := (float64(many) - float64(few)) / (10 * more); perRead > 0.1 {
		t.Errorf("%.3f allocations for each read, want 0", perRead)
	}
}

// BenchmarkTape is BenchmarkStream with events of 250 bytes, with a tape and without.
func BenchmarkTape(b *testing.B) {
	const events = 200
	for name, tape := range map[string]*metrics.Tape{"off": nil, "on": {}} {
		b.Run(name, func(b *testing.B) {
			url, next := pacedServer(b, sse(strings.Repeat("x", 242)))
			client := newClient(b, keepAlive, readTimes)
			handler := &paced{next: next}
			request := &transport.Request{URL: url, Header: http.Header{}, Body: make([]byte, events), Stream: true, Tape: tape, TapeBytes: 1 << 20}
			b.ReportAllocs()
			for b.Loop() {
				if tape != nil {
					tape.Erase()
				}
				handler.events = 0
				var timeline metrics.Timeline
				if answer := client.Do(b.Context(), request, &timeline, handler); answer.Err != nil {
					b.Fatal(answer.Err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
			client.Close()
		})
	}
}
