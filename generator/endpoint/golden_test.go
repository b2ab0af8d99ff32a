package endpoint

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenStream is one file under testdata/streams/TYPE: what servers send, and below each line what it means.
//
//	# comment
//	data DATA         an event without a name
//	event NAME DATA   an event with one
//	body DATA         a whole answer
//	answer            what follows belongs to another answer
//	  -> MEANING
type goldenStream struct {
	endpoint Type
	path     string
	lines    []string // without the meanings
}

// input is a line that is decoded.
type input struct {
	body       bool
	name, data []byte
}

func parseInput(line string) (in input, ok bool) {
	kind, data, _ := strings.Cut(line, " ")
	switch kind {
	case "data":
	case "event":
		var name string
		name, data, _ = strings.Cut(data, " ")
		in.name = []byte(name)
	case "body":
		in.body = true
	default:
		return input{}, false
	}
	in.data = []byte(data)
	return in, true
}

// inputs returns what is decoded, in order.
func (g *goldenStream) inputs() []input {
	var ins []input
	for _, line := range g.lines {
		if in, ok := parseInput(line); ok {
			ins = append(ins, in)
		}
	}
	return ins
}

func goldenStreams(tb testing.TB) []goldenStream {
	tb.Helper()
	paths, err := filepath.Glob("testdata/streams/*/*.txt")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no golden streams: %v", err)
	}
	streams := make([]goldenStream, len(paths))
	for i, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		streams[i] = goldenStream{endpoint: Type(filepath.Base(filepath.Dir(path))), path: path}
		for line := range strings.Lines(string(content)) {
			if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "  -> ") {
				streams[i].lines = append(streams[i].lines, line)
			}
		}
	}
	return streams
}

func newCodec(tb testing.TB, cfg Config) Codec {
	tb.Helper()
	codec, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return codec
}

func decode(decoder Decoder, in input) (Chunk, error) {
	var c Chunk
	if in.body {
		return c, decoder.Body(in.data, &c)
	}
	return c, decoder.Event(in.name, in.data, &c)
}

func TestServersStreamsMeanWhatTheGoldenFilesSay(t *testing.T) {
	t.Parallel()
	for _, stream := range goldenStreams(t) {
		t.Run(stream.path, func(t *testing.T) {
			t.Parallel()
			codec := newCodec(t, Config{Type: stream.endpoint, MaxTokensField: FieldAuto})
			var got bytes.Buffer
			decoder := codec.Decoder(nil)
			for _, line := range stream.lines {
				fmt.Fprintln(&got, line)
				if line == "answer" {
					decoder = codec.Decoder(nil)
				}
				if in, ok := parseInput(line); ok {
					c, err := decode(decoder, in)
					fmt.Fprintf(&got, "  -> %s\n", meaning(&c, err))
				}
			}
			compareGolden(t, stream.path, got.Bytes())
		})
	}
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// meaning writes a chunk so that a person can check it.
func meaning(c *Chunk, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var words []string
	for _, kind := range []struct {
		set  bool
		word string
	}{{c.Text, "text"}, {c.Reasoning, "reasoning"}, {c.Tool, "tool"}, {c.Done, "done"}, {c.Terminal, "terminal"}} {
		if kind.set {
			words = append(words, kind.word)
		}
	}
	if c.Finish != "" {
		words = append(words, "finish="+string(c.Finish))
	}
	if c.Model != "" {
		words = append(words, "model="+c.Model)
	}
	if c.Fingerprint != "" {
		words = append(words, "fingerprint="+c.Fingerprint)
	}
	if c.Items > 0 {
		words = append(words, fmt.Sprintf("items=%d", c.Items))
	}
	if c.Partial {
		words = append(words, "partial")
	}
	for _, count := range []struct {
		name string
		n    metrics.Count
	}{
		{"input", c.Usage.Input},
		{"output", c.Usage.Output},
		{"reasoning", c.Usage.Reasoning},
		{"cached", c.Usage.CachedInput},
		{"written", c.Usage.CacheWrite},
	} {
		if count.n.Known {
			words = append(words, fmt.Sprintf("%s=%d", count.name, count.n.N))
		}
	}
	if c.Err != nil {
		words = append(words, "failure "+failure(c.Err))
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, " ")
}

func failure(e *ServerError) string {
	return fmt.Sprintf("message=%q type=%q code=%q param=%q", e.Message, e.Type, e.Code, e.Param)
}

func TestGoldenStreamsAreReadAsByTheReference(t *testing.T) {
	t.Parallel()
	for _, stream := range goldenStreams(t) {
		if references[stream.endpoint] == nil {
			continue
		}
		decoder := newCodec(t, Config{Type: stream.endpoint, MaxTokensField: FieldAuto}).Decoder(nil)
		reference := references[stream.endpoint]()
		for _, in := range stream.inputs() {
			if len(in.name) > 0 { // the reference goes by the data alone
				in.name = nil
			}
			got, gotErr := decode(decoder, in)
			var want Chunk
			var wantErr error
			if in.body {
				want, wantErr = reference.body(in.data)
			} else {
				want, wantErr = reference.event(in.data)
			}
			compareDecoded(t, string(in.data), got, want, gotErr, wantErr)
		}
	}
}

// A stream that is cut anywhere must never look complete.
func TestEventCutAtAnyByteIsAnErrorAndSaysNothing(t *testing.T) {
	t.Parallel()
	for _, stream := range goldenStreams(t) {
		decoder := newCodec(t, Config{Type: stream.endpoint, MaxTokensField: FieldAuto}).Decoder(nil)
		for _, in := range stream.inputs() {
			if whole, err := decode(decoder, in); err != nil || whole.Err != nil || len(bytes.TrimSpace(in.data)) == 0 {
				continue
			}
			data := bytes.TrimSpace(in.data)
			if data[0] != '{' && data[0] != '[' {
				continue // not JSON: text that a server sends as it is
			}
			for n := 1; n < len(data); n++ {
				got, err := decode(decoder, input{body: in.body, data: data[:n]})
				if err == nil || got != (Chunk{}) {
					t.Fatalf("%s: %q: got %s", stream.path, data[:n], meaning(&got, err))
				}
			}
		}
	}
}

func TestAnyKindOfTokenIsContent(t *testing.T) {
	t.Parallel()
	for want, chunks := range map[bool][]Chunk{
		true:  {{Text: true}, {Reasoning: true}, {Tool: true}},
		false: {{}, {Terminal: true, Done: true}, {Usage: metrics.Usage{Output: metrics.Tokens(1)}}},
	} {
		for _, c := range chunks {
			if got := c.Content(); got != want {
				t.Errorf("Content of %s is %v, want %v", meaning(&c, nil), got, want)
			}
		}
	}
}
