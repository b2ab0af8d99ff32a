package endpoint_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// vectors is an answer with so many vectors of 1536 floats.
func vectors(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]string, n)
	for i := range data {
		floats := make([]string, 1536)
		for j := range floats {
			floats[j] = fmt.Sprintf("%.9g", random.NormFloat64()/40)
		}
		data[i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%s]}`, i, strings.Join(floats, ","))
	}
	return `{"object":"list","data":[` + strings.Join(data, ",") + `],"model":"e5","usage":{"prompt_tokens":6,"total_tokens":6}}`
}

// otherAnswer is what a server sends at a time, and what it may cost to decode.
type otherAnswer struct {
	name   string
	of     endpoint.Type
	body   bool // a whole answer, not an event
	data   string
	allocs float64
}

func otherAnswers() []otherAnswer {
	return []otherAnswer{
		{"one vector", endpoint.Embeddings, true, vectors(1), 1}, // the model's name
		{"32 vectors", endpoint.Embeddings, true, vectors(32), 1},
		{"32 vectors in base64", endpoint.Embeddings, true, `{"data":[` + strings.Repeat(`{"embedding":"`+strings.Repeat("AAAA", 2048)+`"},`, 31) +
			`{"embedding":"AAAA"}],"model":"e5"}`, 1},
		{"100 documents", endpoint.TEIRankings, true, "[" + strings.Repeat(`{"index":1,"score":0.998},`, 99) + `{"index":1,"score":0.998}]`, 0},
		{"a token", endpoint.TGI, false, `{"index":1,"token":{"id":40,"text":" token","logprob":-0.5,"special":false},"generated_text":null,"details":null}`, 0},
		{"a piece", endpoint.TritonGenerate, false, `{"model_name":"ensemble","model_version":"1","sequence_end":false,"text_output":" token"}`, 0},
		{"an image of 1.5 MB", endpoint.ImageGeneration, false, `{"type":"image_generation.completed","b64_json":"` + strings.Repeat("A", 1_500_000) + `"}`, 0},
		{"an event", endpoint.Raw, false, `{"choices":[{"delta":{"content":" token"}}]}`, 0}, // of any form, hence as a tree
	}
}

func BenchmarkDecodeOthers(b *testing.B) {
	for _, a := range otherAnswers() {
		b.Run(string(a.of)+"/"+a.name, func(b *testing.B) {
			decoder, data := newCodec(b, endpoint.Config{Type: a.of}).Decoder(nil), []byte(a.data)
			var chunk endpoint.Chunk
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				a.decode(b, decoder, data, &chunk)
			}
		})
	}
}

// decode reads the answer once.
func (a *otherAnswer) decode(tb testing.TB, decoder endpoint.Decoder, data []byte, chunk *endpoint.Chunk) {
	tb.Helper()
	*chunk = endpoint.Chunk{}
	var err error
	if a.body {
		err = decoder.Body(data, chunk)
	} else {
		err = decoder.Event(nil, data, chunk)
	}
	if err != nil || !chunk.Content() {
		tb.Fatalf("chunk is %+v, error %v", chunk, err)
	}
}

func BenchmarkEncodeForm(b *testing.B) {
	codec := newCodec(b, endpoint.Config{Type: endpoint.AudioTranscription})
	turn := endpoint.Turn{Model: "whisper", Prompt: saying(prompt.Part{Kind: prompt.Audio, MediaType: "audio/wav", Data: make([]byte, 1<<20)})}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, _, err = codec.Encode(dst[:0], &turn); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDecodingOthersDoesNotAllocateByEvent(t *testing.T) { // not parallel: AllocsPerRun counts those of other goroutines
	for _, a := range otherAnswers() {
		decoder, data := newCodec(t, endpoint.Config{Type: a.of}).Decoder(nil), []byte(a.data)
		var chunk endpoint.Chunk
		a.decode(t, decoder, data, &chunk) // the name of the model is told once
		got := testing.AllocsPerRun(20, func() { a.decode(t, decoder, data, &chunk) })
		if a.of != endpoint.Raw && got > a.allocs {
			t.Errorf("%s of %s: %v allocations, want %v", a.name, a.of, got, a.allocs)
		}
	}
}
