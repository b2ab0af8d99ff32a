package endpoint

import (
	"encoding/base64"
	"errors"
	"net/http"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// messages speaks POST /v1/messages, Anthropic's protocol.
type messages struct {
	jsonBody

	path string
}

// unlimitedTokens is the limit that is sent when nobody wants one: the protocol does not do without.
const unlimitedTokens = 1024

func newMessages(cfg *Config) Codec {
	return &messages{jsonBody{extra: cfg.Extra, limits: []string{"max_tokens"}}, cfg.pathOr("/v1/messages")}
}

// Traits implements Codec.
func (m *messages) Traits() Traits {
	return Traits{KeyHeader: "X-Api-Key", Header: http.Header{"Anthropic-Version": {"2023-06-01"}}}
}

// Path implements Codec.
func (m *messages) Path(string, bool) string { return m.path }

// OutputLimit implements Codec.
func (m *messages) OutputLimit(turn *Turn) int {
	if turn.MaxOutputTokens <= 0 && recorded(turn) == nil {
		limited := *turn
		limited.MaxOutputTokens = unlimitedTokens
		turn = &limited
	}
	return m.jsonBody.OutputLimit(turn)
}

// messagesMessage is one message; Content is a string, or a list of *messagesPart.
type messagesMessage struct {
	Role    prompt.Role `json:"role"`
	Content any         `json:"content"`
}

type messagesPart struct {
	Type   string          `json:"type"`
	Text   string          `json:"text,omitempty"`
	Source *messagesSource `json:"source,omitempty"`
}

// messagesSource is a medium: its bytes, or where it is.
type messagesSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// Encode implements Codec. The field stream is left out of a body that does not stream, as the vendor's clients do.
func (m *messages) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	return m.encodeFields(dst, turn, m.fields)
}

func (m *messages) fields(turn *Turn) (body, error) {
	system, said := conversation(turn.Prompt, true)
	list := make([]any, len(said))
	for i := range said {
		if said[i].Raw != nil {
			list[i] = said[i].Raw
			continue
		}
		content, err := renderContent(&said[i], renderMessagesPart)
		if err != nil {
			return nil, err
		}
		list[i] = messagesMessage{said[i].Role, content}
	}
	limit := turn.MaxOutputTokens
	if limit <= 0 {
		limit = unlimitedTokens
	}
	b := body{{"model", turn.Model}, {"messages", list}, {m.limits[0], limit}}
	if turn.Stream {
		b.set("stream", true)
	}
	if system != "" {
		b.set("system", system)
	}
	if turn.Prompt.Tools != nil {
		b.set("tools", turn.Prompt.Tools)
	}
	return b, nil
}

func renderMessagesPart(p *prompt.Part) (any, error) {
	switch p.Kind {
	case prompt.Text:
		return &messagesPart{Type: "text", Text: p.Text}, nil
	case prompt.Image:
		if isElsewhere(p) {
			return &messagesPart{Type: "image", Source: &messagesSource{Type: "url", URL: p.URL}}, nil
		}
		data, mediaType, err := inlined(p)
		source := messagesSource{Type: "base64", MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(data)}
		return &messagesPart{Type: "image", Source: &source}, err
	default:
		return nil, errors.New("the messages protocol takes neither audio nor video")
	}
}

// Decoder implements Codec.
func (m *messages) Decoder(keep *answer.Transcript) Decoder {
	if keep == nil {
		return &messagesDecoder{}
	}
	return &messagesKeeper{keeper: keeper{to: keep}}
}
