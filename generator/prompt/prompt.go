// Package prompt is what is asked, in terms that no wire protocol owns: the workload makes it, the endpoint puts it on the wire.
package prompt

import (
	"encoding/json"
	"strings"
)

// Prompt is one turn of a conversation, with everything that was said before it.
type Prompt struct {
	// System is the system prompt; "" = none. Protocols without one put it before the first message.
	System string
	// Messages are the conversation so far; the last one is what is asked now.
	Messages []Message
	// Tools is a JSON array of tool definitions as a dataset has them; nil = none.
	Tools json.RawMessage
	// Payload is a whole request body as it was recorded. It is sent byte for byte, and then everything else here is empty.
	Payload []byte
}

// Role says who speaks.
type Role string

// The roles that this program gives by itself; datasets may have others.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one contribution to a conversation.
type Message struct {
	Role  Role
	Parts []Part
	// Raw is the whole message as a dataset has it, sent as it is by protocols with messages; Role and Parts are empty then.
	Raw json.RawMessage
}

// Kind is the kind of a part.
type Kind uint8

// The kinds.
const (
	Text Kind = iota
	Image
	Audio
	Video
)

// Part is a piece of a message: a text, or one medium that is either inline (Data) or elsewhere (URL).
type Part struct {
	Kind Kind
	// Name tells the parts of a message apart where a protocol does: query and passages of a ranking.
	Name string
	Text string // of Kind Text
	// MediaType of Data, such as image/png or audio/wav.
	MediaType string
	Data      []byte
	URL       string // http, https or data
	// ID names the medium to a server that keeps it (vLLM's uuid).
	ID string
	// Seconds is how long an audio clip lasts; 0 = not known.
	Seconds float64
}

// The names of the parts of a ranking.
const (
	Query    = "query"
	Passages = "passages"
)

// OfText makes the prompt that is one text of the user.
func OfText(text string) Prompt { return Prompt{Messages: []Message{TextMessage(User, text)}} }

// TextMessage makes a message of one text.
func TextMessage(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Text: text}}}
}

// Last is the message that is asked now, an empty one if there is none.
func (p *Prompt) Last() *Message {
	if len(p.Messages) == 0 {
		return &Message{}
	}
	return &p.Messages[len(p.Messages)-1]
}

// Size is about how many bytes a message holds.
func (m *Message) Size() int {
	n := len(m.Raw)
	for i := range m.Parts {
		n += len(m.Parts[i].Text) + len(m.Parts[i].Data) + len(m.Parts[i].URL)
	}
	return n
}

// Texts are the texts of a message in their order.
func (m *Message) Texts() []string {
	var out []string
	for i := range m.Parts {
		if m.Parts[i].Kind == Text {
			out = append(out, m.Parts[i].Text)
		}
	}
	return out
}

// Named are the texts of a message with this name.
func (m *Message) Named(name string) []string {
	var out []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == Text && p.Name == name {
			out = append(out, p.Text)
		}
	}
	return out
}

// Of are the parts of a message of this kind.
func (m *Message) Of(kind Kind) []*Part {
	var out []*Part
	for i := range m.Parts {
		if m.Parts[i].Kind == kind {
			out = append(out, &m.Parts[i])
		}
	}
	return out
}

// Text is everything that is asked now in one text, for protocols that take only one: system prompt and texts of the last message, joined
// by a blank line and a space.
func (p *Prompt) Text() string {
	text := strings.Join(p.Last().Texts(), " ")
	switch {
	case p.System == "":
		return text
	case text == "":
		return p.System
	}
	return p.System + "\n\n" + text
}
