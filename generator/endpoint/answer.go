package endpoint

import (
	"bytes"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// dialect tells the chat from the completions form of a choice.
type dialect bool

const (
	chatDialect        dialect = false // choices[].delta or .message
	completionsDialect dialect = true  // choices[].text
)

const (
	space      = " \t\r\n"
	doneMarker = "[DONE]"
	errorEvent = "error" // an SSE event of this name is a failure, whatever its data

	maxNameBytes = 256 // of a model or its configuration
)

// signal reads what events of all protocols have in common: an event named error, one without data, and the end marker. done tells that
// there is nothing else in it; otherwise rest is its data.
func signal(name, data []byte, chunk *Chunk) (rest []byte, done bool) {
	if string(name) == errorEvent {
		chunk.Err = DecodeError(data)
		return nil, true
	}
	rest = bytes.Trim(data, space)
	if string(rest) == doneMarker {
		chunk.Done, chunk.Terminal = true, true
		return nil, true
	}
	return rest, len(rest) == 0
}

// decodeEvent reads one event of a stream.
func decodeEvent(as dialect, name, data []byte, chunk *Chunk) error {
	data, done := signal(name, data, chunk)
	if done {
		return nil
	}
	var a reply
	if err := a.decode(as, data); err != nil {
		return err
	}
	a.report(data, chunk)
	return nil
}

// decodeBody reads an answer that was not streamed. It is the protocol if it has choices or tells a failure.
func decodeBody(as dialect, data []byte, chunk *Chunk) error {
	var a reply
	if err := a.decode(as, data); err != nil {
		return err
	}
	if !a.choices.present && !a.failed() {
		return &ProtocolError{Reason: "an object without choices"}
	}
	a.report(data, chunk)
	if !chunk.Terminal {
		a.identify(chunk)
	}
	chunk.Terminal = true
	return nil
}

// The envelopes in which servers put usage, in order of precedence.
const (
	envelopeUsage = iota
	envelopeUsageMetadata
	envelopeMetaTokens
	envelopeTokens
	envelopes
)

// reply is what one object of the protocol says: an event, or a whole body. As in encoding/json the last of equal names wins, hence
// each value is assigned where its member is read, and only joined with others when the object has ended.
type reply struct {
	choices choices
	usage   [envelopes]metrics.Usage
	errored bool // `error` tells a failure
	object  text
	model   text
	// fingerprint is what the server calls its configuration.
	fingerprint text
}

// failed tells whether the object is a failure: it has an error, or it is one (older vLLM, SGLang, TensorRT-LLM).
func (a *reply) failed() bool { return a.errored || string(a.object.bytes()) == "error" }

// report fills chunk. data is the object itself.
func (a *reply) report(data []byte, chunk *Chunk) {
	chunk.Text, chunk.Reasoning, chunk.Tool = a.choices.text, a.choices.reasoning, a.choices.tool
	if word := a.choices.finish; !word.empty() {
		chunk.Terminal = true
		chunk.Finish = finishReason(word)
		a.identify(chunk)
	}
	for i := range a.usage {
		if chunk.Usage = a.usage[i]; !chunk.Usage.Empty() {
			break
		}
	}
	if a.failed() {
		chunk.Err = DecodeError(data)
	}
}

// identify fills in who has answered.
func (a *reply) identify(chunk *Chunk) {
	chunk.Model, chunk.Fingerprint = shortName(a.model), shortName(a.fingerprint)
}

// shortName decodes a name that a server gives.
func shortName(t text) string { return cut(t.decode(), maxNameBytes) }

// finishReason reads why an answer ended.
func finishReason(word text) metrics.FinishReason {
	return metrics.ParseFinishReason(string(word.bytes()))
}

// decode reads data, which must be one object and nothing else.
func (a *reply) decode(as dialect, data []byte) error {
	d := decoder{scanner: scanner{data: data}, dialect: as}
	if d.object() {
		d.answer(a)
	}
	return d.end()
}

// decoder reads the members that matter for measuring; it never keeps generated text.
type decoder struct {
	scanner

	dialect dialect
}

func (d *decoder) answer(a *reply) {
	for ok := d.enterObject(); ok; ok = d.nextMember() {
		switch string(d.name()) {
		case "choices":
			a.choices = d.choices()
		case "model":
			a.model = d.text()
		case "system_fingerprint":
			a.fingerprint = d.text()
		case "object":
			a.object = d.text()
		case "error":
			a.errored = d.truthy()
		case "usage":
			a.usage[envelopeUsage] = d.usage()
		case "usageMetadata":
			a.usage[envelopeUsageMetadata] = d.usage()
		case "meta":
			a.usage[envelopeMetaTokens] = d.metaTokens()
		case "tokens":
			a.usage[envelopeTokens] = d.usage()
		default:
			d.skip()
		}
	}
}

func (s *scanner) metaTokens() metrics.Usage {
	var u metrics.Usage
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		if string(s.name()) == "tokens" {
			u = s.usage()
		} else {
			s.skip()
		}
	}
	return u
}

