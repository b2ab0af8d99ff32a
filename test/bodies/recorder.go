package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// request is what a server was asked.
type request struct {
	path   string // with its query
	header http.Header
	body   []byte
}

// recorder is a server that writes down what it is asked, and answers by path.
type recorder struct {
	server *httptest.Server

	mu   sync.Mutex
	seen []request
}

func startRecorder() *recorder {
	r := &recorder{}
	r.server = httptest.NewServer(r)
	return r
}

func (r *recorder) url() string { return r.server.URL }

// stop ends the server and gives what it was asked, in order.
func (r *recorder) stop() []request {
	r.server.Close()
	return r.seen
}

// ServeHTTP implements http.Handler.
func (r *recorder) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	body, err := io.ReadAll(asked.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.seen = append(r.seen, request{asked.URL.RequestURI(), asked.Header, body})
	r.mu.Unlock()
	a := answerTo(asked.URL.Path, strings.Contains(asked.Header.Get("Accept"), "event-stream"))
	w.Header().Set("Content-Type", a.mediaType)
	_, _ = io.WriteString(w, a.body)
}

// answer is what the server says.
type answer struct{ mediaType, body string }

// answerTo gives the answer of the protocol that has this path.
func answerTo(path string, stream bool) answer {
	for _, s := range script {
		if !strings.HasSuffix(path, s.path) {
			continue
		}
		if stream && s.events != nil {
			return answer{"text/event-stream", "data: " + strings.Join(s.events, "\n\ndata: ") + "\n\n"}
		}
		return answer{"application/json", s.whole}
	}
	return answer{"text/plain", "there is no answer for " + path}
}

// script is what is answered, by the end of the path.
var script = []struct {
	path, whole string
	events      []string
}{
	{
		"/chat/completions",
		`{"object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there."},` +
			`"finish_reason":"stop"}],` + usage + `}`,
		[]string{
			`{"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"}}]}`,
			`{"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":" there."},"finish_reason":"stop"}]}`,
			`{"object":"chat.completion.chunk","model":"m","choices":[],` + usage + `}`, `[DONE]`,
		},
	},
	{
		"/completions", `{"object":"text_completion","model":"m","choices":[{"index":0,"text":"Hello","finish_reason":"stop"}],` + usage + `}`,
		[]string{`{"object":"text_completion","model":"m","choices":[{"index":0,"text":"Hello","finish_reason":"stop"}],` + usage + `}`, `[DONE]`},
	},
	{
		"/responses", responsesWhole,
		[]string{
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hello there."}`,
			`{"type":"response.completed","response":` + responsesWhole + `}`,
		},
	},
	{
		"/messages",
		`{"type":"message","role":"assistant","content":[{"type":"text","text":"Hello there."}],"stop_reason":"end_turn",` + responsesUsage + `}`,
		[]string{
			`{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":5,"output_tokens":0}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello there."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`,
		},
	},
	{"/embeddings", `{"object":"list","model":"m","data":[{"object":"embedding","index":0,"embedding":[0.5,0.25]}],` + usage + `}`, nil},
	{"/ranking", `{"rankings":[{"index":0,"logit":1.5}]}`, nil},
	{"/v2/rerank", `{"results":[{"index":0,"relevance_score":0.5}]}`, nil},
	{"/rerank", `[{"index":0,"score":0.5}]`, nil},
	{"/generate", `[{"generated_text":"Hello"}]`, nil},
	{"/generate_stream", "", []string{
		`{"index":1,"token":{"id":1,"text":"Hello","logprob":-1,"special":false},"generated_text":null,"details":null}`,
		`{"index":2,"token":{"id":2,"text":" there","logprob":-1,"special":false},"generated_text":"Hello there",` +
			`"details":{"finish_reason":"length","generated_tokens":2}}`,
	}},
	{
		"/images/generations", `{"data":[{"b64_json":"aW1n"}]}`,
		[]string{
			`{"type":"image_generation.partial_image","b64_json":"aW1n","partial_image_index":0}`,
			`{"type":"image_generation.completed","b64_json":"aW1n"}`,
		},
	},
	{"/images/edits", `{"data":[{"b64_json":"aW1n"}]}`, nil},
	{"/v1/infer", `{"data":[{"index":0,"bounding_boxes":{}}]}`, nil},
	{"/audio/transcriptions", `{"text":"Hello there."}`, nil},
	{"/rag/api/prompt", `{"content":"Hello there.","sources":[]}`, []string{`{"content":"Hello"}`, `{"content":" there."}`}},
	{"/custom", `{"text":"Hello there."}`, []string{`{"text":"Hello"}`, `{"text":" there."}`}},
}

const (
	usage          = `"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}`
	responsesUsage = `"usage":{"input_tokens":5,"output_tokens":2,"total_tokens":7}`
	responsesWhole = `{"object":"response","id":"resp_1","status":"completed","output":[` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello there."}]}],` + responsesUsage + `}`
)
