package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	stamping  io.Closer // keeps the kernel stamping; nil if it does not
}

// buffer is what an exchange needs to read its answer.
type buffer struct {
	bytes  []byte
	used   int // how many of the bytes are not zero
	framer *Framer
	body   bytes.Buffer
}

// New builds the client; files of certificates and credentials that cannot be read are errors.
func New(config Config, clock *metrics.SystemClock) (*Client, error) {
	options := []promconfig.HTTPClientOption{promconfig.WithIdleConnTimeout(5 * time.Minute)}
	config.HTTP.EnableHTTP2 = config.Version == HTTP2
	options = append(options, promconfig.WithDialContextFunc(dialer(&config)))
	if config.Reuse != KeepAlive {
		options = append(options, promconfig.WithKeepAlivesDisabled())
	}
	roundTrip, err := promconfig.NewRoundTripperFromConfigWithContext(context.Background(), config.HTTP, "aiperf_exporter", options...)
	if err != nil {
		return nil, fmt.Errorf("http client: %w", err)
	}
	c := &Client{config: config, clock: clock, roundTrip: roundTrip}
	if config.stamped() {
		c.stamping = keepStamping()
	}
	c.buffers.New = func() any {
		return &buffer{bytes: make([]byte, readBytes), framer: NewFramer(int(config.MaxEventBytes))}
	}
	return c, nil
}

// stamped tells whether connections are. With HTTP/2 one read serves several streams, so only those of HTTP/1.1 are.
func (c *Config) stamped() bool { return c.Version != HTTP2 && c.Timestamps == KernelTimestamps }

// dialer opens connections, stamped where the configuration asks for it.
func dialer(config *Config) promconfig.DialContextFunc {
	// net/http goes on dialling when the exchange has given up, for one to come. Where nothing answers, these dials would pile up for the
	// minutes that the system tries. The limit is beyond that of the exchange, which names the class.
	plain := (&net.Dialer{Timeout: 2 * config.Timeouts.Connect}).DialContext
	if !config.stamped() {
		return plain
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := plain(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return stamped(conn), nil
	}
}

// Close ends the idle connections. Requests in flight are not touched, but their stamps may fall back.
func (c *Client) Close() {
	if closer, ok := c.roundTrip.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
	if c.stamping != nil {
		_ = c.stamping.Close()
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

// Handler hears of one exchange while it runs, one call at a time.
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
	body := newPayload(request.Body)
	defer body.release()
	req, err := c.newRequest(request, body)
	if err != nil {
		timeline.Start = c.clock.Now()
		timeline.End = timeline.Start
		answer.Class, answer.Err = metrics.ErrClientInternal, err
		return answer
	}
	dog := newWatchdog(c.clock, c.config.Timeouts, request.Stream, cancel)
	defer dog.stop()
	tracer := newTrace(c.clock, dog.gotConnection)
	x := &exchange{client: c, trace: tracer, dog: dog, timeline: timeline, handler: handler, answer: &answer}

	req = req.WithContext(tracer.attach(ctx))
	timeline.Start = c.clock.Now()
	handler.Start(timeline.Start)
	response, err := c.roundTrip.RoundTrip(req)
	if err == nil {
		err = x.read(response)
	}
	timeline.End = max(c.clock.Now(), x.last)
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

func (c *Client) newRequest(request *Request, body *payload) (*http.Request, error) {
	req, err := http.NewRequest(http.MethodPost, request.URL, body) //nolint:noctx // the context comes with the trace
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
