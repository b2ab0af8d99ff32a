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
	"details": {{"reasoning_tokens", ""}, {"cached_tokens", ""}, {"audio_tokens", ""}},
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
	c := composer{random: rand.New(rand.NewPCG(1, 2))}
	codecs := map[dialect]Codec{
		chatDialect:        newCodec(t, Config{Type: Chat, MaxTokensField: FieldAuto}),
		completionsDialect: newCodec(t, Config{Type: Completions, MaxTokensField: FieldAuto}),
	}
	seen := map[string]int{}
	check := func(data []byte) {
		for as, codec := range codecs {
			got, gotErr := decode(codec, input{data: data})
			want, wantErr := referenceEvent(as, data)
			compareDecoded(t, string(data), got, want, gotErr, wantErr)
			for word := range strings.FieldsSeq(meaning(&want, wantErr)) {
				word, _, _ = strings.Cut(word, "=")
				seen[word]++
			}
			got, gotErr = decode(codec, input{body: true, data: data})
			want, wantErr = referenceBody(as, data)
			compareDecoded(t, string(data), got, want, gotErr, wantErr)
		}
	}
	for range 1000 {
		c.out = c.out[:0]
		c.value("root", 8)
		if !json.Valid(c.out) {
			t.Fatalf("the test writes bad JSON: %s", c.out)
		}
		check(c.out)
		// Another byte somewhere: mostly no JSON any more, and both must say so.
		const odd = `"\{}[],:0e-. `
		c.out[c.random.IntN(len(c.out))] = odd[c.random.IntN(len(odd))]
		check(c.out)
	}
	for _, word := range []string{
		"text", "reasoning", "tool", "terminal", "finish", "model", "input", "output", "cached", "written", "failure", "error:",
	} {
		if seen[word] < 20 {
			t.Errorf("only %d answers have %q: the test has lost its teeth", seen[word], word)
		}
	}
}
