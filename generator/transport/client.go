package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"sync"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const (
	// readBytes is large enough to take what a busy stream sends between two wake-ups in one read.
	readBytes = 32 << 10
	// errorBodyBytes is how much of the body of a refusal is kept, to say why.
	errorBodyBytes = 64 << 10
)

// Client sends the requests of one target and is safe for concurrent use.
type Client struct {
	config    Config
	clock     *metrics.SystemClock
	roundTrip http.RoundTripper
	buffers   sync.Pool // *buffer
}

// buffer is what an exchange needs to read its answer.
type buffer struct {
	bytes  []byte
	framer *Framer
	body   bytes.Buffer
}

// New builds the client; files of certificates and credentials that cannot be read are errors.
func New(config Config, clock *metrics.SystemClock) (*Client, error) {
	options := []promconfig.HTTPClientOption{promconfig.WithIdleConnTimeout(5 * time.Minute)}
	config.HTTP.EnableHTTP2 = config.Version == HTTP2
	options = append(options, promconfig.WithDialContextFunc(dialer(&config, clock)))
	if config.Reuse != KeepAlive {
		options = append(options, promconfig.WithKeepAlivesDisabled())
	}
	roundTrip, err := promconfig.NewRoundTripperFromConfigWithContext(context.Background(), config.HTTP, "aiperf_exporter", options...)
	if err != nil {
		return nil, fmt.Errorf("http client: %w", err)
	}
	c := &Client{config: config, clock: clock, roundTrip: roundTrip}
	c.buffers.New = func() any {
		return &buffer{bytes: make([]byte, readBytes), framer: NewFramer(int(config.MaxEventBytes))}
	}
	return c, nil
}

// dialer opens connections, stamped where the configuration asks for it. With HTTP/2 one read serves several streams, so only HTTP/1.1
// connections are stamped.
func dialer(config *Config, clock *metrics.SystemClock) promconfig.DialContextFunc {
	plain := (&net.Dialer{}).DialContext
	if config.Version == HTTP2 || config.Timestamps != KernelTimestamps {
		return plain
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := plain(ctx, network, address)
		if err != nil {
			return nil, err //nolint:wrapcheck // the class is told from the net.OpError itself
		}
		return stamped(conn, clock), nil
	}
}

