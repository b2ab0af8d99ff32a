package endpoint

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// renderContent gives what a message says: one text alone as a string, which every server takes, anything else as a list of parts in the
// order texts, images, audios, videos. A list without parts, which servers refuse, is the empty string.
func renderContent(m *prompt.Message, render func(*prompt.Part) (any, error)) (any, error) {
	if len(m.Parts) == 1 && m.Parts[0].Kind == prompt.Text {
		return m.Parts[0].Text, nil
	}
	var parts []any
	for _, kind := range []prompt.Kind{prompt.Text, prompt.Image, prompt.Audio, prompt.Video} {
		for _, p := range m.Of(kind) {
			if kind == prompt.Text && p.Text == "" {
				continue
			}
			part, err := render(p)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
	}
	if parts == nil {
		return "", nil
	}
	return parts, nil
}

// textOnly tells whether a message has nothing but texts.
func textOnly(m *prompt.Message) bool {
	for i := range m.Parts {
		if m.Parts[i].Kind != prompt.Text {
			return false
		}
	}
	return true
}

// mediaURL is a medium as a URL: the one where it is, or its bytes. It is empty for a medium that the server has already, by its ID.
func mediaURL(p *prompt.Part) string {
	if len(p.Data) == 0 {
		return p.URL
	}
	return "data:" + typeOfMedium(p) + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// inputAudio is a clip as chat and responses take it.
type inputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

func newInputAudio(p *prompt.Part) (*inputAudio, error) {
	data, mediaType, err := inlined(p)
	if err != nil {
		return nil, fmt.Errorf("audio: %w", err)
	}
	return &inputAudio{Data: base64.StdEncoding.EncodeToString(data), Format: audioFormat(mediaType)}, nil
}

// audioFormat is the word of these protocols for a media type of audio.
func audioFormat(mediaType string) string {
	word := strings.TrimPrefix(strings.TrimPrefix(mediaType, "audio/"), "x-")
	switch word {
	case "mpeg":
		return "mp3"
	case "wave", "vnd.wave":
		return "wav"
	}
	return word
}
