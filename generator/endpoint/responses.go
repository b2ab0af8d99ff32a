package endpoint

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// responses speaks POST /v1/responses. A stream always ends with usage, so that nothing asks for it.
type responses struct {
	jsonBody

	path string
}

func newResponses(cfg *Config) Codec {
	return &responses{jsonBody{extra: cfg.Extra, limits: []string{"max_output_tokens"}}, cfg.pathOr("/v1/responses")}
}

// Traits implements Codec.
func (r *responses) Traits() Traits { return Traits{} }

// Path implements Codec.
func (r *responses) Path(string, bool) string { return r.path }

// responsesItem is one message; Content is a string, or a list of *responsesPart.
type responsesItem struct {
	Type    string      `json:"type"`
	Role    prompt.Role `json:"role"`
	Content any         `json:"content"`
}

type responsesPart struct {
	Type       string      `json:"type"`
	Text       string      `json:"text,omitempty"`
	ImageURL   string      `json:"image_url,omitempty"`
	InputAudio *inputAudio `json:"input_audio,omitempty"`
}

// notReplayed are items of an answer that a server refuses as input unless the tools behind them are configured again, or without the server's own
// record of the answer.
var notReplayed = []string{
	"web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "computer_call", "reasoning",
}

// Encode implements Codec. A server that keeps its answers (store) only gets what is new since the last one.
func (r *responses) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	return r.encodeFields(dst, turn, r.fields)
}

func (r *responses) fields(turn *Turn) (body, error) {
	system, said := conversation(turn.Prompt, false)
	stored, _ := r.lookup(turn, "store")
	chained := stored == true && turn.PreviousID != ""
	if chained {
		said = newest(said)
	}
	items, err := responsesItems(said)
	if err != nil {
		return nil, err
	}
	b := body{{"input", items}, {"model", turn.Model}, {"stream", turn.Stream}}
	if chained {
		b.set("previous_response_id", turn.PreviousID)
	}
	if system != "" {
		b.set("instructions", system)
	}
	if turn.MaxOutputTokens > 0 {
		b.set(r.limits[0], turn.MaxOutputTokens)
	}
	if turn.Prompt.Tools != nil {
		b.set("tools", turn.Prompt.Tools)
	}
	return b, nil
}

// responsesItems are the messages: responsesItem, or as the dataset has them.
func responsesItems(said []prompt.Message) ([]any, error) {
	items := make([]any, 0, len(said))
	for i := range said {
		m := &said[i]
		if m.Raw != nil {
			if replayed(m.Raw) {
				items = append(items, m.Raw)
			}
			continue
		}
		render := renderResponsesPart
		if m.Role == prompt.Assistant {
			render = renderOutputPart
		}
		content, err := renderContent(m, render)
		if err != nil {
			return nil, err
		}
		items = append(items, responsesItem{"message", m.Role, content})
	}
	return items, nil
}

func replayed(item json.RawMessage) bool {
	kind, _ := member(item, "type")
	word, _ := kind.(string)
	return !slices.Contains(notReplayed, word)
}

func renderResponsesPart(p *prompt.Part) (any, error) {
	switch p.Kind {
	case prompt.Image:
		return &responsesPart{Type: "input_image", ImageURL: mediaURL(p)}, nil
	case prompt.Audio:
		audio, err := newInputAudio(p)
		return &responsesPart{Type: "input_audio", InputAudio: audio}, err
	case prompt.Video:
		return nil, errors.New("the responses protocol takes no video")
	default:
		return &responsesPart{Type: "input_text", Text: p.Text}, nil
	}
}

// renderOutputPart renders a part of an earlier answer.
func renderOutputPart(p *prompt.Part) (any, error) {
	if p.Kind != prompt.Text {
		return nil, errors.New("the responses protocol takes nothing but text as an earlier answer")
	}
	return &responsesPart{Type: "output_text", Text: p.Text}, nil
}

// Decoder implements Codec.
func (r *responses) Decoder(keep *answer.Transcript) Decoder {
	if keep == nil {
		return &responsesDecoder{}
	}
	return &responsesKeeper{keeper: keeper{to: keep}}
}