// Close ends the idle connections. Requests in flight are not touched.
func (c *Client) Close() {
	if closer, ok := c.roundTrip.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// Request is one POST.
type Request struct {
	URL    string
	Header http.Header
	Body   []byte
	// Stream: a stream is expected, so that the limit for the first token applies.
	Stream bool
}

// Verdict is what a Handler says after an event.
type Verdict uint8

// The verdicts.
const (
	More  Verdict = iota // nothing has been generated yet, or nothing changed
	Token                // the answer has begun: the limit for the first token is kept
	Stop                 // the answer is over, the connection is closed
)

// Handler takes the events of an answer with a 2xx status, on the goroutine that called Do.
type Handler interface {
	Event(ev *Event) Verdict
}

// Answer is what came of a request. With neither Class nor Cancelled the answer has been read to its end, or until the handler stopped it.
type Answer struct {
	Status    int // 0 = none
	Header    http.Header
	Stream    bool   // the answer was a stream of server-sent events
	ErrorBody []byte // the beginning of the body of an answer that is not 2xx

	Class     metrics.ErrorClass
	Cancelled bool
	Err       error

	ConnObtained, ConnReused bool
	BodyBytes                int64
	KernelStamps             bool
	StampFallbacks           int64
	KernelDelay              int64 // largest time that bytes lay in the kernel, ns
	DecodeTime               int64 // spent on framing and in the handler, ns
}

// Do sends the request and reads the answer, never following a redirect and never retrying. It fills timeline from Start on, except what
// only the meaning of events can tell.
func (c *Client) Do(ctx context.Context, request *Request, timeline *metrics.Timeline, handler Handler) Answer {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var answer Answer
	req, err := c.newRequest(request)
	if err != nil {
		timeline.Start = c.clock.Now()
		timeline.End = timeline.Start
		answer.Class, answer.Err = metrics.ErrClientInternal, err
		return answer
	}
	dog := newWatchdog(c.config.Timeouts, request.Stream, cancel)
	defer dog.stop()
	tracer := &trace{clock: c.clock, connected: dog.gotConnection}
	x := &exchange{client: c, trace: tracer, dog: dog, timeline: timeline, handler: handler, answer: &answer}

	req = req.WithContext(tracer.attach(ctx))
	timeline.Start = c.clock.Now()
	response, err := c.roundTrip.RoundTrip(req)
	if err == nil {
		err = x.read(response)
	}
	timeline.End = max(c.clock.Now(), x.last)
	tracer.finish(timeline)
	answer.ConnObtained, answer.ConnReused = tracer.obtained, tracer.reused
	if tracer.stamps != nil {
		answer.KernelStamps = true
		answer.StampFallbacks = tracer.stamps.fallbacks.Load() - tracer.before
	}
	if err != nil {
		answer.Err = err
		answer.Class, answer.Cancelled = classify(ctx, err, tracer, answer.Status != 0)
		if cause := context.Cause(ctx); cause != nil {
			answer.Err = cause
		}
	}
	return answer
}

func (c *Client) newRequest(request *Request) (*http.Request, error) {
	// The body hides its type, so that net/http cannot send it a second time on its own: one arrival is one request.
	body := struct{ io.Reader }{bytes.NewReader(request.Body)}
	req, err := http.NewRequest(http.MethodPost, request.URL, body) //nolint:noctx // the context comes with the trace
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	req.ContentLength = int64(len(request.Body))
	req.Header = request.Header
	if c.config.Credential == nil {
		return req, nil
	}
	name, value, err := c.config.Credential()
	if err != nil {
		return nil, fmt.Errorf("credential: %w", err)
	}
	req.Header.Set(name, value)
	return req, nil
}

// exchange reads one answer.
type exchange struct {
	client   *Client
	trace    *trace
	dog      *watchdog
	timeline *metrics.Timeline
	handler  Handler
	answer   *Answer
	last     int64 // arrival of the last bytes
}

func (x *exchange) read(response *http.Response) error {
	defer response.Body.Close()
	x.timeline.Header = max(x.trace.headerArrival(), x.timeline.Start)
	x.last = x.timeline.Header
	x.answer.Status, x.answer.Header = response.StatusCode, response.Header
	buf := x.client.buffers.Get().(*buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer x.client.release(buf)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return x.readError(response.Body, buf)
	}
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	x.answer.Stream = err == nil && media == "text/event-stream"
	if x.answer.Stream {
		return x.readStream(response.Body, buf)
	}
	return x.readBody(response.Body, buf)
}

func (c *Client) release(buf *buffer) {
	buf.framer.Reset()
	if buf.body.Cap() > 1<<20 {
		buf.body = bytes.Buffer{}
	}
	buf.body.Reset()
	c.buffers.Put(buf)
}

// next reads once and says when the bytes arrived.
func (x *exchange) next(body io.Reader, p []byte) (n int, at, read int64, err error) {
	n, err = body.Read(p)
	if n == 0 {
		return 0, x.last, 0, err //nolint:wrapcheck // looked at by the caller
	}
	x.answer.BodyBytes += int64(n)
	at = x.client.clock.Now()
	read = x.answer.BodyBytes // without stamps each read of the body stands for one of the connection
	if s := x.trace.stamps; s != nil {
		at, read = s.at.Load(), s.read.Load()
		x.answer.KernelDelay = max(x.answer.KernelDelay, s.delay.Load())
	}
	at = max(at, x.last)
	x.last = at
	x.dog.gotBytes()
	if limit := x.client.config.MaxBodyBytes; limit > 0 && x.answer.BodyBytes > limit {
		return n, at, read, fmt.Errorf("%w: more than %d bytes", errBodyTooLarge, limit)
	}
	return n, at, read, err //nolint:wrapcheck // looked at by the caller
}

func (x *exchange) readStream(body io.Reader, buf *buffer) error {
	var ev Event
	for {
		n, at, read, err := x.next(body, buf.bytes)
		if n > 0 {
			began := x.client.clock.Now()
			buf.framer.Write(buf.bytes[:n], at, read)
			stop, frameErr := x.deliver(buf.framer.Next, &ev)
			x.answer.DecodeTime += x.client.clock.Now() - began
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
	var at, read int64
	for {
		n, when, number, err := x.next(body, buf.bytes)
		if n > 0 {
			at, read = when, number
			buf.body.Write(buf.bytes[:n])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
	}
	if at == 0 {
		at = x.last
	}
	x.handler.Event(&Event{Body: true, Data: buf.body.Bytes(), At: at, Read: read})
	return nil
}

// readError keeps the beginning of a refusal's body and reads the rest, within limits, so that the connection can be used again. A body
// that breaks off changes nothing: the status has told the outcome.
func (x *exchange) readError(body io.Reader, buf *buffer) error {
	for {
		n, _, _, err := x.next(body, buf.bytes)
		if room := errorBodyBytes - len(x.answer.ErrorBody); n > 0 && room > 0 {
			x.answer.ErrorBody = append(x.answer.ErrorBody, buf.bytes[:min(n, room)]...)
		}
		if err != nil {
			return nil //nolint:nilerr // see above
		}
	}
}
