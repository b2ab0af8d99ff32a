package endpoint_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint/endpointtest"
)

// meant is what a reference decoder makes of an answer: slow and obviously right, by maps.
type meant struct {
	Error, Failure, Partial bool
	Items                   int
	Text                    string
}

// reference reads an answer of a type, as an event or whole.
func reference(of endpoint.Type, body bool, data []byte) meant {
	if !json.Valid(data) || endpoint.ReferenceDepth(data) > 512 {
		return meant{Error: true}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return meant{Error: true}
	}
	list, isList := value.([]any)
	if isList && of == endpoint.TEIRankings {
		return meant{Items: objects(list)}
	}
	if isList && of == endpoint.TGI && body {
		return referenceTGIList(list)
	}
	root, isObject := value.(map[string]any)
	if !isObject {
		return meant{Error: true}
	}
	m, known := references[of](body, root)
	if endpoint.ReferenceTruthy(root["error"]) || root["object"] == "error" {
		m.Failure = true
		return m
	}
	if !known {
		return meant{Error: true}
	}
	return m
}

// referenceTGIList takes the first answer of a list.
func referenceTGIList(list []any) meant {
	found, failed := meant{Error: true}, false
	var kind any
	for _, e := range list {
		root, ok := e.(map[string]any)
		if !ok {
			return meant{Error: true}
		}
		if e, ok := root["error"]; ok {
			failed = endpoint.ReferenceTruthy(e)
		}
		if k, ok := root["object"]; ok {
			kind = k
		}
		if text, ok := root["generated_text"].(string); ok && found.Error {
			found = meant{Text: text}
		}
	}
	if failed || kind == "error" {
		return meant{Failure: true}
	}
	return found
}

// references read the root object of an answer, by type. known tells that it has what makes it the protocol.
var references = map[endpoint.Type]func(body bool, root map[string]any) (m meant, known bool){
	endpoint.Embeddings: func(_ bool, root map[string]any) (m meant, known bool) {
		data, known := root["data"].([]any)
		for _, e := range data {
			if o, _ := e.(map[string]any); isVector(o["embedding"]) {
				m.Items++
			}
		}
		return m, known
	},
	endpoint.TEIRankings: func(_ bool, root map[string]any) (m meant, known bool) {
		rankings, ok1 := root["rankings"].([]any)
		results, ok2 := root["results"].([]any)
		return meant{Items: objects(rankings) + objects(results)}, ok1 || ok2
	},
	endpoint.ImageRetrieval: func(_ bool, root map[string]any) (m meant, known bool) {
		data, known := root["data"].([]any)
		return meant{Items: objects(data)}, known
	},
	endpoint.ImageGeneration: referenceImages,
	endpoint.TGI: func(body bool, root map[string]any) (m meant, known bool) {
		if body {
			m.Text, known = root["generated_text"].(string)
			return m, known
		}
		if token, _ := root["token"].(map[string]any); !endpoint.ReferenceTruthy(token["special"]) {
			m.Text, _ = token["text"].(string)
		}
		return m, true
	},
	endpoint.TritonGenerate: func(body bool, root map[string]any) (m meant, known bool) {
		m.Text, known = firstString(root["text_output"])
		return m, known || !body
	},
	endpoint.KServe: func(_ bool, root map[string]any) (m meant, known bool) {
		outputs, _ := root["outputs"].([]any)
		for _, e := range outputs {
			o, _ := e.(map[string]any)
			if text, ok := firstString(o["data"]); ok && o["name"] == "text_output" {
				m.Text, known = text, true
			}
		}
		return m, known
	},
	endpoint.SolidoRAG: func(body bool, root map[string]any) (m meant, known bool) {
		m.Text, known = root["content"].(string)
		return m, known || !body
	},
}

func referenceImages(body bool, root map[string]any) (m meant, known bool) {
	data, known := root["data"].([]any)
	for _, e := range data {
		if o, _ := e.(map[string]any); isImage(o) {
			m.Items++
		}
	}
	if body {
		return m, known
	}
	if isImage(root) {
		m.Items++
		kind, _ := root["type"].(string)
		whole := endpoint.ReferenceCount(root["partial_image_index"]).Known
		m.Partial = strings.HasSuffix(kind, ".partial_image") || whole && !strings.HasSuffix(kind, ".completed")
	}
	return m, true
}

