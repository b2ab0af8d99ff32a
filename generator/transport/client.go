package transport

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Client sends the requests of one target and is safe for concurrent use.
//
// HTTP/1.1 is spoken by this package itself (direct), so that nothing stands between the socket and the meaning of an event; HTTP/2 and
// proxies are left to net/http (roundTripper).
type Client struct {
	config  Config
	clock   *metrics.SystemClock
	carrier carrier
	buffers sync.Pool // *buffer
}

// carrier takes one exchange from its start to its end. Close ends what is idle.
type carrier interface {
	carry(ctx context.Context, request *http.Request, t *trace, b *body, timeline *metrics.Timeline) error
	Close()
}

// New builds the client; files of certificates and credentials that cannot be read are errors.
func New(config Config, clock *metrics.SystemClock, poller *Poller) (*Client, error) {
	c := &Client{config: config, clock: clock}
	var err error
	if config.Version == HTTP2 || config.HTTP.ProxyURL.URL != nil || config.HTTP.ProxyFromEnvironment {
		c.carrier, err = newRoundTripper(&c.config, clock)
	} else {
		c.carrier, err = newDirect(&c.config, clock, poller)
	}
	if err != nil {
		return nil, fmt.Errorf("http client: %w", err)
	}
	c.buffers.New = func() any { return newBuffer(config.MaxEventBytes) }
	return c, nil
}

// Close ends the idle connections. Requests in flight are not touched.
func (c *Client) Close() { c.carrier.Close() }

// Request is one POST.
type Request struct {
	URL    string
	Header http.Header
	Body   []byte
	// Stream: a stream is expected, so that the limit for the first token applies.
	Stream bool
	// Abandon: close the connection AbandonAfter after the request has been written, whatever has come by then. The answer is Cancelled.
	Abandon      bool
	AbandonAfter time.Duration
	// Tape takes what goes over the wire, up to TapeBytes of each body with 16 more for each read; nil = nobody wants it. It is blank.
	Tape      *metrics.Tape
	TapeBytes int
}

// Verdict is what a Handler says after an event.
type Verdict uint8

// The verdicts.
const (
	More  Verdict = iota // nothing has been generated yet, or nothing changed
	Token                // the answer has begun: the limit for the first token is kept
	Stop                 // the answer is over, the connection is closed
)

// Handler hears of one exchange while it runs, one call at a time. Its calls may come from another goroutine than that of Do, which
// serves other exchanges too: they must not wait.
type Handler interface {
	// Start tells the instant at which the exchange leaves this process, before anything of the answer. It is not called for one that never does.
	Start(at int64)
	// Event takes the events of an answer with a 2xx status.
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

	// CertsExpire is when the first of the certificates ends that the server has shown; zero: no handshake of TLS was made for this exchange.
	CertsExpire time.Time

	ConnObtained, ConnReused bool
	IPFamily                 metrics.IPFamily // of the connection, "" = there was none
	BodyBytes                int64
	KernelStamps             bool
	StampFallbacks           int64 // reads whose kernel stamp was missing or impossible
	KernelDelay              int64 // largest time that bytes lay in the kernel, ns
	DecodeTime               int64 // spent on framing and in the handler, ns
}

// Do sends the request and reads the answer, never following a redirect and never retrying. It fills timeline from Start on, except what
// only the meaning of events can tell. After it returns the handler is not called any more.
func (c *Client) Do(ctx context.Context, request *Request, timeline *metrics.Timeline, handler Handler) Answer {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var answer Answer
	timeline.Start = c.clock.Now()
	req, err := c.newRequest(ctx, request)
	if err != nil {
		timeline.End = timeline.Start
		answer.Class, answer.Err = metrics.ErrClientInternal, err
		return answer
	}
	dog := newWatchdog(c.clock, c.config.Timeouts, request.Stream, cancel)
	defer dog.stop()
	tracer := newTrace(c.clock, dog.gotConnection)
	if request.Abandon {
		tracer.sent = func(at int64) { dog.abandonAt(at + int64(request.AbandonAfter)) }
	}
	buffer := c.buffers.Get().(*buffer)
	defer func() {
		buffer.reset()
		c.buffers.Put(buffer)
	}()
	b := &body{clock: c.clock, limit: c.config.MaxBodyBytes, dog: dog, handler: handler, answer: &answer, buffer: buffer, payload: request.Body, tape: newRecorder(request)}
	defer func() { b.tape.finish(ctx, request, err) }() // also if the handler panics

	err = c.carrier.carry(ctx, req, tracer, b, timeline)
	tracer.finish(timeline, &answer)
	if err != nil {
		answer.Err = err
		answer.Class, answer.Cancelled = classify(ctx, err, tracer, answer.Status != 0)
		if cause := context.Cause(ctx); cause != nil {
			answer.Err = cause
		}
	}
	return answer
}

// newRequest has everything but the body.
func (c *Client) newRequest(ctx context.Context, request *Request) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, request.URL, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	req.ContentLength = int64(len(request.Body))
	if request.Header != nil {
		// A copy: net/http may still look at it when Do has returned.
		req.Header = request.Header.Clone()
	}
	if user := req.URL.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
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
