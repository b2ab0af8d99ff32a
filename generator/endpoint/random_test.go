package endpoint

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// shapes says what the members of an object are: each name with the shape of its value. "[]x" is a list of x, "" a scalar.
var shapes = map[string][][2]string{
	"root": {
		{"choices", "[]choice"},
		{"choices", "[]choice"},
		{`c\u0068oices`, "[]choice"},
		{"usage", "usage"},
		{"usage", "usage"},
		{"usageMetadata", "usage"},
		{"meta", "meta"},
		{"tokens", "usage"},
		{"model", ""},
		{"model", ""},
		{"model", ""},
		{"system_fingerprint", ""},
		{"object", ""},
		{"error", ""},
		{"id", ""},
	},
	"meta":     {{"tokens", "usage"}, {"x", ""}},
	"choice":   {{"delta", "message"}, {"delta", "message"}, {"message", "message"}, {"text", ""}, {"finish_reason", ""}, {"index", ""}},
	"call":     {{"function", "function"}, {"id", ""}},
	"function": {{"name", ""}, {"arguments", ""}, {"x", ""}},
	"message": {
		{"content", ""},
		{"refusal", ""},
		{"reasoning", ""},
		{"reasoning_content", ""},
		{"tool_calls", "[]call"},
		{"function_call", "function"},
		{"role", ""},
	},
	"usage": {
		{"prompt_tokens", ""},
		{"input_tokens", ""},
		{"promptTokenCount", ""},
		{"inputTokens", ""},
		{"input_token_count", ""},
		{"completion_tokens", ""},
		{"output_tokens", ""},
		{"candidatesTokenCount", ""},
		{"outputTokens", ""},
		{"generated_token_count", ""},
		{"completion_tokens_details", "details"},
		{"output_tokens_details", "details"},
		{"thoughtsTokenCount", ""},
		{"prompt_tokens_details", "details"},
		{"input_tokens_details", "details"},
		{"cache_read_input_tokens", ""},
		{"prompt_cache_hit_tokens", ""},
		{"cachedContentTokenCount", ""},
		{"cacheReadInputTokens", ""},
		{"cached_tokens", ""},
		{"cache_creation_input_tokens", ""},
		{"cacheWriteInputTokens", ""},
		{"total_tokens", ""},
	},
	"responses": {
		{"type", "responses kind"},
		{"type", "responses kind"},
		{"type", "responses kind"},
		{"delta", "words"},
		{"delta", "words"},
		{"text", "words"},
		{"output_index", "index"},
		{"content_index", "index"},
		{"response", "response"},
		{"response", "response"},
		{"error", ""},
		{"message", ""},
		{"output", "[]item"},
		{"status", "status"},
		{"usage", "usage"},
		{"usage", "usage"},
		{"model", "words"},
		{"incomplete_details", "reason"},
	},
	"response": {
		{"output", "[]item"},
		{"output", "[]item"},
		{"output_text", ""},
		{"status", "status"},
		{"incomplete_details", "reason"},
		{"error", ""},
		{"model", "words"},
		{"usage", "usage"},
		{"usage", "usage"},
	},
	"reason": {{"reason", "reason word"}, {"reason", "reason word"}, {"x", ""}},
	"item": {
		{"type", "item kind"},
		{"type", "item kind"},
		{"content", "[]part"},
		{"summary", "[]part"},
		{"name", ""},
		{"arguments", ""},
		{"input", ""},
	},
	"part": {{"type", ""}, {"text", "words"}, {"refusal", "words"}},
	"messages": {
		{"type", "messages kind"},
		{"type", "messages kind"},
		{"type", "messages kind"},
		{"delta", "block"},
		{"delta", "block"},
		{"delta", "block"},
		{"usage", "usage"},
		{"message", "messages"},
		{"content", "[]block"},
		{"content", "[]block"},
		{"model", ""},
		{"stop_reason", "reason word"},
		{"error", ""},
	},
	"block": {
		{"type", "block kind"},
		{"type", "block kind"},
		{"text", "words"},
		{"thinking", "words"},
		{"partial_json", "words"},
		{"name", "words"},
		{"stop_reason", "reason word"},
	},
	"details": {{"reasoning_tokens", ""}, {"cached_tokens", ""}, {"audio_tokens", ""}},
}

// vocabulary has the values of members that name something.
var vocabulary = map[string][]string{
	"responses kind": {
		"response.output_text.delta", "response.output_text.done", "response.refusal.delta", "response.reasoning_text.delta",
		"response.reasoning_summary_text.delta", "response.function_call_arguments.delta", "response.completed", "response.incomplete",
		"response.failed", "error", "response.created", "response.output_item.done",
	},
	"item kind": {"message", "reasoning", "function_call", "web_search_call"},
	"status":    {"completed", "incomplete", "failed", "cancelled", ""},
	"reason word": {
		"max_output_tokens", "content_filter", "end_turn", "max_tokens", "tool_use", "",
	},
	"index": {"0", "1", "2"},
	"words": {"a", "b", ""},
	"messages kind": {
		"message_start", "message_start", "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
		"message_delta", "message_delta", "message_stop", "ping", "error", "message",
	},
	"block kind": {"text_delta", "thinking_delta", "input_json_delta", "text", "thinking", "tool_use"},
}

