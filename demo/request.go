package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The tokenizer's rule: a token is four bytes of text, rounded up per text; a chat prompt has four tokens more per message and three
// for the head of the answer, as chat templates cost.
const (
	bytesPerToken    = 4
	messageOverhead  = 4
	answerOverhead   = 3
	maxBodyBytes     = 16 << 20
	completionTokens = 16 // answer length of a completion that does not say, as OpenAI has it
)

// The reasons for which an answer ends by itself.
const (
	finishStop   = "stop"
	finishLength = "length"
)

// body holds the fields of a request that matter here; all others are accepted and ignored.
type body struct {
	Model               string    `json:"model"`
	Messages            []message `json:"messages"`
	Prompt              text      `json:"prompt"`
	Stream              bool      `json:"stream"`
	N                   *int      `json:"n"`
	MaxTokens           *int      `json:"max_tokens"`
	MaxCompletionTokens *int      `json:"max_completion_tokens"`
	MinTokens           int       `json:"min_tokens"`
	IgnoreEOS           bool      `json:"ignore_eos"`
	StreamOptions       *struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

type message struct {
	Role    string `json:"role"`
	Content text   `json:"content"`
}

// text is a string, null, an array of strings, or an array of content parts, of which only the text counts.
type text []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	var one *string
	if json.Unmarshal(data, &one) == nil {
		if one != nil {
			*t = text{*one}
		}
		return nil
	}
	if json.Unmarshal(data, (*[]string)(t)) == nil {
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return errors.New("must be a string, an array of strings or an array of content parts")
	}
	var joined strings.Builder
	for _, part := range parts {
		joined.WriteString(part.Text)
	}
	*t = text{joined.String()}
	return nil
}

// refusal is an answer that the client has brought upon itself.
type refusal struct {
	status  int
	kind    string
	message string
}

func refuse(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, kind: "BadRequestError", message: fmt.Sprintf(format, args...)}
}

// readBody reads and checks what does not depend on the model.
func readBody(r io.Reader, chat bool) (*body, *refusal) {
	data, err := io.ReadAll(r)
	if err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return nil, &refusal{http.StatusRequestEntityTooLarge, "BadRequestError", "the body is larger than 16 MiB"}
		}
		return nil, refuse("read the body: %v", err)
	}
	b := new(body)
	if err := json.Unmarshal(bytes.TrimSpace(data), b); err != nil {
		return nil, refuse("the body is not a request: %v", err)
	}
	switch {
	case chat && len(b.Messages) == 0:
		return nil, refuse("messages must not be empty")
	case !chat && len(b.Prompt) != 1:
		return nil, refuse("prompt must be one text, got %d", len(b.Prompt))
	case b.N != nil && *b.N != 1:
		return nil, refuse("n must be 1, got %d", *b.N)
	case b.StreamOptions != nil && !b.Stream:
		return nil, refuse("stream_options is only allowed when stream is true")
	}
	return b, nil
}

// ask is a request as the engine and the writers of answers see it.
type ask struct {
	chat, stream, includeUsage, continuousUsage bool

	promptTokens int
	limit        int    // tokens of the answer
	finish       string // why it ends there
}

// resolve decides what the model does with a request.
func (b *body) resolve(p *Profile, chat bool) (*ask, *refusal) {
	a := &ask{chat: chat, stream: b.Stream}
	if o := b.StreamOptions; o != nil {
		a.includeUsage, a.continuousUsage = o.IncludeUsage, o.ContinuousUsageStats
	}
	a.promptTokens = b.promptTokens(chat)
	return a, b.setLimit(a, p)
}

// setLimit fixes the answer's length: what the request allows, the context has room for, or the model wants to say, whichever is least.
func (b *body) setLimit(a *ask, p *Profile) *refusal {
	room := p.Engine.MaxContext - a.promptTokens
	allowed := room
	switch {
	case b.MaxCompletionTokens != nil:
		allowed = *b.MaxCompletionTokens
	case b.MaxTokens != nil:
		allowed = *b.MaxTokens
	case !a.chat:
		allowed = completionTokens
	}
	if room < 1 || allowed > room {
		return refuse("the maximum context length is %d tokens, but the prompt has %d and %d more were requested",
			p.Engine.MaxContext, a.promptTokens, max(1, allowed))
	}
	if allowed < 1 {
		return refuse("max_tokens must be >= 1, got %d", allowed)
	}
	wanted := max(p.AnswerTokens, b.MinTokens)
	if b.IgnoreEOS || wanted >= allowed {
		a.limit, a.finish = allowed, finishLength
	} else {
		a.limit, a.finish = wanted, finishStop
	}
	return nil
}

// promptTokens counts by the tokenizer's rule.
func (b *body) promptTokens(chat bool) int {
	if !chat {
		return max(1, b.Prompt.tokens())
	}
	n := answerOverhead
	for _, m := range b.Messages {
		n += messageOverhead + m.Content.tokens()
	}
	return n
}

func (t text) tokens() int {
	n := 0
	for _, s := range t {
		n += (len(s) + bytesPerToken - 1) / bytesPerToken
	}
	return n
}
