package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const hello = `"messages":[{"role":"user","content":"how long is the queue?"}]` // 22 bytes: 6 + 4 + 3 tokens

// scrub replaces what differs between runs.
var scrub = regexp.MustCompile(`"id":"(chatcmpl|cmpl)-[0-9a-f]{32}"|"created":[0-9]+`)

func TestStreamOnTheWire(t *testing.T) {
	t.Parallel()
	head := func(id, object string) string {
		return `{"id":"` + id + `-…","object":"` + object + `","created":0,"model":"m","choices":[`
	}
	chat, completion := head("chatcmpl", "chat.completion.chunk"), head("cmpl", "text_completion")
	const tail = `,"logprobs":null,"finish_reason":`
	for _, tc := range []struct {
		name, path, body string
		want             []string
	}{
		{
			"chat has a role chunk, one token per chunk, the reason on the last, usage as asked for", "chat/completions",
			`{"model":"m",` + hello + `,"max_tokens":2,"stream":true,"stream_options":{"include_usage":true}}`,
			[]string{
				chat + `{"index":0,"delta":{"role":"assistant","content":""}` + tail + `null}]}`,
				chat + `{"index":0,"delta":{"content":"…"}` + tail + `null}]}`,
				chat + `{"index":0,"delta":{"content":"…"}` + tail + `"length"}]}`,
				chat + `],"usage":{"prompt_tokens":13,"completion_tokens":2,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":0}}}`,
				"[DONE]",
			},
		},
		{
			"completions have text and no role", "completions",
			`{"model":"m","prompt":"how long is the queue?","max_tokens":2,"stream":true}`,
			[]string{
				completion + `{"index":0,"text":"…"` + tail + `null}]}`,
				completion + `{"index":0,"text":"…"` + tail + `"length"}]}`,
				"[DONE]",
			},
		},
		{
			"continuous usage is on every chunk", "completions",
			`{"model":"m","prompt":"","max_tokens":2,"stream":true,"stream_options":{"continuous_usage_stats":true}}`,
			[]string{
				completion + `{"index":0,"text":"…"` + tail + `null}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,` +
					`"prompt_tokens_details":{"cached_tokens":0}}}`,
				completion + `{"index":0,"text":"…"` + tail + `"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,` +
					`"prompt_tokens_details":{"cached_tokens":0}}}`,
				"[DONE]",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			resp := serve(t, quick("m")).post(t.Context(), t, tc.path, tc.body)
			if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
				t.Errorf("content type = %q", got)
			}
			got, err := events(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			for i, data := range got {
				data = scrub.ReplaceAllStringFunc(data, func(s string) string {
					if strings.HasPrefix(s, `"created"`) {
						return `"created":0`
					}
					return s[:strings.LastIndex(s, "-")] + `-…"`
				})
				got[i] = regexp.MustCompile(`"(content|text)":"[^"]+"`).ReplaceAllString(data, `"$1":"…"`)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswerLength(t *testing.T) {
	t.Parallel()
	p := quick("m")
	p.AnswerTokens = 20
	p.Engine.MaxContext = 100
	for _, tc := range []struct {
		name, path, body string
		tokens           int
		finish           string
	}{
		{"max_tokens cuts", "chat/completions", hello + `,"max_tokens":5`, 5, "length"},
		{"max_completion_tokens goes before max_tokens", "chat/completions", hello + `,"max_tokens":5,"max_completion_tokens":7`, 7, "length"},
		{"the model stops by itself", "chat/completions", hello + `,"max_tokens":50`, 20, "stop"},
		{"the model stops by itself where nothing is said", "chat/completions", hello, 20, "stop"},
		{"a completion is short where nothing is said", "completions", `"prompt":"x"`, 16, "length"},
		{"ignore_eos goes on", "chat/completions", hello + `,"max_tokens":50,"ignore_eos":true`, 50, "length"},
		{"min_tokens goes on", "chat/completions", hello + `,"max_tokens":50,"min_tokens":30`, 30, "stop"},
		{"ignore_eos alone fills the context", "chat/completions", hello + `,"ignore_eos":true`, 87, "length"},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stream %v", tc.name, stream), func(t *testing.T) {
				t.Parallel()
				options := ""
				if stream {
					options = `,"stream_options":{"include_usage":true}`
				}
				got := serve(t, p).ask(t, tc.path, fmt.Sprintf(`{%s,"stream":%v%s}`, tc.body, stream, options))
				if got.usage == nil || got.usage.Completion != tc.tokens || got.finish != tc.finish || !got.done {
					t.Errorf("usage %+v, finish %q, done %v; want %d tokens, %q", got.usage, got.finish, got.done, tc.tokens, tc.finish)
				}
				if n := countWords(got.text); n != tc.tokens {
					t.Errorf("the text has %d tokens, want %d: %q", n, tc.tokens, got.text)
				}
			})
		}
	}
}

func TestReasoningComesFirst(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		t.Run(fmt.Sprintf("stream %v", stream), func(t *testing.T) {
			t.Parallel()
			p := quick("m")
			p.ReasoningShare = 0.6
			options := ""
			if stream {
				options = `,"stream_options":{"include_usage":true}`
			}
			c := serve(t, p)
			got := c.ask(t, "chat/completions", fmt.Sprintf(`{%s,"max_tokens":10,"stream":%v%s}`, hello, stream, options))
			if countWords(got.reasoning) != 6 || countWords(got.text) != 4 {
				t.Errorf("reasoning %q, text %q; want 6 and 4 tokens", got.reasoning, got.text)
			}
			if got.usage.Completion != 10 || got.usage.CompletionDetails.Reasoning != 6 {
				t.Errorf("usage = %+v, want 10 tokens of which 6 are reasoning", got.usage)
			}
			if want := slices.Repeat([]int{1}, 10); stream && !slices.Equal(want, got.tokens) {
				t.Errorf("tokens per chunk = %v, want %v", got.tokens, want)
			}
			if plain := c.ask(t, "completions", `{"prompt":"x","max_tokens":10}`); plain.reasoning != "" {
				t.Errorf("a completion has reasoning %q", plain.reasoning)
			}
		})
	}
}

func TestPromptTokens(t *testing.T) {
	t.Parallel()
	c := serve(t, quick("m"))
	for _, tc := range []struct {
		name, path, body string
		want             int
	}{
		{"four bytes are a token, rounded up", "completions", `"prompt":"12345"`, 2},
		{"an empty prompt is one", "completions", `"prompt":""`, 1},
		{"a list of one text is a text", "completions", `"prompt":["12345"]`, 2},
		{"bytes count, not letters", "completions", `"prompt":"öö"`, 1},
		{"a message has four more, the head of the answer three", "chat/completions", `"messages":[{"role":"user","content":"1234"}]`, 8},
		{"messages add up", "chat/completions", `"messages":[{"role":"system","content":"1"},{"role":"user","content":"1"}]`, 13},
		{"only the text of content parts counts", "chat/completions", `"messages":[{"role":"user","content":[{"type":"text","text":"1234"},` +
			`{"type":"image_url","image_url":{"url":"data:,"}},{"type":"text","text":"1"}]}]`, 9},
		{"an assistant without content", "chat/completions", `"messages":[{"role":"assistant","content":null}]`, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := c.ask(t, tc.path, `{`+tc.body+`,"max_tokens":1}`)
			if got.usage.Prompt != tc.want || got.usage.Total != tc.want+1 {
				t.Errorf("usage = %+v, want %d prompt tokens", got.usage, tc.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	p := quick("m")
	p.Engine.MaxContext = 100
	c := serve(t, p)
	for _, tc := range []struct {
		name, path, body string
		status           int
		message          string
	}{
		{"not JSON", "chat/completions", `{`, 400, "the body is not a request"},
		{"a prompt that is a number", "completions", `{"prompt":7}`, 400, "must be a string"},
		{"no message", "chat/completions", `{}`, 400, "messages must not be empty"},
		{"no prompt", "completions", `{}`, 400, "prompt must be one text, got 0"},
		{"two prompts", "completions", `{"prompt":["a","b"]}`, 400, "prompt must be one text, got 2"},
		{"two answers", "chat/completions", `{` + hello + `,"n":2}`, 400, "n must be 1"},
		{"stream options without a stream", "chat/completions", `{` + hello + `,"stream_options":{}}`, 400, "stream_options"},
		{"no tokens wanted", "chat/completions", `{` + hello + `,"max_tokens":0}`, 400, "max_tokens must be >= 1"},
		{"too many tokens wanted", "chat/completions", `{` + hello + `,"max_tokens":88}`, 400, "maximum context length is 100 tokens"},
		{"a prompt that fills the context", "completions", `{"prompt":"` + strings.Repeat("1234", 100) + `"}`, 400, "maximum context length"},
		{"an unknown model", "chat/completions", `{"model":"x",` + hello + `}`, 404, "the model x does not exist"},
		{"an endless body", "completions", `{"prompt":"` + strings.Repeat("a", maxBodyBytes) + `"}`, 413, "larger than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			resp := c.post(t.Context(), t, tc.path, tc.body)
			data, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			failure := parseChunk(t, string(data)).Error
			if resp.StatusCode != tc.status || failure == nil || failure.Code != tc.status || !strings.Contains(failure.Message, tc.message) {
				t.Errorf("status %d, body %s; want %d and %q", resp.StatusCode, data, tc.status, tc.message)
			}
		})
	}
}

func TestOtherRoutes(t *testing.T) {
	t.Parallel()
	c := serve(t, quick("first"), quick(`se"cond`))
	for _, tc := range []struct {
		path   string
		status int
	}{{"/health", 200}, {"/metrics", 200}, {"/v1/models", 200}, {"/v1/chat/completions", 405}, {"/", 404}} {
		if status, _ := c.get(t, tc.path); status != tc.status {
			t.Errorf("GET %s = %d, want %d", tc.path, status, tc.status)
		}
	}
	_, body := c.get(t, "/v1/models")
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Data) != 2 || list.Data[0].ID != "first" || list.Data[1].ID != `se"cond` {
		t.Errorf("models = %s", body)
	}
}

func TestModelNames(t *testing.T) {
	t.Parallel()
	c := serve(t, quick("first"), quick(`se"cond`))
	for _, tc := range []struct{ asked, want string }{{``, "first"}, {`"model":"first",`, "first"}, {`"model":"se\"cond",`, `se"cond`}} {
		if got := c.ask(t, "completions", `{`+tc.asked+`"prompt":"x","stream":true}`); got.model != tc.want {
			t.Errorf("%s was answered by %q, want %q", tc.asked, got.model, tc.want)
		}
	}
}

func TestTheSeedDecidesTheText(t *testing.T) {
	t.Parallel()
	texts := func(stream bool) (texts []string) {
		c := serve(t, quick("a"), quick("b"))
		for _, model := range []string{"a", "a", "b"} {
			texts = append(texts, c.ask(t, "completions", fmt.Sprintf(`{"model":%q,"prompt":"x","stream":%v}`, model, stream)).text)
		}
		return texts
	}
	streamed, whole := texts(true), texts(false)
	if diff := cmp.Diff(streamed, whole); diff != "" {
		t.Errorf("the same request has another text when not streamed:\n%s", diff)
	}
	if streamed[0] == streamed[1] || streamed[0] == streamed[2] {
		t.Errorf("different requests have the same text: %q", streamed)
	}
}