func isImage(o map[string]any) bool {
	inline, _ := o["b64_json"].(string)
	url, _ := o["url"].(string)
	return inline != "" || url != ""
}

func firstString(v any) (string, bool) {
	if s, ok := v.(string); ok {
		return s, true
	}
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			return s, true
		}
	}
	return "", false
}

// isVector tells a list of numbers, a list of vectors, or a string that holds floats.
func isVector(v any) bool {
	if s, ok := v.(string); ok {
		return s != "" && len(s)%4 == 0
	}
	list, _ := v.([]any)
	numbers := 0
	for _, e := range list {
		if _, ok := e.(json.Number); ok {
			numbers++
		} else if !isVector(e) {
			return false
		}
	}
	return len(list) > 0 && (numbers == 0 || numbers == len(list))
}

func objects(list []any) int {
	n := 0
	for _, e := range list {
		if _, ok := e.(map[string]any); ok {
			n++
		}
	}
	return n
}

func FuzzDecodeEmbeddings(f *testing.F) { fuzzOther(f, endpoint.Config{Type: endpoint.Embeddings}) }
func FuzzDecodeRankings(f *testing.F)   { fuzzOther(f, endpoint.Config{Type: endpoint.TEIRankings}) }
func FuzzDecodeTGI(f *testing.F)        { fuzzOther(f, endpoint.Config{Type: endpoint.TGI}) }
func FuzzDecodeTriton(f *testing.F)     { fuzzOther(f, endpoint.Config{Type: endpoint.TritonGenerate}) }
func FuzzDecodeKServe(f *testing.F)     { fuzzOther(f, endpoint.Config{Type: endpoint.KServe}) }
func FuzzDecodeImages(f *testing.F)     { fuzzOther(f, endpoint.Config{Type: endpoint.ImageGeneration}) }

func FuzzDecodeImageRetrieval(f *testing.F) {
	fuzzOther(f, endpoint.Config{Type: endpoint.ImageRetrieval})
}
func FuzzDecodeSolido(f *testing.F) { fuzzOther(f, endpoint.Config{Type: endpoint.SolidoRAG}) }
func FuzzDecodeTranscription(f *testing.F) {
	fuzzLoose(f, endpoint.Config{Type: endpoint.AudioTranscription})
}
func FuzzDecodeRaw(f *testing.F) { fuzzLoose(f, endpoint.Config{Type: endpoint.Raw}) }
func FuzzDecodeRawWithAField(f *testing.F) {
	fuzzLoose(f, endpoint.Config{Type: endpoint.Raw, ResponseField: "data[].embedding | [0]"})
}

func FuzzDecodeTemplate(f *testing.F) {
	fuzzLoose(f, endpoint.Config{Type: endpoint.Template, Template: "{}", ResponseField: "a.b"})
}

// seeds are the answers of all cases, and values at the edges.
func seeds(tb testing.TB) []string {
	tb.Helper()
	out := []string{
		"", " ", "null", "42", `"a"`, "[]", "{}", "[[1,2]]", "[DONE]", "<html>", `{"data":[{"embedding":"AAAA"}]}`, `{"data":[{"embedding":[1,"a"]}]}`,
		`{"data":[{"embedding":[[1],[2]]}],"data":[]}`, `[{"generated_text":"a"},{"generated_text":"b","error":""}]`, `{"error":0,"object":"error"}`,
		`{"details":{"finish_reason":"length"},"details":null}`, `{"text_output":["a",1]}`, `{"outputs":[{"data":["a"],"name":"text_output"},{"name":"text_output"}]}`,
		`{"token":{"special":1,"text":"a"}}`, `{"b64_json":"a","partial_image_index":0,"type":"x.completed"}`, `{"rankings":[{}],"results":[{},1]}`,
		`{"a":{"b":["x","y"]},"content":"z"}`, `{"a":{"b":1e999}}`, `{"text":"\ud800"}`, "{\"text\":\"\xff\"}", "WEBVTT", "\"a",
	}
	for _, c := range endpointtest.Load(tb, conformance) {
		out = append(out, string(c.Answer.Bytes()))
		for _, e := range events(c.Answer.Bytes()) {
			out = append(out, string(e.data))
		}
	}
	return out
}

