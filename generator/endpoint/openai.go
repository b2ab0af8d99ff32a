package endpoint

import "github.com/aiperf-exporter/aiperf-exporter/generator/answer"

// openAI is what the chat and the completions protocol share: the body around the prompt, and the answer around the text.
type openAI struct {
	jsonBody

	dialect         dialect
	path            string
	continuousUsage bool
	ignoreEOS       bool
}

func newOpenAI(cfg *Config, as dialect, path string, limits ...MaxTokensField) openAI {
	o := openAI{
		jsonBody: jsonBody{extra: cfg.Extra}, dialect: as, path: cfg.pathOr(path), continuousUsage: cfg.ContinuousUsage, ignoreEOS: cfg.IgnoreEOS,
	}
	for _, name := range limits {
		o.limits = append(o.limits, string(name))
	}
	return o
}

// Traits implements Codec.
func (o *openAI) Traits() Traits { return Traits{} }

// Path implements Codec.
func (o *openAI) Path(string, bool) string { return o.path }

// Decoder implements Codec. Nothing has to be remembered from event to event, unless the answer is kept.
func (o *openAI) Decoder(keep *answer.Transcript) Decoder {
	if keep == nil {
		return o
	}
	return &openAIKeeper{openAI: o, keeper: keeper{to: keep}}
}

// encode appends the body with prompt as its first field.
func (o *openAI) encode(dst []byte, turn *Turn, prompt field) ([]byte, string, error) {
	b := body{prompt, {"model", turn.Model}, {"stream", turn.Stream}}
	if turn.Prompt.Tools != nil && o.dialect == chatDialect {
		b.set("tools", turn.Prompt.Tools)
	}
	if turn.MaxOutputTokens > 0 {
		b.set(o.limits[0], turn.MaxOutputTokens)
	}
	// Without a limit, ignore_eos would run until the context is full.
	if limit := o.OutputLimit(turn); o.ignoreEOS && limit > 0 {
		b.set("ignore_eos", true)
		b.set("min_tokens", limit)
	}
	o.merge(&b, turn)
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
