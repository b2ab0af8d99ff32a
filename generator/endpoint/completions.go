package endpoint

import (
	"errors"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// completions speaks POST /v1/completions.
type completions struct{ openAI }

func newCompletions(cfg *Config) Codec {
	return &completions{newOpenAI(cfg, completionsDialect, "/v1/completions", FieldMaxTokens)}
}

// Encode implements Codec.
func (c *completions) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	if payload := recorded(turn); payload != nil {
		return append(dst, payload...), jsonType, nil
	}
	text, err := completionsPrompt(turn.Prompt)
	if err != nil {
		return dst, "", err
	}
	if own, set := c.lookup(turn, "prompt"); set {
		text = own
	}
	if c.Streams(turn) && isBatch(text) {
		return dst, "", errors.New("prompt: several prompts in one stream cannot be timed apart, send one or do not stream")
	}
	return c.encode(dst, turn, field{"prompt", text})
}

// completionsPrompt is what is asked: a string, or a list of them if the message has several texts.
func completionsPrompt(p *prompt.Prompt) (any, error) {
	system, said := conversation(p, true)
	if len(said) > 1 {
		return nil, errors.New("the completions protocol has no conversations, ask one thing at a time")
	}
	asked := prompt.Prompt{System: system, Messages: said}
	m := asked.Last()
	switch {
	case m.Raw != nil:
		return nil, errors.New("the completions protocol cannot send a message of another protocol")
	case !textOnly(m):
		return nil, errors.New("the completions protocol only takes text")
	}
	texts := m.Texts()
	if len(texts) < 2 {
		return asked.Text(), nil
	}
	batch := make([]any, len(texts))
	for i, text := range texts {
		one := prompt.Prompt{System: system, Messages: []prompt.Message{prompt.TextMessage(m.Role, text)}}
		batch[i] = one.Text()
	}
	return batch, nil
}

// isBatch tells whether a prompt is several prompts. A list of numbers is one prompt, in token ids.
func isBatch(asked any) bool {
	list, _ := asked.([]any)
	if len(list) < 2 {
		return false
	}
	_, isToken := wholeNumber(list[0])
	return !isToken
}
