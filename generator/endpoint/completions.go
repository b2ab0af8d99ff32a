package endpoint

import "errors"

// completions speaks POST /v1/completions.
type completions struct{ openAI }

func newCompletions(cfg *Config) Codec {
	return &completions{openAI{
		dialect: completionsDialect, path: cfg.pathOr("/v1/completions"), limitField: string(FieldMaxTokens),
		continuousUsage: cfg.ContinuousUsage, ignoreEOS: cfg.IgnoreEOS,
	}}
}

// Encode implements Codec.
func (c *completions) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	if c.Streams(turn) && isBatch(turn.Extra["prompt"]) {
		return dst, "", errors.New("extra.prompt: several prompts in one stream cannot be timed apart, send one or do not stream")
	}
	return c.encode(dst, turn, field{"prompt", turn.Prompt.Text()})
}

// isBatch tells whether a prompt set by the author is several prompts. A list of numbers is one prompt, in token ids.
func isBatch(prompt any) bool {
	list, _ := prompt.([]any)
	if len(list) < 2 {
		return false
	}
	_, isToken := wholeNumber(list[0])
	return !isToken
}
