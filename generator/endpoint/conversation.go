package endpoint

import (
	"encoding/json"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// conversation gives the system prompt and the messages after it. What a dataset says first as the system comes behind the prompt's own
// system text, because a second system message is refused or ignored. Without such a text it stays a message as the dataset has it, unless
// the protocol knows no messages of the system (lift).
func conversation(p *prompt.Prompt, lift bool) (system string, messages []prompt.Message) {
	system, messages = p.System, p.Messages
	for len(messages) > 0 && (lift || system != "") {
		said, ok := systemText(&messages[0])
		if !ok {
			break
		}
		if system != "" && said != "" {
			system += "\n\n"
		}
		system += said
		messages = messages[1:]
	}
	return system, messages
}

// systemText gives the text of a message of the system; ok is false for any other message.
func systemText(m *prompt.Message) (text string, ok bool) {
	if m.Raw == nil {
		return strings.Join(m.Texts(), "\n\n"), m.Role == prompt.System && textOnly(m)
	}
	if roleOf(m) != prompt.System {
		return "", false
	}
	content, _ := member(m.Raw, "content")
	if text, ok := content.(string); ok {
		return text, true
	}
	var parts []struct{ Text string }
	list, err := json.Marshal(content)
	if err != nil || json.Unmarshal(list, &parts) != nil {
		return "", false
	}
	texts := make([]string, len(parts))
	for i := range parts {
		texts[i] = parts[i].Text
	}
	return strings.Join(texts, "\n\n"), true
}

// roleOf is who speaks, also in a message as a dataset has it.
func roleOf(m *prompt.Message) prompt.Role {
	if m.Raw == nil {
		return m.Role
	}
	role, _ := member(m.Raw, "role")
	word, _ := role.(string)
	return prompt.Role(word)
}

// newest are the messages since the last answer: what is new to a server that keeps the conversation.
func newest(messages []prompt.Message) []prompt.Message {
	for i := len(messages) - 1; i >= 0; i-- {
		if roleOf(&messages[i]) == prompt.Assistant {
			return messages[i+1:]
		}
	}
	return messages
}
