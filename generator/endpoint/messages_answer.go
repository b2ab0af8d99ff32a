package endpoint

// messagesDecoder reads one answer of the messages protocol.
type messagesDecoder struct {
	// begun are the counts that came with the start of the answer. Those of its end replace them one by one.
	begun usageCounts
}

// messagesEvent is what one event says.
type messagesEvent struct {
	kind    text
	message messagesReply // of the first event
	delta   messagesDelta
	usage   usageCounts
	errored bool
}

type messagesDelta struct {
	kind                    text
	text, thinking, partial text
	stop                    text // why the answer ended
}

// messagesReply is a whole answer, or what is known of it when it begins.
type messagesReply struct {
	content

	kind    text
	listed  bool // has a list of content
	model   text
	stop    text
	usage   usageCounts
	errored bool
}

// Event implements Decoder.
func (d *messagesDecoder) Event(name, data []byte, chunk *Chunk) error {
	data, done := signal(name, data, chunk)
	if done {
		return nil
	}
	s := scanner{data: data}
	var e messagesEvent
	if s.object() {
		s.messagesEvent(&e)
	}
	if err := s.end(); err != nil {
		return err
	}
	kind := e.kind.bytes()
	if len(kind) == 0 {
		kind = name
	}
	d.report(&e, kind, chunk)
	if e.errored || string(kind) == errorEvent {
		chunk.Err = DecodeError(data)
	}
	return nil
}

// report fills chunk with what an event of this kind says.
func (d *messagesDecoder) report(e *messagesEvent, kind []byte, chunk *Chunk) {
	switch string(kind) {
	case "message_start":
		d.begun = e.message.usage
		chunk.Usage = d.begun.resolve()
		chunk.Model = shortName(e.message.model)
	case "content_block_delta":
		switch string(e.delta.kind.bytes()) {
		case "text_delta":
			chunk.Text = !e.delta.text.empty()
		case "thinking_delta":
			chunk.Reasoning = !e.delta.thinking.empty()
		case "input_json_delta":
			chunk.Tool = !e.delta.partial.empty()
		}
	case "message_delta":
		if e.usage != (usageCounts{}) {
			e.usage.fill(&d.begun)
			chunk.Usage = e.usage.resolve()
		}
		chunk.Terminal = !e.delta.stop.empty()
		chunk.Finish = finishReason(e.delta.stop)
	case "message_stop":
		chunk.Terminal, chunk.Done = true, true
	}
}

// Body implements Decoder.
func (d *messagesDecoder) Body(data []byte, chunk *Chunk) error {
	s := scanner{data: data}
	var r messagesReply
	if s.object() {
		s.messagesReply(&r)
	}
	if err := s.end(); err != nil {
		return err
	}
	failed := r.errored || string(r.kind.bytes()) == errorEvent
	if !r.listed && !failed {
		return &ProtocolError{Reason: "an object without content"}
	}
	chunk.Text, chunk.Reasoning, chunk.Tool = r.text, r.reasoning, r.tool
	chunk.Terminal = true
	chunk.Finish = finishReason(r.stop)
	chunk.Usage = r.usage.resolve()
	chunk.Model = shortName(r.model)
	if failed {
		chunk.Err = DecodeError(data)
	}
	return nil
}

func (s *scanner) messagesEvent(e *messagesEvent) {
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "type":
			e.kind = s.text()
		case "message":
			e.message = messagesReply{}
			s.messagesReply(&e.message)
		case "delta":
			e.delta = s.messagesDelta()
		case "usage":
			e.usage = s.usageCounts()
		case "error":
			e.errored = s.truthy()
		default:
			s.skip()
		}
	}
}

func (s *scanner) messagesDelta() messagesDelta {
	var d messagesDelta
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "type":
			d.kind = s.text()
		case "text":
			d.text = s.text()
		case "thinking":
			d.thinking = s.text()
		case "partial_json":
			d.partial = s.text()
		case "stop_reason":
			d.stop = s.text()
		default:
			s.skip()
		}
	}
	return d
}

func (s *scanner) messagesReply(r *messagesReply) {
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "type":
			r.kind = s.text()
		case "content":
			r.listed = s.peek() == '['
			r.content = content{}
			for ok := s.enterArray(); ok; ok = s.nextElement() {
				b := s.block()
				r.content = r.or(b.said())
			}
		case "model":
			r.model = s.text()
		case "stop_reason":
			r.stop = s.text()
		case "usage":
			r.usage = s.usageCounts()
		case "error":
			r.errored = s.truthy()
		default:
			s.skip()
		}
	}
}

// block is a piece of the content.
type block struct {
	kind, id, name text
	text, thinking text
	input          []byte
}

func (b *block) isCall() bool {
	switch string(b.kind.bytes()) {
	case "tool_use", "server_tool_use", "mcp_tool_use":
		return true
	}
	return false
}

// said tells what the block carries.
func (b *block) said() content {
	switch string(b.kind.bytes()) {
	case "text":
		return content{text: !b.text.empty()}
	case "thinking":
		return content{reasoning: !b.thinking.empty()}
	}
	return content{tool: b.isCall() && !b.name.empty()}
}

func (s *scanner) block() block {
	var b block
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "type":
			b.kind = s.text()
		case "id":
			b.id = s.text()
		case "name":
			b.name = s.text()
		case "text":
			b.text = s.text()
		case "thinking":
			b.thinking = s.text()
		case "input":
			b.input = s.raw()
		default:
			s.skip()
		}
	}
	return b
}
