package endpoint

import "github.com/aiperf-exporter/aiperf-exporter/metrics"

// responsesDecoder reads one answer of the responses protocol.
type responsesDecoder struct {
	// begun are the parts of the answer that have come in pieces, so that their end says nothing new.
	begun parts
}

// part is a place in the answer: an item of the output, and a part of its content.
type part struct{ output, content int64 }

// parts is a set of parts. Most answers have one.
type parts struct {
	last  part
	any   bool
	other map[part]struct{} // all but the last
}

func (p *parts) add(one part) {
	if p.any && p.last == one {
		return
	}
	if p.any {
		if p.other == nil {
			p.other = map[part]struct{}{}
		}
		p.other[p.last] = struct{}{}
	}
	p.last, p.any = one, true
}

func (p *parts) has(one part) bool {
	if p.any && p.last == one {
		return true
	}
	_, found := p.other[one]
	return found
}

// responsesEvent is what one event says.
type responsesEvent struct {
	kind        text
	delta, text text
	part        part
	response    response
	errored     bool
	message     bool // has words about a failure
}

// response is a whole answer: in the last event of a stream, or by itself.
type response struct {
	content

	output  bool // has a list of output, or its text
	status  text
	reason  text // for which it is incomplete
	errored bool
	model   text
	usage   metrics.Usage
	said    bool // output_text, a server's or a library's sum of all texts
}

// Event implements Decoder.
func (d *responsesDecoder) Event(name, data []byte, chunk *Chunk) error {
	data, done := signal(name, data, chunk)
	if done {
		return nil
	}
	s := scanner{data: data}
	var e responsesEvent
	if s.object() {
		e = s.responsesEvent()
	}
	if err := s.end(); err != nil {
		return err
	}
	kind := e.kind.bytes()
	if len(kind) == 0 {
		kind = name
	}
	d.report(&e, kind, data, chunk)
	return nil
}

// report fills chunk with what an event of this kind says.
func (d *responsesDecoder) report(e *responsesEvent, kind, data []byte, chunk *Chunk) {
	switch string(kind) {
	case "response.output_text.delta":
		if chunk.Text = !e.delta.empty(); chunk.Text {
			d.begun.add(e.part)
		}
	case "response.output_text.done":
		chunk.Text = !e.text.empty() && !d.begun.has(e.part)
	case "response.refusal.delta":
		chunk.Text = !e.delta.empty()
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		chunk.Reasoning = !e.delta.empty()
	case "response.function_call_arguments.delta", "response.mcp_call_arguments.delta", "response.custom_tool_call_input.delta",
		"response.code_interpreter_call_code.delta":
		chunk.Tool = !e.delta.empty()
	case "response.completed": // of vLLM also for an incomplete answer
		e.response.end(chunk)
		e.response.conclude(chunk)
	case "response.incomplete":
		e.response.end(chunk)
		e.response.cutShort(chunk)
	case "response.failed", "response.error", "response.cancelled", "error":
		e.response.end(chunk)
		chunk.Err = &ServerError{Message: answerFailed, Type: shortName(e.kind)}
		e.errored = e.errored || e.message
	}
	if e.errored || e.response.errored {
		chunk.Err = DecodeError(data)
	}
}

// Body implements Decoder.
func (d *responsesDecoder) Body(data []byte, chunk *Chunk) error {
	s := scanner{data: data}
	var r response
	if s.object() {
		r = s.response()
	}
	if err := s.end(); err != nil {
		return err
	}
	if !r.output && !r.errored && r.status.empty() {
		return &ProtocolError{Reason: "an object without output"}
	}
	chunk.Text, chunk.Reasoning, chunk.Tool = r.text, r.reasoning, r.tool
	if r.said && r.content == (content{}) {
		chunk.Text = true
	}
	r.end(chunk)
	r.conclude(chunk)
	if r.errored {
		chunk.Err = DecodeError(data)
	}
	return nil
}

// end fills in what the end of an answer says.
func (r *response) end(chunk *Chunk) {
	chunk.Terminal = true
	chunk.Usage = r.usage
	chunk.Model = shortName(r.model)
}

// conclude tells how the answer ended, by its status.
func (r *response) conclude(chunk *Chunk) {
	switch status := r.status.bytes(); string(status) {
	case "failed", "cancelled":
		chunk.Err = &ServerError{Message: answerFailed, Type: string(status)}
	case "incomplete":
		r.cutShort(chunk)
	default:
		chunk.Finish = metrics.FinishStop
		if r.tool {
			chunk.Finish = metrics.FinishToolCalls
		}
	}
}

// answerFailed is what is said of a failure about which the server says nothing. The answer itself must not be quoted.
const answerFailed = "the answer has failed"

// cutShort judges an incomplete answer: one that has used up its tokens is what was asked for, any other has failed.
func (r *response) cutShort(chunk *Chunk) {
	chunk.Finish = finishReason(r.reason)
	if chunk.Finish != metrics.FinishLength {
		reason := shortName(r.reason)
		chunk.Err = &ServerError{Message: "the answer is incomplete", Type: "incomplete", Code: reason}
	}
}

func (s *scanner) responsesEvent() responsesEvent {
	var e responsesEvent
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "type":
			e.kind = s.text()
		case "delta":
			e.delta = s.text()
		case "text":
			e.text = s.text()
		case "output_index":
			e.part.output = s.count().N
		case "content_index":
			e.part.content = s.count().N
		case "response":
			e.response = s.response()
		case "error":
			e.errored = s.truthy()
		case "message":
			e.message = !s.text().empty()
		default:
			s.skip()
		}
	}
	return e
}

func (s *scanner) response() response {
	var r response
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "output":
			r.output = s.peek() == '['
			r.content = s.responseOutput()
		case "output_text":
			r.said = !s.text().empty()
		case "status":
			r.status = s.text()
		case "incomplete_details":
			r.reason = s.memberText("reason")
		case "error":
			r.errored = s.truthy()
		case "model":
			r.model = s.text()
		case "usage":
			r.usage = s.usage()
		default:
			s.skip()
		}
	}
	r.output = r.output || r.said
	return r
}

// memberText reads an object and returns one of its members as a text.
func (s *scanner) memberText(member string) text {
	var t text
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		if string(s.name()) == member {
			t = s.text()
		} else {
			s.skip()
		}
	}
	return t
}
