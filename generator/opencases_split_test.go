package generator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// scriptStart is the instant of t=0 where no server runs.
const scriptStart = int64(time.Hour)

// readsOf are the reads of a script whose every step arrives at once, in one read.
func readsOf(s script) []step {
	return slices.DeleteFunc(slices.Clone(s.steps), func(s step) bool { return s.bytes == "" })
}

// cut splits the read that holds the byte at offset in two, which arrive at the same instant.
func cut(reads []step, offset int) []step {
	var out []step
	for _, p := range reads {
		if offset > 0 && offset < len(p.bytes) {
			out = append(out, step{p.at, p.bytes[:offset]}, step{p.at, p.bytes[offset:]})
		} else {
			out = append(out, p)
		}
		offset -= len(p.bytes)
	}
	return out
}

// playback plays streams to the framer and the assembler of records, without sockets.
type playback struct {
	codec       endpoint.Codec
	framer      *transport.Framer
	inputTokens int
}

func newPlayback(t *testing.T, tc *openCase) *playback {
	t.Helper()
	config := newRig(t, "http://unused").config
	if tc.configure != nil {
		tc.configure(&config)
	}
	codec, err := endpoint.New(config.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return &playback{codec, transport.NewFramer(int(config.Client.MaxEventBytes)), int(config.Workload.InputTokens.Mean)}
}

// play makes the record of a stream that ends cleanly after the last read.
func (p *playback) play(reads []step) *metrics.Record {
	r := &metrics.Record{Time: metrics.Timeline{Sched: scriptStart, Issue: scriptStart, Start: scriptStart, Sent: scriptStart}}
	answer := transport.Answer{Status: 200, Stream: true, ConnObtained: true}
	p.framer.Reset()
	generator.Play(p.codec, r, &answer, p.inputTokens, func(handler transport.Handler) {
		var ev transport.Event
		deliver := func(next func(*transport.Event) (bool, error)) bool {
			for {
				ok, err := next(&ev)
				if err != nil {
					answer.Class, answer.Err = metrics.ErrResponseTooLarge, err
					return false
				}
				if !ok {
					return true
				}
				if handler.Event(&ev) == transport.Stop {
					return false
				}
			}
		}
		for i, read := range reads {
			r.Time.End = scriptStart + int64(read.at)
			p.framer.Write([]byte(read.bytes), r.Time.End, int64(i))
			if !deliver(p.framer.Next) {
				return
			}
		}
		deliver(p.framer.Close)
	})
	return r
}

// small makes a case whose stream can be cut at each of its bytes: the long line keeps only a part of its length.
func (tc openCase) small() openCase {
	if bytesOf(tc.script) == bytesOf(longLine(longText)) {
		tc.script = longLine(longText[:3000])
		if tc.want.Class == metrics.ErrResponseTooLarge {
			tc.configure = func(cfg *generator.TargetConfig) { cfg.Client.MaxEventBytes = 2000 }
		}
	}
	return tc
}

func TestOpenCasesHaveExactFiguresWithoutSockets(t *testing.T) {
	t.Parallel()
	for _, tc := range openCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newPlayback(t, &tc).play(readsOf(tc.script))
			if diff := cmp.Diff(tc.want, figuresOf(r), approximately); diff != "" {
				t.Errorf("figures (-want +got):\n%s\ndetail: %s", diff, r.Detail)
			}
			if reason := metrics.Invalid(r); reason != "" {
				t.Errorf("the record is refused: %s", reason)
			}
		})
	}
}

// TestOpenCasesDoNotDependOnReads cuts each stream at each byte, and into single bytes. Only the number of events that share a read may
// differ.
func TestOpenCasesDoNotDependOnReads(t *testing.T) {
	t.Parallel()
	for _, tc := range openCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			small := tc.small()
			p := newPlayback(t, &small)
			reads := readsOf(small.script)
			want := p.play(reads)
			check := func(how string, at int, reads []step) {
				t.Helper()
				got := p.play(reads)
				got.Coalesced = want.Coalesced
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s %d (-want +got):\n%s", how, at, diff)
				}
			}
			for i := 1; i < len(bytesOf(small.script)); i++ {
				check("cut at byte", i, cut(reads, i))
			}
			var single []step
			for _, p := range reads {
				for i := range len(p.bytes) {
					single = append(single, step{p.at, p.bytes[i : i+1]})
				}
			}
			check("single bytes, all", len(single), single)
		})
	}
}

// TestOpenCasesCutShortAreNoSuccess ends each stream cleanly at each byte. As long as no terminal event has come whole, that is a truncated
// stream: the end is nobody's protocol error, and an answer that lacks a part must not pass for one.
func TestOpenCasesCutShortAreNoSuccess(t *testing.T) {
	t.Parallel()
	for _, tc := range openCases {
		if tc.want.Outcome != metrics.Success {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			small := tc.small()
			p := newPlayback(t, &small)
			whole := bytesOf(small.script)
			terminal := terminalEnd(t, whole)
			for n := range len(whole) {
				r := p.play(prefix(readsOf(small.script), n))
				outcome, class := metrics.Failure, metrics.ErrTruncated
				if n >= terminal {
					outcome, class = metrics.Success, ""
				}
				if r.Outcome != outcome || r.Class != class {
					t.Fatalf("ended at byte %d (…%q): %s %q, want %s %q\ndetail: %s", n, whole[max(0, n-20):n], r.Outcome, r.Class, outcome, class, r.Detail)
				}
			}
		})
	}
}

// terminalEnd is the offset behind the data of the first event with a finish reason, or the end marker.
func terminalEnd(t *testing.T, stream string) int {
	t.Helper()
	at := -1
	for _, mark := range []string{`"finish_reason":"`, "[DONE]"} {
		if i := strings.Index(stream, mark); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at < 0 {
		t.Fatal("the stream has no terminal event")
	}
	return at + strings.IndexAny(stream[at:], "\r\n")
}

// prefix keeps the first n bytes of a stream.
func prefix(reads []step, n int) []step {
	var out []step
	for _, p := range reads {
		if n < len(p.bytes) {
			return append(out, step{p.at, p.bytes[:n]})
		}
		out = append(out, p)
		n -= len(p.bytes)
	}
	return out
}
