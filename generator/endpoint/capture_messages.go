package endpoint

// messagesKeeper decodes an answer of the messages protocol and keeps what it says.
type messagesKeeper struct {
	messagesDecoder
	keeper
}

// Event implements Decoder.
func (k *messagesKeeper) Event(name, data []byte, chunk *Chunk) error {
	err := k.messagesDecoder.Event(name, data, chunk)
	if err == nil && chunk.Err == nil && !chunk.Done {
		k.event(name, data)
	}
	return err
}

// Body implements Decoder.
func (k *messagesKeeper) Body(data []byte, chunk *Chunk) error {
	err := k.messagesDecoder.Body(data, chunk)
	if err == nil && chunk.Err == nil {
		k.message(data)
	}
	return err
}

// messagesPieces are the parts of an event as they stand.
type messagesPieces struct {
	kind                  text
	index                 int64
	message, block, delta []byte
}

func readMessagesPieces(data []byte) messagesPieces {
	var p messagesPieces
	s := scanner{data: data}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "type":
			p.kind = s.text()
		case "index":
			p.index = s.count().N
		case "message":
			p.message = s.raw()
		case "content_block":
			p.block = s.raw()
		case "delta":
			p.delta = s.raw()
		default:
			s.skip()
		}
	}
	return p
}

// event reads an event that is known to be the protocol.
func (k *messagesKeeper) event(name, data []byte) {
	p := readMessagesPieces(data)
	if !p.kind.empty() {
		name = p.kind.bytes()
	}
	switch string(name) {
	case "message_start":
		s := scanner{data: p.message}
		k.identify(s.memberText("id"))
	case "content_block_start":
		s := scanner{data: p.block}
		if b := s.block(); b.isCall() {
			f := fragment{id: b.id, name: b.name}
			f.add(k.call(p.index))
		}
	case "content_block_delta":
		k.delta(&p)
	case "content_block_stop":
		k.closeCall(p.index)
	}
}

func (k *messagesKeeper) delta(p *messagesPieces) {
	s := scanner{data: p.delta}
	d := s.messagesDelta()
	switch string(d.kind.bytes()) {
	case "text_delta":
		k.text(d.text)
	case "thinking_delta":
		k.reasoning(d.thinking)
	case "input_json_delta":
		call := k.call(p.index)
		call.Arguments = d.partial.appendTo(call.Arguments)
	}
}

// closeCall ends a call. One without arguments comes without a piece of them; the whole form of such a call has an empty object.
func (k *messagesKeeper) closeCall(index int64) {
	for i, number := range k.calls {
		if number == index && len(k.to.Tools[i].Arguments) == 0 {
			k.to.Tools[i].Arguments = []byte("{}")
		}
	}
}

// message reads a whole answer.
func (k *messagesKeeper) message(data []byte) {
	var blocks []byte
	s := scanner{data: data}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "id":
			k.identify(s.text())
		case "content":
			blocks = s.raw()
		default:
			s.skip()
		}
	}
	s = scanner{data: blocks}
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		b := s.block()
		switch {
		case b.isCall():
			f := fragment{id: b.id, name: b.name, object: b.input}
			f.add(k.newCall(int64(len(k.calls))))
		case string(b.kind.bytes()) == "text":
			k.text(b.text)
		case string(b.kind.bytes()) == "thinking":
			k.reasoning(b.thinking)
		}
	}
}
