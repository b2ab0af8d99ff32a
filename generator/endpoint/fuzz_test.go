package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
)

// fuzzSeeds are inputs near the edges of JSON and of the protocol; the golden streams are added to them.
func fuzzSeeds(tb testing.TB) []string {
	tb.Helper()
	seeds := []string{
		``, ` `, `[DONE]`, " [DONE]\r\n", `null`, `[]`, `{}`, `{"choices":[]}`, `{"choices":{}}`, `{"choices":[null,1,"x",[]]}`,
		`{"choices":[{"delta":{"content":"a"}}],"choices":[]}`, `{"choices":[],"choices":[{"message":{"content":"a"},"text":"b"}]}`,
		`{"choices":[{"delta":{"content":"a","content":""},"delta":null,"finish_reason":"stop","finish_reason":7}]}`,
		`{"\u0063hoices":[{"delt\u0061":{"content":"\u0000"}}]}`, `{"choices":[{"delta":{"content":"\ud800"}}]}`,
		"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}],\"model\":\"\xff\\n\"}", `{"a":"\x"}`, `{"a":"\u00Ef"}`, `{"a":"\u12g4"}`, "{\"a\":\"\t\"}",
		"{\"model\":\"\xff\xfe\",\"choices\":[{\"finish_reason\":\"stop\"}]}", `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`, `{"a":1e+5,"b":-0.5E-7}`, `{"a":tru}`, `{"a" 1}`, `{"a":1,}`, `[1,]`, `{,}`,
		`{"error":0}`, `{"error":0.0}`, `{"error":{}}`, `{"error":{"message":{"detail":[{"loc":["body",1],"msg":"m"}]}}}`,
		`{"error":true,"message":"m"}`, `{"object":"error","message":"m","code":40}`, `{"usage":{"prompt_tokens":1e3,"input_tokens":-2}}`,
		`{"usage":{"prompt_tokens":99999999999999999999,"completion_tokens":12.5,"input_tokens":3}}`, `{"usage":{"prompt_tokens":null}}`,
		`{"usage":{"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":5,"output_tokens":0}}`,
		`{"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"thoughtsTokenCount":3,"cachedContentTokenCount":4}}`,
		`{"usage":{},"meta":{"tokens":{"inputTokens":1,"cacheReadInputTokens":2,"cacheWriteInputTokens":3}},"tokens":{"output_tokens":1}}`,
		`{"model":"` + strings.Repeat("é", 200) + `","choices":[{"finish_reason":"eos_token"}]}`,
		strings.Repeat("[", maxDepth+1), `{"a":` + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + `}`,
		`{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`,
	}
	for _, stream := range goldenStreams(tb) {
		for _, in := range stream.inputs() {
			seeds = append(seeds, string(in.data))
		}
	}
	return seeds
}

func FuzzDecodeChat(f *testing.F)        { fuzzDecode(f, Chat) }
func FuzzDecodeCompletions(f *testing.F) { fuzzDecode(f, Completions) }
func FuzzDecodeResponses(f *testing.F)   { fuzzDecode(f, Responses) }
func FuzzDecodeMessages(f *testing.F)    { fuzzDecode(f, Messages) }

// fuzzDecode compares a codec with the reference decoder on arbitrary bytes: as an event, as events line by line, and as a whole answer. What
// is kept of an answer must not change what is said about it.
func fuzzDecode(f *testing.F, name Type) {
	f.Helper()
	for _, seed := range fuzzSeeds(f) {
		f.Add([]byte(seed))
	}
	for _, stream := range goldenStreams(f) {
		if stream.endpoint == name {
			var lines []byte
			for _, in := range stream.inputs() {
				lines = append(append(lines, in.data...), '\n')
			}
			f.Add(lines)
		}
	}
	codec := newCodec(f, Config{Type: name, MaxTokensField: FieldAuto})
	f.Fuzz(func(t *testing.T, data []byte) {
		decoder, keeper, reference := codec.Decoder(nil), codec.Decoder(&answer.Transcript{}), references[name]()
		event := func(what string, data []byte) {
			var got, kept Chunk
			gotErr := decoder.Event(nil, data, &got)
			want, wantErr := reference.event(data)
			compareDecoded(t, what, got, want, gotErr, wantErr)
			keptErr := keeper.Event(nil, data, &kept)
			compareDecoded(t, what+", kept", kept, want, keptErr, wantErr)
		}
		event("event", data)
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			event("line", line)
		}
		var got, kept Chunk
		gotErr := decoder.Body(data, &got)
		want, wantErr := reference.body(data)
		compareDecoded(t, "body", got, want, gotErr, wantErr)
		keptErr := keeper.Body(data, &kept)
		compareDecoded(t, "body, kept", kept, want, keptErr, wantErr)
	})
}

func compareDecoded(t *testing.T, what string, got, want Chunk, gotErr, wantErr error) {
	t.Helper()
	if (gotErr != nil) != (wantErr != nil) {
		t.Fatalf("%s: error is %v, want %v", what, gotErr, wantErr)
	}
	if protocol := (*ProtocolError)(nil); gotErr != nil && !errors.As(gotErr, &protocol) {
		t.Fatalf("%s: error %v is not a ProtocolError", what, gotErr)
	}
	same := got
	if got.Err != nil && want.Err != nil && *got.Err == *want.Err {
		same.Err = want.Err
	}
	if same != want { // cmp on each of a million inputs would be most of the work
		t.Fatalf("%s differs from the reference (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}

// FuzzScanner holds the scanner against json.Valid for values of every kind, not only objects.
func FuzzScanner(f *testing.F) {
	for _, seed := range fuzzSeeds(f) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanner{data: data}
		s.skip()
		err := s.end()
		if want := json.Valid(data) && referenceDepth(data) <= maxDepth; (err == nil) != want {
			t.Fatalf("valid is %v (%v), want %v", err == nil, err, want)
		}
	})
}

func FuzzDecodeError(f *testing.F) {
	for _, seed := range append(fuzzSeeds(f), `<html><head><title>502 Bad&nbsp;Gateway</title>`, `{"detail":[{"loc":[1,"a"],"msg":"m"},null]}`) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e := DecodeError(data)
		if len(e.Message) > maxMessageBytes || len(e.Type) > maxWordBytes || len(e.Code) > maxWordBytes || len(e.Param) > maxWordBytes {
			t.Fatalf("too long: %d %d %d %d", len(e.Message), len(e.Type), len(e.Code), len(e.Param))
		}
		if again := DecodeError(data); *again != *e {
			t.Fatalf("second reading differs: %v, %v", e, again)
		}
	})
}
