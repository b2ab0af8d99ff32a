package endpoint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The whole answers under testdata/answers/TYPE: NAME.sse is a stream byte for byte, NAME.txt what it means, and NAME.json, where there is one, the
// same answer in one piece.
type wholeAnswer struct {
	path   string // without the extension
	codec  Codec
	stream []byte
}

func wholeAnswers(tb testing.TB) []wholeAnswer {
	tb.Helper()
	paths, err := filepath.Glob("testdata/answers/*/*.sse")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no answers: %v", err)
	}
	answers := make([]wholeAnswer, len(paths))
	for i, path := range paths {
		stream, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		codec := newCodec(tb, Config{Type: Type(filepath.Base(filepath.Dir(path))), MaxTokensField: FieldAuto})
		answers[i] = wholeAnswer{strings.TrimSuffix(path, ".sse"), codec, stream}
	}
	return answers
}

// heard is what came out of an answer, as the generator puts it together.
type heard struct {
	Events     []string // what each event means
	Outcome    string
	Content    int
	Finish     metrics.FinishReason
	Model      string
	Usage      metrics.Usage
	Transcript answer.Transcript

	terminal          bool
	failed, malformed error
}

func (h *heard) note(c *Chunk, err error, cut bool) {
	h.Events = append(h.Events, meaning(c, err))
	switch {
	case err != nil && cut:
		return
	case err != nil:
		h.malformed = err
		return
	case c.Err != nil:
		h.failed = fmt.Errorf("%s", failure(c.Err))
		return
	}
	if c.Content() {
		h.Content++
	}
	h.terminal = h.terminal || c.Terminal
	if c.Finish != "" {
		h.Finish = c.Finish
	}
	if c.Model != "" {
		h.Model = c.Model
	}
	if !c.Usage.Empty() {
		h.Usage = c.Usage
	}
}

func (h *heard) end() {
	switch {
	case h.failed != nil:
		h.Outcome = "stream_error: " + h.failed.Error()
	case h.malformed != nil:
		h.Outcome = "parse_error: " + h.malformed.Error()
	case !h.terminal:
		h.Outcome = "truncated"
	case h.Content == 0:
		h.Outcome = "empty"
	default:
		h.Outcome = "ok"
	}
}

// text writes what came out so that a person can check it.
func (h *heard) text() []byte {
	var out bytes.Buffer
	for _, event := range h.Events {
		fmt.Fprintln(&out, event)
	}
	tr := &h.Transcript
	end := Chunk{Finish: h.Finish, Model: h.Model, Usage: h.Usage}
	fmt.Fprintf(&out, "= %s, %d content events, %s\n", h.Outcome, h.Content, meaning(&end, nil))
	fmt.Fprintf(&out, "id %q\ntext %q\nreasoning %q\n", tr.ID, tr.Text, tr.Reasoning)
	for _, call := range tr.Tools {
		fmt.Fprintf(&out, "tool %q %s %s\n", call.ID, call.Name, call.Arguments)
	}
	for _, l := range tr.Logprobs {
		fmt.Fprintf(&out, "logprob %q %v, of %v\n", l.Token, l.Value, l.Top)
	}
	return out.Bytes()
}

// hear plays a stream that arrives in these reads and ends cleanly after them.
func (a *wholeAnswer) hear(t *testing.T, reads ...[]byte) *heard {
	t.Helper()
	var h heard
	decoder := a.codec.Decoder(&h.Transcript)
	framer := transport.NewFramer(1 << 20)
	take := func(next func(*transport.Event) (bool, error)) {
		for {
			var ev transport.Event
			ok, err := next(&ev)
			if err != nil {
				t.Fatal(err)
			}
			if !ok || h.failed != nil {
				return
			}
			if !ev.Comment {
				var c Chunk
				err := decoder.Event(ev.Name, ev.Data, &c)
				h.note(&c, err, ev.Cut)
			}
		}
	}
	for i, read := range reads {
		framer.Write(read, int64(i), int64(i))
		take(framer.Next)
	}
	take(framer.Close)
	h.end()
	return &h
}

