package endpoint

import "github.com/aiperf-exporter/aiperf-exporter/generator/prompt"

// chat speaks POST /v1/chat/completions.
type chat struct{ openAI }

func newChat(cfg *Config) Codec {
	c := &chat{newOpenAI(cfg, chatDialect, "/v1/chat/completions", FieldMaxCompletionTokens, FieldMaxTokens)}
	if cfg.MaxTokensField == FieldMaxTokens {
		c.limits[0], c.limits[1] = c.limits[1], c.limits[0]
	}
	return c
}

// chatMessage is one message; Content is a string, or a list of *chatPart.
type chatMessage struct {
	Role    prompt.Role `json:"role"`
	Content any         `json:"content"`
}

type chatPart struct {
	Type       string      `json:"type"`
	Text       string      `json:"text,omitempty"`
	ImageURL   *chatURL    `json:"image_url,omitempty"`
	InputAudio *inputAudio `json:"input_audio,omitempty"`
	VideoURL   *chatURL    `json:"video_url,omitempty"`
	// UUID names the medium to vLLM, which then finds it again without having it sent.
	UUID string `json:"uuid,omitempty"`
}

type chatURL struct {
	URL string `json:"url"`
}

// Encode implements Codec.
func (c *chat) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	if payload := recorded(turn); payload != nil {
		return append(dst, payload...), jsonType, nil
	}
	messages, err := chatMessages(turn.Prompt)
	if err != nil {
		return dst, "", err
	}
	return c.encode(dst, turn, field{"messages", messages})
}

// chatMessages are the messages of a chat: chatMessage, or as the dataset has them.
func chatMessages(p *prompt.Prompt) ([]any, error) {
	system, said := conversation(p, false)
	messages := make([]any, 0, len(said)+1)
	if system != "" {
		messages = append(messages, chatMessage{prompt.System, system})
	}
	for i := range said {
		m := &said[i]
		if m.Raw != nil {
			messages = append(messages, m.Raw)
			continue
		}
		content, err := renderContent(m, renderChatPart)
		if err != nil {
			return nil, err
		}
		messages = append(messages, chatMessage{m.Role, content})
	}
	return messages, nil
}

func renderChatPart(p *prompt.Part) (any, error) {
	switch p.Kind {
	case prompt.Image:
		return &chatPart{Type: "image_url", ImageURL: &chatURL{mediaURL(p)}, UUID: p.ID}, nil
	case prompt.Audio:
		audio, err := newInputAudio(p)
		return &chatPart{Type: "input_audio", InputAudio: audio, UUID: p.ID}, err
	case prompt.Video:
		return &chatPart{Type: "video_url", VideoURL: &chatURL{mediaURL(p)}, UUID: p.ID}, nil
	default:
		return &chatPart{Type: "text", Text: p.Text}, nil
	}
}
