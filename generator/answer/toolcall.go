package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
)

// toolCalls judges the tool calls of an answer.
type toolCalls struct {
	name      string
	arguments *schema // nil = anything
	known     toolCache
}

func newToolCall(e *Expect) (func(*Answer) string, error) {
	t := &toolCalls{name: e.ToolCall.Name, known: toolCache{seed: maphash.MakeSeed()}}
	if e.ToolCall.Arguments != nil {
		if e.ToolCall.Name == "" {
			return nil, errors.New("arguments need the name of the tool whose arguments they are")
		}
		s, err := schemaOf(e.ToolCall.Arguments)
		if err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		t.arguments = s
	}
	return t.judge, nil
}

func (t *toolCalls) judge(a *Answer) string {
	if len(a.Tools) == 0 {
		return "calls no tool"
	}
	offered := t.known.of(a.Offered)
	named := t.name == ""
	for i := range a.Tools {
		call := &a.Tools[i]
		if wrong := t.call(call, offered); wrong != "" {
			return fmt.Sprintf("tool call %d %s", i+1, wrong)
		}
		named = named || call.Name == t.name
	}
	if !named {
		return fmt.Sprintf("does not call the tool %q", cut(t.name, maxQuoted))
	}
	return ""
}

// call says what is wrong with one call, "" = nothing.
func (t *toolCalls) call(call *ToolCall, offered map[string]*schema) string {
	own, ok := offered[call.Name]
	if (offered != nil && !ok) || call.Name == "" {
		return "names no tool of the request"
	}
	arguments := call.Arguments
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = []byte("{}") // how models call a tool without parameters
	}
	value, err := decodeJSON(arguments)
	if err != nil {
		return "has arguments that are no JSON: " + err.Error()
	}
	if _, ok := value.(map[string]any); !ok {
		return "has arguments that are no JSON object"
	}
	if own != nil {
		if wrong := own.breachOf(value); wrong != "" {
			return wrong
		}
	}
	if t.arguments != nil && call.Name == t.name {
		return t.arguments.breachOf(value)
	}
	return ""
}

// toolCache keeps the schemas of the tools of requests, which are the same for most of them.
type toolCache struct {
	seed maphash.Seed

	mu   sync.Mutex
	sets map[uint64]map[string]*schema
}

// maxToolSets bounds the cache; beyond it, it starts anew.
const maxToolSets = 64

// of gives the schema of the arguments of each tool, nil where the tool has none that can be used; a nil map if no tools are known.
func (c *toolCache) of(definitions json.RawMessage) map[string]*schema {
	if len(definitions) == 0 {
		return nil
	}
	key := maphash.Bytes(c.seed, definitions)
	c.mu.Lock()
	defer c.mu.Unlock()
	if set, ok := c.sets[key]; ok {
		return set
	}
	set := toolSchemas(definitions)
	if c.sets == nil || len(c.sets) >= maxToolSets {
		c.sets = map[uint64]map[string]*schema{}
	}
	c.sets[key] = set
	return set
}

// toolSchemas reads definitions in each of their forms: chat has them under `function`, others in the definition itself, and Anthropic
// calls the schema `input_schema`.
func toolSchemas(definitions json.RawMessage) map[string]*schema {
	type function struct {
		Name        string          `json:"name"`
		Parameters  json.RawMessage `json:"parameters"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	var tools []struct {
		function

		Function *function `json:"function"`
	}
	if json.Unmarshal(definitions, &tools) != nil {
		return nil
	}
	set := make(map[string]*schema, len(tools))
	for i := range tools {
		f := &tools[i].function
		if tools[i].Function != nil {
			f = tools[i].Function
		}
		raw := f.Parameters
		if raw == nil {
			raw = f.InputSchema
		}
		s, err := newSchema(raw)
		if err != nil {
			s = nil // the request's own mistake, not the answer's
		}
		set[f.Name] = s
	}
	return set
}