// content tells the kinds of generated tokens in a message.
type content struct{ text, reasoning, tool bool }

func (c content) or(o content) content {
	return content{c.text || o.text, c.reasoning || o.reasoning, c.tool || o.tool}
}

// choices joins all choices of an answer: a token in any of them is a token of the answer.
type choices struct {
	content

	finish  text // the last one that is not empty
	present bool
}

func (d *decoder) choices() choices {
	c := choices{present: d.peek() == '['}
	for ok := d.enterArray(); ok; ok = d.nextElement() {
		one, finish := d.choice()
		c.content = c.or(one)
		if !finish.empty() {
			c.finish = finish
		}
	}
	return c
}

// choice reads one choice. Which of delta and message a chat choice has does not depend on the object's name: some servers leave
// that out, or stream whole messages.
func (d *decoder) choice() (c content, finish text) {
	var delta, message content
	var plain bool
	for ok := d.enterObject(); ok; ok = d.nextMember() {
		name := d.name()
		switch {
		case string(name) == "finish_reason":
			finish = d.text()
		case d.dialect == chatDialect && string(name) == "delta":
			delta = d.message()
		case d.dialect == chatDialect && string(name) == "message":
			message = d.message()
		case d.dialect == completionsDialect && string(name) == "text":
			plain = !d.text().empty()
		default:
			d.skip()
		}
	}
	return content{text: plain}.or(delta).or(message), finish
}

// message reads a chat message or the delta of one.
func (d *decoder) message() content {
	var text, refusal, reasoningContent, reasoning, calls, call bool
	for ok := d.enterObject(); ok; ok = d.nextMember() {
		switch string(d.name()) {
		case "content":
			text = !d.text().empty()
		case "refusal":
			refusal = !d.text().empty()
		case "reasoning_content": // DeepSeek, SGLang, llama.cpp, older vLLM
			reasoningContent = !d.text().empty()
		case "reasoning": // vLLM, Ollama, OpenRouter
			reasoning = !d.text().empty()
		case "tool_calls":
			calls = d.toolCalls()
		case "function_call": // the form before tool_calls
			call = d.function()
		default:
			d.skip()
		}
	}
	return content{text: text || refusal, reasoning: reasoningContent || reasoning, tool: calls || call}
}

func (d *decoder) toolCalls() bool {
	found := false
	for ok := d.enterArray(); ok; ok = d.nextElement() {
		if d.toolCall() {
			found = true
		}
	}
	return found
}

func (d *decoder) toolCall() bool {
	found := false
	for ok := d.enterObject(); ok; ok = d.nextMember() {
		if string(d.name()) == "function" {
			found = d.function()
		} else {
			d.skip()
		}
	}
	return found
}

// function reads a call and tells whether a name or a piece of the arguments is in it; both are generated.
func (d *decoder) function() bool {
	var name, arguments bool
	for ok := d.enterObject(); ok; ok = d.nextMember() {
		switch string(d.name()) {
		case "name":
			name = !d.text().empty()
		case "arguments":
			arguments = !d.text().empty()
		default:
			d.skip()
		}
	}
	return name || arguments
}
