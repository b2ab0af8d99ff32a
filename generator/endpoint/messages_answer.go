package endpoint

import "github.com/aiperf-exporter/aiperf-exporter/metrics"

// messagesDecoder reads one answer of the messages protocol.
type messagesDecoder struct {
	// begun are the counts that came with the start of the answer. Those of its end replace them one by one.
	begun usageCounts
}

// messagesObject is what one object of the protocol says: an event, or a whole body.
type messagesObject struct {
	content

	kind    text
	listed  bool // has a list of content
	model   text
	stop    text // why the answer ended
	usage   usageCounts
	start   *messagesObject // message of a message_start; nil = none
	errored bool
}

// Event implements Decoder.
func (d *messagesDecoder) Event(name, data []byte, chunk *Chunk) error {
	data, done := signal(name, data, chunk)
	if done {
		return nil
	}
	s := scanner{data: data}
	var o messagesObject
	if s.object() {
		s.messagesEvent(&o)
	}
	if err := s.end(); err != nil {
		return err
	}
	kind := o.kind.bytes()
	if len(kind) == 0 {
		kind = name
	}
	d.report(&o, kind, chunk)
	if o.errored || string(kind) == errorEvent {
		chunk.Err = DecodeError(data)
	}
	return nil
}