// fuzzOther compares a codec with the reference on arbitrary bytes.
func fuzzOther(f *testing.F, cfg endpoint.Config) {
	f.Helper()
	for _, seed := range seeds(f) {
		f.Add([]byte(seed))
	}
	codec := newCodec(f, cfg)
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) { // what is in its place is not always of the same length
			read(t, codec, true, data)
			read(t, codec, false, data)
			return
		}
		for _, body := range []bool{true, false} {
			if trimmed := bytes.Trim(data, " \t\r\n"); !body && (len(trimmed) == 0 || string(trimmed) == "[DONE]") {
				continue
			}
			got, chunk := read(t, codec, body, data)
			want := reference(cfg.Type, body, data)
			if want.Failure { // what else it says does not matter then
				got.Items, got.Text, got.Partial, want.Items, want.Text, want.Partial = 0, "", false, 0, "", false
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("body %v of %q: -want +got:\n%s", body, data, diff)
			}
			if body && !want.Error && !chunk.Terminal {
				t.Fatalf("a whole answer is not the end: %q", data)
			}
		}
	})
}

// fuzzLoose checks what holds for decoders that take almost anything.
func fuzzLoose(f *testing.F, cfg endpoint.Config) {
	f.Helper()
	for _, seed := range seeds(f) {
		f.Add([]byte(seed))
	}
	codec := newCodec(f, cfg)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, body := range []bool{true, false} {
			got, chunk := read(t, codec, body, data)
			if !got.Error && !got.Failure && chunk.Text != (got.Text != "") {
				t.Fatalf("body %v of %q: text is %v, but %q is kept", body, data, chunk.Text, got.Text)
			}
			if trimmed := bytes.TrimSpace(data); !got.Error && bytes.HasPrefix(trimmed, []byte("{")) && !json.Valid(trimmed) {
				t.Fatalf("body %v of %q: broken JSON is taken for an answer", body, data)
			}
		}
	})
}

// read decodes an answer with and without keeping it, which must make no difference.
func read(t *testing.T, codec endpoint.Codec, body bool, data []byte) (meant, endpoint.Chunk) {
	t.Helper()
	var kept answer.Transcript
	decode := func(keep *answer.Transcript) (endpoint.Chunk, error) {
		var c endpoint.Chunk
		if body {
			return c, codec.Decoder(keep).Body(data, &c)
		}
		return c, codec.Decoder(keep).Event(nil, data, &c)
	}
	chunk, err := decode(&kept)
	again, errAgain := decode(nil)
	if diff := cmp.Diff(chunk, again); diff != "" || (err != nil) != (errAgain != nil) {
		t.Fatalf("keeping makes a difference: %v, %v\n%s", err, errAgain, diff)
	}
	if err != nil && chunk != (endpoint.Chunk{}) {
		t.Fatalf("chunk of an error is %+v", chunk)
	}
	return meant{
		Error: err != nil, Failure: chunk.Err != nil, Partial: chunk.Partial, Items: chunk.Items, Text: string(kept.Text),
	}, chunk
}

func TestSeedsAreReadAsByTheReference(t *testing.T) {
	t.Parallel()
	for of := range references {
		codec := newCodec(t, endpoint.Config{Type: of})
		meaningful := 0
		for _, data := range seeds(t) {
			got, _ := read(t, codec, true, []byte(data))
			want := reference(of, true, []byte(data))
			if !want.Failure && got != want {
				t.Errorf("%s: %q: -want +got:\n%s", of, data, cmp.Diff(want, got))
			}
			if want.Items > 0 || want.Text != "" {
				meaningful++
			}
		}
		if meaningful == 0 {
			t.Errorf("%s: no answer means anything: the test has lost its teeth", of)
		}
	}
}
