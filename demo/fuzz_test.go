package demo

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// FuzzRequest checks that any body is either refused with a reason or becomes a request that the engine can serve.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{` + hello + `,"max_tokens":2,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:,"}}]}]}`,
		`{"prompt":["x"],"max_tokens":1,"min_tokens":9,"ignore_eos":true,"n":1}`,
		`{"prompt":null}`,
		`{"prompt":"` + strings.Repeat("a", 1000) + `","max_completion_tokens":-9223372036854775808}`,
		`[]`, ``, "\xff",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	p := DefaultProfile("m")
	p.Engine.MaxContext = 256
	f.Fuzz(func(t *testing.T, data []byte, chat bool) {
		b, refused := readBody(bytes.NewReader(data), chat)
		var a *ask
		if refused == nil {
			a, refused = b.resolve(&p, chat)
		}
		if refused != nil {
			if refused.status < 400 || refused.status > 499 || refused.message == "" {
				t.Fatalf("refused with %+v", refused)
			}
			return
		}
		if a.promptTokens < 1 || a.limit < 1 || a.promptTokens+a.limit > p.Engine.MaxContext {
			t.Fatalf("%d prompt tokens and %d of the answer in a context of %d", a.promptTokens, a.limit, p.Engine.MaxContext)
		}
		if a.finish != finishStop && a.finish != finishLength {
			t.Fatalf("finish = %q", a.finish)
		}
	})
}

// FuzzWire checks that whatever a model is called and however its tokens come, each chunk is JSON and no token is lost.
func FuzzWire(f *testing.F) {
	f.Add("m", uint8(10), uint8(1), uint8(0), true)
	f.Add(`a "b" \ `+"\n\u2028<&>", uint8(40), uint8(3), uint8(60), true)
	f.Add("m", uint8(5), uint8(4), uint8(100), false)
	f.Fuzz(func(t *testing.T, name string, limit, step, share uint8, chat bool) {
		p := DefaultProfile(name)
		p.ReasoningShare = float64(share%101) / 100
		if !utf8.ValidString(name) {
			return
		}
		a := &ask{chat: chat, stream: true, includeUsage: true, continuousUsage: true, promptTokens: 1, limit: max(1, int(limit)), finish: finishStop}
		m := newModel(&p, 1, time.Time{}, newFamilies(prometheus.NewRegistry()))
		streamed, whole := newWire(m.newJob(a), time.Time{}), newWire(m.newJob(a), time.Time{})
		buf := streamed.appendRole(nil)
		for streamed.written < a.limit {
			buf = streamed.appendTokens(buf, min(1+int(step)%8, a.limit-streamed.written), "")
		}
		data, err := events(bytes.NewReader(streamed.appendEnd(buf)))
		if err != nil {
			t.Fatal(err)
		}
		got := read(t, data)
		if n := countWords(got.text) + countWords(got.reasoning); n != a.limit || got.usage.Completion != a.limit || !got.done {
			t.Fatalf("%d tokens in the text, usage %+v; want %d", n, got.usage, a.limit)
		}
		for _, n := range []int{0, a.limit} {
			if body := whole.appendWhole(nil, n, a.finish); !json.Valid(body) {
				t.Fatalf("not JSON: %s", body)
			}
		}
	})
}
