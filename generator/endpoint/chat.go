package endpoint

// chat speaks POST /v1/chat/completions.
type chat struct{ openAI }

func newChat(cfg *Config) Codec {
	c := &chat{openAI{
		dialect: chatDialect, path: cfg.pathOr("/v1/chat/completions"), limitField: string(FieldMaxCompletionTokens),
		continuousUsage: cfg.ContinuousUsage, ignoreEOS: cfg.IgnoreEOS,
	}}
	if cfg.MaxTokensField != FieldAuto {
		c.limitField = string(cfg.MaxTokensField)
	}
	return c
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Encode implements Codec.
func (c *chat) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	return c.encode(dst, turn, field{"messages", []chatMessage{{Role: "user", Content: turn.Prompt.Text()}}})
}
