package endpoint

import (
	"errors"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

var errNoText = errors.New("prompt has no text")

// question is what protocols without conversations can ask: one message, and a system prompt that stands before its first text.
type question struct {
	*prompt.Message

	system string
}

func newQuestion(p *prompt.Prompt) (question, error) {
	system, said := conversation(p, true)
	switch {
	case len(said) > 1:
		return question{}, errors.New("prompt is a conversation, which the protocol does not know: ask one thing at a time")
	case len(said) == 0:
		return question{&prompt.Message{}, system}, nil
	case said[0].Raw != nil:
		return question{}, errors.New("prompt is a message of another protocol")
	}
	return question{&said[0], system}, nil
}

// inputs are the texts, which are asked one by one.
func (q *question) inputs() []string {
	var texts []string
	for _, text := range q.Texts() {
		if text != "" {
			texts = append(texts, text)
		}
	}
	switch {
	case q.system == "":
	case len(texts) == 0:
		return []string{q.system}
	default:
		texts[0] = q.system + "\n\n" + texts[0]
	}
	return texts
}

// askedTexts are the texts of a prompt; none is an error.
func askedTexts(p *prompt.Prompt) ([]string, error) {
	q, err := newQuestion(p)
	if err != nil {
		return nil, err
	}
	texts := q.inputs()
	if len(texts) == 0 {
		return nil, errNoText
	}
	return texts, nil
}

// askedText is the text of a prompt as one; none is an error.
func askedText(p *prompt.Prompt) (string, error) {
	texts, err := askedTexts(p)
	return strings.Join(texts, " "), err
}
