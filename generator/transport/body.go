package transport

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// errorBodyBytes is how much of the body of a refusal is kept, to say why.
const errorBodyBytes = 64 << 10

var (
	// errBodyTooLarge tells that an answer holds more bytes than may be read.
	errBodyTooLarge = errors.New("answer too large")
	// errEncoded tells that an answer is compressed although this was not asked for. It cannot be measured: bytes wait in the compressor.
	errEncoded = errors.New("answer is encoded")
)

// bodyKind says what the body of an answer is.
type bodyKind uint8

const (
	bodyStream  bodyKind = iota // server-sent events
	bodyWhole                   // one event
	bodyRefusal                 // of an answer that is not 2xx
)

// body makes events of the body of one answer and gives them to the handler.
type body struct {
	clock   *metrics.SystemClock
	limit   int64 // of bytes, 0 = none
	dog     *watchdog
	handler Handler
	answer  *Answer
	buffer  *buffer
	payload []byte // of the request
	tape    recorder

	kind     bodyKind
	at, read int64 // of the last bytes
}

// begin takes the header of the answer, which arrived at the instant at.
func (b *body) begin(status int, header http.Header, at int64) error {
	b.at = at
	b.answer.Status, b.answer.Header = status, header
	b.tape.head(status, header)
	if status < 200 || status > 299 {
		b.kind = bodyRefusal
		b.dog.gotBytes(b.clock.Now()) // nothing is generated any more, so that silence from here on is idle
		return nil
	}
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return fmt.Errorf("%w as %q, identity was asked for", errEncoded, encoding)
	}
	// Only the media type counts, even where its parameters are malformed.
	media, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	b.kind = bodyWhole
	if strings.EqualFold(strings.TrimSpace(media), "text/event-stream") {
		b.kind, b.answer.Stream = bodyStream, true
	}
	return nil
}

// write takes a part of the body that arrived at the instant at with the read of that number, and was handed over at now. over tells
// that nothing more is wanted.
func (b *body) write(p []byte, at, read, now int64) (over bool, err error) {
	b.at, b.read = at, read
	b.dog.gotBytes(now)
	b.tape.part(p, at, read)
	b.answer.BodyBytes += int64(len(p))
	switch b.kind {
	case bodyStream:
		b.buffer.framer.Write(p, at, read)
		if over, err = b.deliver(b.buffer.framer.Next); over || err != nil {
			return over, err
		}
	case bodyWhole:
		b.buffer.whole.Write(p)
	case bodyRefusal:
		if room := errorBodyBytes - len(b.answer.ErrorBody); room > 0 {
			b.answer.ErrorBody = append(b.answer.ErrorBody, p[:min(len(p), room)]...)
		}
	}
	if b.limit > 0 && b.answer.BodyBytes > b.limit {
		return true, fmt.Errorf("%w: more than %d bytes", errBodyTooLarge, b.limit)
	}
	return false, nil
}

// end tells that the body is complete.
func (b *body) end() error {
	b.tape.whole = true
	switch b.kind {
	case bodyStream:
		_, err := b.deliver(b.buffer.framer.Close)
		return err
	case bodyWhole:
		b.handler.Event(&Event{Body: true, Data: b.buffer.whole.Bytes(), At: b.at, Read: b.read})
	case bodyRefusal:
	}
	return nil
}

// judge says what an error that ended the answer is worth. The body of a refusal may break off: the status has told the outcome.
func (b *body) judge(err error) error {
	if b.tape.broken == nil {
		b.tape.broken = err
	}
	if b.kind == bodyRefusal && b.answer.Status != 0 {
		return nil
	}
	return err
}

// deliver hands the events that next gives to the handler until there are no more or the handler stops.
func (b *body) deliver(next func(*Event) (bool, error)) (over bool, err error) {
	ev := &b.buffer.event
	for {
		ok, err := next(ev)
		if err != nil || !ok {
			return false, err
		}
		switch b.handler.Event(ev) {
		case Stop:
			return true, nil
		case Token:
			b.dog.gotToken()
		case More:
		}
	}
}

// buffer is what an exchange needs to take its answer.
type buffer struct {
	framer *Framer
	event  Event
	whole  bytes.Buffer // of an answer that is no stream
}

func newBuffer(maxEventBytes int64) *buffer { return &buffer{framer: NewFramer(int(maxEventBytes))} }

// reset forgets the exchange and gives back the memory of an unusually large one.
func (b *buffer) reset() {
	b.framer.Reset()
	b.event = Event{}
	if b.whole.Cap() > maxKeptBytes {
		b.whole = bytes.Buffer{}
	}
	b.whole.Reset()
}
