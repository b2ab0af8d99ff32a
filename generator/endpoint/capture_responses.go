package endpoint

import (
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// responsesKeeper decodes an answer of the responses protocol and keeps what it says.
type responsesKeeper struct {
	responsesDecoder
	keeper

	unplaced []string // the items that the server does not number (llama.cpp)
}

// Event implements Decoder.
func (k *responsesKeeper) Event(name, data []byte, chunk *Chunk) error {
	err := k.responsesDecoder.Event(name, data, chunk)
	if err == nil && chunk.Err == nil && !chunk.Done {
		k.event(name, data, chunk.Text)
	}
	return err
}

// Body implements Decoder.
func (k *responsesKeeper) Body(data []byte, chunk *Chunk) error {
	err := k.responsesDecoder.Body(data, chunk)
	if err == nil && chunk.Err == nil {
		k.response(data)
	}
	return err
}

// responsesPieces are the parts of an event as they stand.
type responsesPieces struct {
	kind, delta, whole       text
	output                   metrics.Count
	itemID                   text
	item, response, logprobs []byte
}

func readResponsesPieces(data []byte) responsesPieces {
	var p responsesPieces
	s := scanner{data: data}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "type":
			p.kind = s.text()
		case "delta":
			p.delta = s.text()
		case "text":
			p.whole = s.text()
		case "output_index":
			p.output = s.count()
		case "item_id":
			p.itemID = s.text()
		case "item":
			p.item = s.raw()
		case "response":
			p.response = s.raw()
		case "logprobs":
			p.logprobs = s.raw()
		default:
			s.skip()
		}
	}
	return p
}

// event reads an event that is known to be the protocol; isText tells that its text is new.
func (k *responsesKeeper) event(name, data []byte, isText bool) {
	p := readResponsesPieces(data)
	if !p.kind.empty() {
		name = p.kind.bytes()
	}
	switch string(name) {
	case "response.output_text.delta", "response.refusal.delta":
		k.text(p.delta)
		k.logprobs(&scanner{data: p.logprobs})
	case "response.output_text.done":
		if isText {
			k.text(p.whole)
			k.logprobs(&scanner{data: p.logprobs})
		}
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		k.reasoning(p.delta)
	case "response.function_call_arguments.delta", "response.mcp_call_arguments.delta", "response.custom_tool_call_input.delta":
		call := k.call(k.place(p.output, p.itemID))
		call.Arguments = p.delta.appendTo(call.Arguments)
	case "response.output_item.added", "response.output_item.done":
		i := readItem(p.item)
		k.toolCall(&i, k.place(p.output, i.name()))
	default:
		s := scanner{data: p.response}
		k.identify(s.memberText("id"))
	}
}

// place is the number of an item in the output, or one that stands for its name.
func (k *responsesKeeper) place(number metrics.Count, name text) int64 {
	if number.Known {
		return number.N
	}
	word := string(name.bytes())
	at := slices.Index(k.unplaced, word)
	if at < 0 {
		at = len(k.unplaced)
		k.unplaced = append(k.unplaced, word)
	}
	return int64(-1 - at)
}

// response reads a whole answer.
func (k *responsesKeeper) response(data []byte) {
	var output []byte
	var said text
	s := scanner{data: data}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "id":
			k.identify(s.text())
		case "output":
			output = s.raw()
		case "output_text":
			said = s.text()
		default:
			s.skip()
		}
	}
	s = scanner{data: output}
	number := int64(0)
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		k.item(s.raw(), number)
		number++
	}
	if len(k.to.Text) == 0 {
		k.text(said)
	}
}

func (k *responsesKeeper) item(data []byte, number int64) {
	i := readItem(data)
	switch string(i.kind.bytes()) {
	case "message":
		k.parts(i.content, k.text)
	case "reasoning":
		k.parts(i.summary, k.reasoning)
		k.parts(i.content, k.reasoning)
	default:
		k.toolCall(&i, number)
	}
}

// parts hands on the texts and refusals in a list of parts.
func (k *responsesKeeper) parts(data []byte, keep func(text)) {
	s := scanner{data: data}
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		var said, refusal text
		var logprobs []byte
		for ok := s.enterObject(); ok; ok = s.nextMember() {
			switch string(s.name()) {
			case "text":
				said = s.text()
			case "refusal":
				refusal = s.text()
			case "logprobs":
				logprobs = s.raw()
			default:
				s.skip()
			}
		}
		keep(said)
		keep(refusal)
		k.logprobs(&scanner{data: logprobs})
	}
}

// item is one piece of the output.
type item struct {
	kind, id         text
	callID, call     text // of a call, and what it calls
	arguments        text
	content, summary []byte
}

// name is how events call the item; for some servers that is the name of the call.
func (i *item) name() text {
	if i.id.empty() {
		return i.callID
	}
	return i.id
}

func readItem(data []byte) item {
	var i item
	s := scanner{data: data}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "type":
			i.kind = s.text()
		case "id":
			i.id = s.text()
		case "call_id":
			i.callID = s.text()
		case "name":
			i.call = s.text()
		case "arguments", "input":
			i.arguments = s.text()
		case "content":
			i.content = s.raw()
		case "summary":
			i.summary = s.raw()
		default:
			s.skip()
		}
	}
	return i
}

// toolCall notes a call. Arguments that have come in pieces are not taken twice.
func (k *responsesKeeper) toolCall(i *item, number int64) {
	switch string(i.kind.bytes()) {
	case "function_call", "mcp_call", "custom_tool_call":
	default:
		return
	}
	call := k.call(number)
	f := fragment{id: i.callID, name: i.call}
	if len(call.Arguments) == 0 {
		f.arguments = i.arguments
	}
	f.add(call)
}
