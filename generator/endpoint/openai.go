package endpoint

// openAI is what the chat and the completions protocol share: the body around the prompt, and the answer around the text.
type openAI struct {
	dialect         dialect
	path            string
	limitField      string // carries the wished output length
	continuousUsage bool
	ignoreEOS       bool
}

// Path implements Codec.
func (o *openAI) Path() string { return o.path }

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
func (o *openAI) encode(dst []byte, turn *Turn, prompt field) ([]byte, error) {
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
	if _, set := b.get("stream_options"); turn.IncludeUsage && turn.Streams() && !set {
		b.set("stream_options", streamOptions{IncludeUsage: true, ContinuousUsageStats: o.continuousUsage})
	}
	return b.appendTo(dst)
}

type streamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats,omitempty"`
}

// DecodeEvent implements Codec.
func (o *openAI) DecodeEvent(name, data []byte, chunk *Chunk) error {
	return decodeEvent(o.dialect, name, data, chunk)
}

// DecodeBody implements Codec.
func (o *openAI) DecodeBody(data []byte, chunk *Chunk) error {
	return decodeBody(o.dialect, data, chunk)
}

// pathOr is the configured path, if there is one.
func (c *Config) pathOr(own string) string {
	if c.Path != "" {
		return c.Path
	}
	return own
}
