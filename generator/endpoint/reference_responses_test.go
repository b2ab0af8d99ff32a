package endpoint

import (
	"bytes"
	"errors"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// responsesReference is the reference decoder of the responses protocol for one answer.
type responsesReference struct{ begun map[[2]int64]bool }

func (r *responsesReference) event(data []byte) (Chunk, error) {
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
	kind, _ := root["type"].(string)
	response, _ := root["response"].(map[string]any)
	at := [2]int64{referenceCount(root["output_index"]).N, referenceCount(root["content_index"]).N}
	switch kind {
	case "response.output_text.delta":
		c.Text = said(root, "delta")
		if c.Text {
			if r.begun == nil {
				r.begun = map[[2]int64]bool{}
			}
			r.begun[at] = true
		}
	case "response.output_text.done":
		c.Text = said(root, "text") && !r.begun[at]
	case "response.refusal.delta":
		c.Text = said(root, "delta")
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		c.Reasoning = said(root, "delta")
	case "response.function_call_arguments.delta", "response.mcp_call_arguments.delta", "response.custom_tool_call_input.delta",
		"response.code_interpreter_call_code.delta":
		c.Tool = said(root, "delta")
	}
	ends := []string{"response.completed", "response.incomplete", "response.failed", "response.error", "response.cancelled", "error"}
	switch at := slices.Index(ends, kind); {
	case at < 0:
	case at == 0:
		referenceEnd(&c, response)
		referenceConclude(&c, response)
	case at == 1:
		referenceEnd(&c, response)
		referenceIncomplete(&c, response)
	default:
		referenceEnd(&c, response)
		c.Err = &ServerError{Message: "the answer has failed", Type: kind}
		if said(root, "message") {
			c.Err = DecodeError(data)
		}
	}
	if referenceTruthy(root["error"]) || referenceTruthy(response["error"]) {
		c.Err = DecodeError(data)
	}
	return c, nil
}

func referenceEnd(c *Chunk, response map[string]any) {
	c.Terminal = true
	c.Usage = referenceUsage(response["usage"], nil)
	c.Model = referenceName(response["model"])
}

func referenceIncomplete(c *Chunk, response map[string]any) {
	details, _ := response["incomplete_details"].(map[string]any)
	reason, _ := details["reason"].(string)
	if c.Finish = metrics.ParseFinishReason(reason); c.Finish != metrics.FinishLength {
		c.Err = &ServerError{Message: "the answer is incomplete", Type: "incomplete", Code: referenceName(reason)}
	}
}

func referenceOutput(response map[string]any) (text, reasoning, tool bool) {
	output, _ := response["output"].([]any)
	for _, item := range output {
		item, _ := item.(map[string]any)
		switch item["type"] {
		case "message":
			text = text || referenceAnyText(item["content"])
		case "reasoning":
			reasoning = reasoning || referenceAnyText(item["content"]) || referenceAnyText(item["summary"])
		case "function_call", "mcp_call", "custom_tool_call":
			tool = tool || said(item, "name") || said(item, "arguments") || said(item, "input")
		}
	}
	return text, reasoning, tool
}

func referenceAnyText(list any) bool {
	parts, _ := list.([]any)
	return slices.ContainsFunc(parts, func(part any) bool {
		o, _ := part.(map[string]any)
		return said(o, "text") || said(o, "refusal")
	})
}

func (r *responsesReference) body(data []byte) (Chunk, error) {
	root, err := referenceRoot(data)
	if err != nil {
		return Chunk{}, err
	}
	_, output := root["output"].([]any)
	if !output && !said(root, "output_text") && !said(root, "status") && !referenceTruthy(root["error"]) {
		return Chunk{}, errors.New("no output")
	}
	var c Chunk
	c.Text, c.Reasoning, c.Tool = referenceOutput(root)
	c.Text = c.Text || said(root, "output_text") && !c.Reasoning && !c.Tool
	referenceEnd(&c, root)
	referenceConclude(&c, root)
	if referenceTruthy(root["error"]) {
		c.Err = DecodeError(data)
	}
	return c, nil
}

func referenceConclude(c *Chunk, response map[string]any) {
	switch status := response["status"]; status {
	case "failed", "cancelled":
		c.Err = &ServerError{Message: "the answer has failed", Type: status.(string)}
	case "incomplete":
		referenceIncomplete(c, response)
	default:
		c.Finish = metrics.FinishStop
		if _, _, tool := referenceOutput(response); tool {
			c.Finish = metrics.FinishToolCalls
		}
	}
}
