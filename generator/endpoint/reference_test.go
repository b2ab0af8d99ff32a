package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The reference decoder: slow and obviously right. It reads everything into maps and asks them one question after the other. The
// codecs must agree with it on any input.

// reference decodes one answer.
type reference interface {
	event(data []byte) (Chunk, error)
	body(data []byte) (Chunk, error)
}

// references make the reference decoders of the protocols that have one.
var references = map[Type]func() reference{
	Chat:        func() reference { return openAIReference(chatDialect) },
	Completions: func() reference { return openAIReference(completionsDialect) },
	Responses:   func() reference { return &responsesReference{} },
	Messages:    func() reference { return &messagesReference{} },
}

// openAIReference is the reference decoder of chat and completions.
type openAIReference dialect

func (o openAIReference) event(data []byte) (Chunk, error) { return referenceEvent(dialect(o), data) }

func (o openAIReference) body(data []byte) (Chunk, error) { return referenceBody(dialect(o), data) }

func referenceEvent(as dialect, data []byte) (Chunk, error) {
	data = bytes.Trim(data, " \t\r\n")
	if len(data) == 0 {
		return Chunk{}, nil
	}
	if string(data) == "[DONE]" {
		return Chunk{Done: true, Terminal: true}, nil
	}
	root, err := referenceRoot(data)
	if err != nil {
		return Chunk{}, err
	}
	return referenceChunk(as, root, data), nil
}

func referenceBody(as dialect, data []byte) (Chunk, error) {
	root, err := referenceRoot(data)
	if err != nil {
		return Chunk{}, err
	}
	c := referenceChunk(as, root, data)
	if _, ok := root["choices"].([]any); !ok && c.Err == nil {
		return Chunk{}, errors.New("no choices")
	}
	c.Terminal = true
	c.Model, c.Fingerprint = referenceName(root["model"]), referenceName(root["system_fingerprint"])
	return c, nil
}

func referenceRoot(data []byte) (map[string]any, error) {
	if !json.Valid(data) {
		return nil, errors.New("invalid")
	}
	if referenceDepth(data) > maxDepth {
		return nil, errors.New("deep")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, err
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, errors.New("no object")
	}
	return object, nil
}

// referenceDepth is the deepest nesting of valid JSON.
func referenceDepth(data []byte) int {
	deepest, depth := 0, 0
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

func referenceChunk(as dialect, root map[string]any, data []byte) Chunk {
	var c Chunk
	choices, _ := root["choices"].([]any)
	for _, choice := range choices {
		choice, _ := choice.(map[string]any)
		if word, _ := choice["finish_reason"].(string); word != "" {
			c.Terminal = true
			c.Finish = metrics.ParseFinishReason(word)
			c.Model, c.Fingerprint = referenceName(root["model"]), referenceName(root["system_fingerprint"])
		}
		if as == completionsDialect {
			c.Text = c.Text || said(choice, "text")
			continue
		}
		for _, member := range []string{"delta", "message"} {
			message, _ := choice[member].(map[string]any)
			call, _ := message["function_call"].(map[string]any)
			c.Text = c.Text || said(message, "content") || said(message, "refusal")
			c.Reasoning = c.Reasoning || said(message, "reasoning_content") || said(message, "reasoning")
			c.Tool = c.Tool || said(call, "name") || said(call, "arguments")
			calls, _ := message["tool_calls"].([]any)
			for _, call := range calls {
				call, _ := call.(map[string]any)
				function, _ := call["function"].(map[string]any)
				c.Tool = c.Tool || said(function, "name") || said(function, "arguments")
			}
		}
	}
	meta, _ := root["meta"].(map[string]any)
	for _, envelope := range []any{root["usage"], root["usageMetadata"], meta["tokens"], root["tokens"]} {
		if c.Usage.Empty() {
			c.Usage = referenceUsage(envelope, nil)
		}
	}
	if referenceTruthy(root["error"]) || root["object"] == "error" {
		c.Err = DecodeError(data)
	}
	return c
}

func said(o map[string]any, member string) bool {
	s, _ := o[member].(string)
	return s != ""
}

func referenceName(v any) string {
	name, _ := v.(string)
	runes := []rune(name)
	for len(string(runes)) > 256 {
		runes = runes[:len(runes)-1]
	}
	return string(runes)
}

func referenceTruthy(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case bool:
		return v
	case json.Number:
		return v != "0"
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// referenceUsage reads usage. Counts that v does not have come from begun.
func referenceUsage(v, begun any) metrics.Usage {
	at := func(name string) metrics.Count {
		for _, from := range []any{v, begun} {
			holder, _ := from.(map[string]any)
			member := name
			if outer, inner, nested := strings.Cut(name, "."); nested {
				holder, _ = holder[outer].(map[string]any)
				member = inner
			}
			if n := referenceCount(holder[member]); n.Known {
				return n
			}
		}
		return metrics.Count{}
	}
	first := func(names ...string) (metrics.Count, string) {
		for _, name := range names {
			if n := at(name); n.Known {
				return n, name
			}
		}
		return metrics.Count{}, ""
	}
	count := func(name string) int64 { return at(name).N }

	var u metrics.Usage
	var input, output, reasoning string
	u.Input, input = first("prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "input_token_count")
	u.Output, output = first("completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens", "generated_token_count")
	u.Reasoning, reasoning = first("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens",
		"thoughtsTokenCount")
	u.CachedInput, _ = first("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "cache_read_input_tokens",
		"prompt_cache_hit_tokens", "cachedContentTokenCount", "cacheReadInputTokens", "cached_tokens")
	u.CacheWrite, _ = first("cache_creation_input_tokens", "cacheWriteInputTokens")
	switch input {
	case "input_tokens":
		u.Input.N += count("cache_read_input_tokens") + count("cache_creation_input_tokens")
	case "inputTokens":
		u.Input.N += count("cacheReadInputTokens") + count("cacheWriteInputTokens")
	}
	if output == "candidatesTokenCount" && reasoning == "thoughtsTokenCount" {
		u.Output.N += u.Reasoning.N
	}
	return u
}

func referenceCount(v any) metrics.Count {
	number, ok := v.(json.Number)
	if !ok {
		return metrics.Count{}
	}
	f, err := number.Float64()
	if err != nil || f != math.Floor(f) || f > 1e15 || f < -1e15 {
		return metrics.Count{}
	}
	return metrics.Tokens(int64(f))
}

// hasCount tells whether a usage object has any count at all.
func hasCount(v any) bool { return referenceUsage(v, nil) != (metrics.Usage{}) }
