package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

var (
	// errBodyTooLarge tells that an answer holds more bytes than may be read.
	errBodyTooLarge = errors.New("answer too large")
	// errEncoded tells that an answer is compressed although this was not asked for. It cannot be measured: bytes wait in the compressor.
	errEncoded = errors.New("answer is encoded")
)

// exchange reads one answer.
type exchange struct {
	client   *Client
	trace    *trace
	dog      *watchdog
	timeline *metrics.Timeline
	handler  Handler
	answer   *Answer

	last  int64  // arrival of the last bytes
	marks []mark // of the last read of the body
}

func (x *exchange) read(response *http.Response) error {
	defer response.Body.Close()
	x.timeline.Header = max(x.trace.stamps.arrival(), x.timeline.Start)
	x.last = x.timeline.Header
	x.answer.Status, x.answer.Header = response.StatusCode, response.Header
	buf := x.client.buffers.Get().(*buffer)
	defer x.client.release(buf)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return x.readError(response.Body, buf)
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return fmt.Errorf("%w as %q, identity was asked for", errEncoded, encoding)
	}
	// Only the media type counts, even where its parameters are malformed.
	media, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	x.answer.Stream = strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
	if x.answer.Stream {
		return x.readStream(response.Body, buf)
	}
	return x.readBody(response.Body, buf)
}

func (c *Client) release(buf *buffer) {
	buf.wipe()
	buf.framer.Reset()
	if buf.body.Cap() > 1<<20 {
		buf.body = bytes.Buffer{}
	}
	buf.body.Reset()
	c.buffers.Put(buf)
}

// next reads once into buf, whose first n bytes are then new, and sets the marks that say when they arrived.
func (x *exchange) next(body io.Reader, buf *buffer) (n int, now int64, err error) {
	buf.wipe()
	x.trace.stamps.begin(buf.bytes)
	n, err = body.Read(buf.bytes)
	now = x.client.clock.Now()
	x.marks = x.trace.stamps.end(n, now)
	buf.used = n
	if n == 0 {
		return 0, now, err
	}
	for i := range x.marks {
		m := &x.marks[i]
		m.at = max(m.at, x.last)
		x.last = m.at
	}
	x.dog.gotBytes(now)
	x.answer.BodyBytes += int64(n)
	if limit := x.client.config.MaxBodyBytes; limit > 0 && x.answer.BodyBytes > limit {
		err = fmt.Errorf("%w: more than %d bytes", errBodyTooLarge, limit)
	}
	return n, now, err
}

func (x *exchange) readStream(body io.Reader, buf *buffer) error {
	var ev Event
	for {
		n, now, err := x.next(body, buf)
		if n > 0 {
			stop, frameErr := x.frame(buf, &ev)
			x.answer.DecodeTime += x.client.clock.Now() - now
			if stop || frameErr != nil {
				return frameErr
			}
		}
		if errors.Is(err, io.EOF) {
			_, err = x.deliver(buf.framer.Close, &ev)
			return err
		}
		if err != nil {
			return fmt.Errorf("read stream: %w", err)
		}
	}
}

// frame gives what has been read to the framer, each part with the instant of its arrival, and its events to the handler.
func (x *exchange) frame(buf *buffer, ev *Event) (stop bool, err error) {
	begin := 0
	for i, m := range x.marks {
		part := buf.bytes[begin:m.end]
		// A part without the end of a line completes no event. Joined with what follows, a large event is not copied.
		if i+1 < len(x.marks) && bytes.IndexByte(part, '\n') < 0 && bytes.IndexByte(part, '\r') < 0 {
			continue
		}
		buf.framer.Write(part, m.at, m.read)
		begin = m.end
		if stop, err = x.deliver(buf.framer.Next, ev); stop || err != nil {
			return stop, err
		}
	}
	return false, nil
}

// deliver hands the events that next gives to the handler until there are no more or the handler stops.
func (x *exchange) deliver(next func(*Event) (bool, error), ev *Event) (stop bool, err error) {
	for {
		ok, err := next(ev)
		if err != nil || !ok {
			return false, err
		}
		switch x.handler.Event(ev) {
		case Stop:
			return true, nil
		case Token:
			x.dog.gotToken()
		case More:
		}
	}
}

func (x *exchange) readBody(body io.Reader, buf *buffer) error {
	end := mark{at: x.last}
	for {
		n, _, err := x.next(body, buf)
		if n > 0 {
			end = x.marks[len(x.marks)-1]
			buf.body.Write(buf.bytes[:n])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
	}
	x.handler.Event(&Event{Body: true, Data: buf.body.Bytes(), At: end.at, Read: end.read})
	return nil
}

// readError keeps the beginning of a refusal's body and reads the rest, within limits, so that the connection can be used again. A body
// that breaks off changes nothing: the status has told the outcome.
func (x *exchange) readError(body io.Reader, buf *buffer) error {
	x.dog.gotBytes(x.client.clock.Now()) // nothing is generated any more, so that silence from here on is idle
	for {
		n, _, err := x.next(body, buf)
		if room := errorBodyBytes - len(x.answer.ErrorBody); n > 0 && room > 0 {
			x.answer.ErrorBody = append(x.answer.ErrorBody, buf.bytes[:min(n, room)]...)
		}
		if err != nil {
			return nil //nolint:nilerr // see above
		}
	}
}

// wipe makes the bytes zero again, as stamps needs them.
func (b *buffer) wipe() {
	clear(b.bytes[:b.used])
	b.used = 0
}