// composer writes random answers out of the protocol's own words, which random bytes hardly ever meet: any order, names twice, and
// now and then a value of the wrong kind.
type composer struct {
	random *rand.Rand
	out    []byte
}

func (c *composer) pick(of ...string) string { return of[c.random.IntN(len(of))] }

func (c *composer) value(shape string, depth int) {
	if c.random.IntN(12) == 0 {
		shape = c.pick("", "[]", "usage", "message", "[]call")
	}
	if depth == 0 {
		shape = ""
	}
	switch element, list := strings.CutPrefix(shape, "[]"); {
	case list:
		c.list('[', ']', 3, func() { c.value(element, depth-1) })
	case vocabulary[shape] != nil:
		word := c.pick(vocabulary[shape]...)
		if shape != "index" {
			word = `"` + word + `"`
		}
		c.out = append(c.out, word...)
	case shape == "":
		c.out = append(c.out, c.pick(`""`, `""`, `"a"`, `"stop"`, `"error"`, `"\n"`, `"\u00e9\"\\"`, "null", "null", "true", "false", "0", "-0",
			"7", "12", "1e2", "1.5", "-3", "{}", "[]")...)
	default:
		c.list('{', '}', 7, func() {
			members := shapes[shape]
			member := members[c.random.IntN(len(members))]
			c.out = append(c.out, `"`+member[0]+`"`+c.pick(":", ": ", " :\n")...)
			c.value(member[1], depth-1)
		})
	}
}

func (c *composer) list(first, last byte, most int, element func()) {
	c.out = append(c.out, first)
	for i := range c.random.IntN(most + 1) {
		if i > 0 {
			c.out = append(c.out, c.pick(",", ", ")...)
		}
		element()
	}
	c.out = append(c.out, last)
}

func TestRandomAnswersAreReadAsByTheReference(t *testing.T) {
	t.Parallel()
	for name, of := range map[Type]struct {
		shape  string
		rounds int
		words  []string // that must be met often enough
	}{
		Chat: {"root", 400, []string{
			"text", "reasoning", "tool", "terminal", "finish", "model", "fingerprint", "input", "output",
			"cached", "written", "failure", "error:",
		}},
		Completions: {"root", 400, []string{
			"text", "terminal", "finish", "model", "fingerprint", "input", "output",
			"failure", "error:",
		}},
		Responses: {"responses", 600, []string{
			"text", "reasoning", "tool", "terminal", "finish", "model", "input", "output",
			"cached", "written", "failure", "error:",
		}},
		Messages: {"messages", 400, []string{
			"text", "reasoning", "tool", "terminal", "finish", "model", "input", "output",
			"cached", "written", "failure", "error:",
		}},
	} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			seen := randomAnswers(t, name, of.shape, of.rounds)
			for _, word := range of.words {
				if seen[word] < 20 {
					t.Errorf("only %d answers have %q: the test has lost its teeth", seen[word], word)
				}
			}
		})
	}
}

// randomAnswers compares random answers of a few events each with the reference, and counts what they say.
func randomAnswers(t *testing.T, name Type, shape string, rounds int) map[string]int {
	t.Helper()
	c := composer{random: rand.New(rand.NewPCG(1, 2))}
	codec := newCodec(t, Config{Type: name, MaxTokensField: FieldAuto})
	seen := map[string]int{}
	var decoder Decoder
	var reference reference
	check := func(data []byte) {
		got, gotErr := decode(decoder, input{data: data})
		want, wantErr := reference.event(data)
		compareDecoded(t, string(data), got, want, gotErr, wantErr)
		for word := range strings.FieldsSeq(meaning(&want, wantErr)) {
			word, _, _ = strings.Cut(word, "=")
			seen[word]++
		}
		got, gotErr = decode(decoder, input{body: true, data: data})
		want, wantErr = reference.body(data)
		compareDecoded(t, string(data), got, want, gotErr, wantErr)
		for word := range strings.FieldsSeq(meaning(&want, wantErr)) {
			word, _, _ = strings.Cut(word, "=")
			seen[word]++
		}
	}
	for range rounds {
		decoder, reference = codec.Decoder(nil), references[name]()
		for range 3 {
			c.out = c.out[:0]
			c.value(shape, 8)
			if !json.Valid(c.out) {
				t.Fatalf("the test writes bad JSON: %s", c.out)
			}
			check(c.out)
			// Another byte somewhere: mostly no JSON any more, and both must say so.
			const odd = `"\{}[],:0e-. `
			c.out[c.random.IntN(len(c.out))] = odd[c.random.IntN(len(odd))]
			check(c.out)
		}
	}
	return seen
}