func TestWholeAnswersMeanWhatTheGoldenFilesSay(t *testing.T) {
	t.Parallel()
	for _, a := range wholeAnswers(t) {
		t.Run(a.path, func(t *testing.T) {
			t.Parallel()
			compareGolden(t, a.path+".txt", a.hear(t, a.stream).text())
		})
	}
}

func TestAnswerInOnePieceSaysTheSameAsTheStream(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, a := range wholeAnswers(t) {
		body, err := os.ReadFile(a.path + ".json")
		if err != nil {
			continue
		}
		compared++
		var whole heard
		var c Chunk
		err = a.codec.Decoder(&whole.Transcript).Body(body, &c)
		whole.note(&c, err, false)
		whole.end()
		stream := a.hear(t, a.stream)
		want := []any{stream.Outcome, stream.Finish, stream.Model, stream.Usage, stream.Transcript}
		got := []any{whole.Outcome, whole.Finish, whole.Model, whole.Usage, whole.Transcript}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-stream +whole):\n%s", a.path, diff)
		}
		if c.Text != (len(whole.Transcript.Text) > 0) || c.Reasoning != (len(whole.Transcript.Reasoning) > 0) || c.Tool != (len(whole.Transcript.Tools) > 0) {
			t.Errorf("%s: what is kept is not what is told: %s", a.path, meaning(&c, nil))
		}
	}
	if compared < 10 {
		t.Errorf("only %d answers are there in both forms", compared)
	}
}

func TestAnswersDoNotDependOnReads(t *testing.T) {
	t.Parallel()
	for _, a := range wholeAnswers(t) {
		t.Run(a.path, func(t *testing.T) {
			t.Parallel()
			want := a.hear(t, a.stream)
			single := make([][]byte, len(a.stream))
			for i := range a.stream {
				single[i] = a.stream[i : i+1]
				if got := a.hear(t, a.stream[:i], a.stream[i:]); !reflect.DeepEqual(want, got) {
					t.Fatalf("cut in two at byte %d: %+v", i, got)
				}
			}
			if got := a.hear(t, single...); !reflect.DeepEqual(want, got) {
				t.Errorf("byte by byte: %+v", got)
			}
		})
	}
}

// An answer that was cut off before the event that ends it must never look complete.
func TestAnswerCutOffBeforeItsEndIsNeverASuccess(t *testing.T) {
	t.Parallel()
	for _, a := range wholeAnswers(t) {
		if a.hear(t, a.stream).Outcome != "ok" {
			continue
		}
		t.Run(a.path, func(t *testing.T) {
			t.Parallel()
			end := a.terminalEvent(t)
			for n := range end {
				got := a.hear(t, a.stream[:n]).Outcome
				if got != "truncated" && !strings.HasPrefix(got, "stream_error") {
					t.Fatalf("cut off after %d bytes of %d: %s\n%s", n, end, got, a.stream[:n])
				}
			}
			if got := a.hear(t, a.stream[:end]).Outcome; got != "ok" {
				t.Errorf("with the event that ends it: %s", got)
			}
		})
	}
}

// terminalEvent is the offset behind the data of the first event that ends the answer.
func (a *wholeAnswer) terminalEvent(t *testing.T) int {
	t.Helper()
	decoder := a.codec.Decoder(nil)
	var offset int
	var name []byte
	for line := range bytes.Lines(a.stream) {
		offset += len(line)
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			name = value
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			var c Chunk
			if err := decoder.Event(name, data, &c); err != nil {
				t.Fatal(err)
			}
			if c.Terminal {
				return bytes.LastIndexByte(a.stream[:offset], '}') + 1
			}
		}
	}
	t.Fatal("no event ends the answer")
	return 0
}
