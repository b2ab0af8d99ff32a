package endpoint

import (
	"bytes"
	"errors"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// messagesReference is the reference decoder of the messages protocol for one answer.
type messagesReference struct{ begun any } // usage of message_start

func (m *messagesReference) event(data []byte) (Chunk, error) {
	data = bytes.Trim(data, " \t\r\n")
	if len(data) == 0 {
		return Chunk{}, nil
	}
	if string(data) == "[DONE]" {
		return Chunk{Done: true, Terminal: true}, nil
	}
	root, err := referenceRoot(data)
	if err != nil {
		return Chunk{}, err
	}
	var c Chunk
	delta, _ := root["delta"].(map[string]any)
	switch root["type"] {
	case "message_start":
		message, _ := root["message"].(map[string]any)
		m.begun = message["usage"]
		c.Usage = referenceUsage(m.begun, nil)
		c.Model = referenceName(message["model"])
	case "content_block_delta":
		c.Text = delta["type"] == "text_delta" && said(delta, "text")
		c.Reasoning = delta["type"] == "thinking_delta" && said(delta, "thinking")
		c.Tool = delta["type"] == "input_json_delta" && said(delta, "partial_json")
	case "message_delta":
		if hasCount(root["usage"]) {
			c.Usage = referenceUsage(root["usage"], m.begun)
		}
		word, _ := delta["stop_reason"].(string)
		c.Terminal = word != ""
		c.Finish = metrics.ParseFinishReason(word)
	case "message_stop":
		c.Terminal, c.Done = true, true
	case "error":
		c.Err = DecodeError(data)
	}
	if referenceTruthy(root["error"]) {
		c.Err = DecodeError(data)
	}
	return c, nil
}

func (m *messagesReference) body(data []byte) (Chunk, error) {
	root, err := referenceRoot(data)
	if err != nil {
		return Chunk{}, err
	}
	blocks, listed := root["content"].([]any)
	failed := referenceTruthy(root["error"]) || root["type"] == "error"
	if !listed && !failed {
		return Chunk{}, errors.New("no content")
	}
	c := Chunk{Terminal: true, Usage: referenceUsage(root["usage"], nil), Model: referenceName(root["model"])}
	for _, block := range blocks {
		block, _ := block.(map[string]any)
		switch block["type"] {
		case "text":
			c.Text = c.Text || said(block, "text")
		case "thinking":
			c.Reasoning = c.Reasoning || said(block, "thinking")
		case "tool_use", "server_tool_use", "mcp_tool_use":
			c.Tool = c.Tool || said(block, "name")
		}
	}
	word, _ := root["stop_reason"].(string)
	c.Finish = metrics.ParseFinishReason(word)
	if failed {
		c.Err = DecodeError(data)
	}
	return c, nil
}
