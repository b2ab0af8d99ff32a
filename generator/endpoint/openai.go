package endpoint

import "github.com/aiperf-exporter/aiperf-exporter/generator/answer"

// openAI is what the chat and the completions protocol share: the body around the prompt, and the answer around the text.
type openAI struct {
	dialect         dialect
	path            string
	limitField      string // carries the wished output length
	continuousUsage bool
	ignoreEOS       bool
}

// Traits implements Codec.
func (o *openAI) Traits() Traits { return Traits{} }

// Path implements Codec.
func (o *openAI) Path(string, bool) string { return o.path }

// Streams implements Codec.
func (o *openAI) Streams(turn *Turn) bool {
	if v, ok := turn.Extra["stream"]; ok {
		return v == true
	}
	return turn.Stream
}

// Decoder implements Codec. Nothing has to be remembered from event to event.
func (o *openAI) Decoder(*answer.Transcript) Decoder { return o }

// OutputLimit implements Codec. Only the codec's own field counts: if the author adds the other one through extra, both are sent, and
// it is up to the server which one it obeys.
func (o *openAI) OutputLimit(turn *Turn) int {
	if v, ok := turn.Extra[o.limitField]; ok {
		n, _ := wholeNumber(v)
		return max(n, 0) // null and -1 are ways to say "no limit"
	}
	return max(turn.MaxOutputTokens, 0)
}

// encode appends the body with prompt as its first field.
func (o *openAI) encode(dst []byte, turn *Turn, prompt field) ([]byte, string, error) {
	b := body{prompt, {"model", turn.Model}, {"stream", turn.Stream}}
	if turn.MaxOutputTokens > 0 {
		b.set(o.limitField, turn.MaxOutputTokens)
	}
	// Without a limit, ignore_eos would run until the context is full.
	if limit := o.OutputLimit(turn); o.ignoreEOS && limit > 0 {
		b.set("ignore_eos", true)
		b.set("min_tokens", limit)
	}
	b.merge(turn.Extra)
	// Servers refuse stream_options in a body that does not stream.
	if _, set := b.get("stream_options"); turn.IncludeUsage && o.Streams(turn) && !set {
		b.set("stream_options", streamOptions{IncludeUsage: true, ContinuousUsageStats: o.continuousUsage})
	}
	body, err := b.appendTo(dst)
	return body, jsonType, err
}

type streamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats,omitempty"`
}

// Event implements Decoder.
func (o *openAI) Event(name, data []byte, chunk *Chunk) error {
	return decodeEvent(o.dialect, name, data, chunk)
}

// Body implements Decoder.
func (o *openAI) Body(data []byte, chunk *Chunk) error {
	return decodeBody(o.dialect, data, chunk)
}

// jsonType is the media type of most bodies.
const jsonType = "application/json"

// pathOr is the configured path, if there is one.
func (c *Config) pathOr(own string) string {
	if c.Path != "" {
		return c.Path
	}
	return own
}
