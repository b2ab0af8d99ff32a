package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// roundTripper has net/http carry the exchanges. The return of a read is the instant of arrival.
type roundTripper struct {
	config     *Config
	clock      *metrics.SystemClock
	authorizer *authorizer
	turns      turns
	// fresh makes what serves one request, on a connection of its own. Those that share it may share a connection of HTTP/2 that is about to
	// be closed.
	fresh func() (http.RoundTripper, error)
	kept  renewal
	proxy func(*http.Request) (*url.URL, error) // nil = there is none
}

func newRoundTripper(config *Config, clock *metrics.SystemClock) (*roundTripper, error) {
	config.HTTP.EnableHTTP2 = config.Version == HTTP2
	credentials, connections := apart(&config.HTTP)
	a, err := newAuthorizer(&credentials, config.dialForToken)
	if err != nil {
		return nil, err
	}
	r := &roundTripper{config: config, clock: clock, authorizer: a, turns: turns{config: config}}
	open := func(options ...promconfig.HTTPClientOption) (http.RoundTripper, error) {
		options = append(options, promconfig.WithIdleConnTimeout(idleTimeout), promconfig.WithDialContextFunc(config.dial))
		return promconfig.NewRoundTripperFromConfigWithContext(context.Background(), connections, "aiperf_exporter", options...)
	}
	r.fresh = func() (http.RoundTripper, error) { return open(promconfig.WithKeepAlivesDisabled()) }
	r.kept.open = func() (http.RoundTripper, error) { return open() }
	r.kept.clock, r.kept.maxAge = clock, config.DNSRefresh
	if err = r.kept.begin(); err != nil {
		return nil, err
	}
	r.proxy = config.HTTP.Proxy()
	return r, nil
}

// apart separates what completes a request from what makes connections: new connections need no new tokens.
func apart(config *promconfig.HTTPClientConfig) (credentials, connections promconfig.HTTPClientConfig) {
	credentials, connections = *config, *config
	credentials.TLSConfig = promconfig.TLSConfig{}
	connections.Authorization, connections.BasicAuth, connections.OAuth2, connections.HTTPHeaders = nil, nil, nil, nil
	return credentials, connections
}

// dial opens a connection for net/http, which goes on dialling when the exchange has given up, for one to come. Where nothing answers, these
// dials would pile up for the minutes that the system tries. The limit is beyond that of the exchange, which names the class.
func (c *Config) dial(ctx context.Context, _, address string) (net.Conn, error) {
	to, _ := ctx.Value(destinationKey{}).(destination) // without a guard nobody needs it
	dialler := c.dialler(to, nil)
	dialler.Timeout = 2 * c.Timeouts.Connect
	return dialler.DialContext(ctx, c.IPFamily.network(), address)
}

// Close implements carrier.
func (r *roundTripper) Close() { r.kept.close() }

// connections gives those for the next request, and what is to be called when it is over.
func (r *roundTripper) connections() (next http.RoundTripper, done func(), err error) {
	if !r.turns.keep() {
		next, err = r.fresh()
		return next, func() {}, err
	}
	b, err := r.kept.take()
	if err != nil {
		return nil, nil, err
	}
	return b, func() { r.kept.give(b) }, nil
}

// carry implements carrier.
func (r *roundTripper) carry(ctx context.Context, request *http.Request, t *trace, b *body, timeline *metrics.Timeline) error {
	body := newPayload(b.payload)
	defer body.release()
	timeline.End = timeline.Start
	ready, err := r.authorizer.complete(request)
	if err != nil {
		return err
	}
	request = ready.request
	ctx, err = r.config.guarded(ctx, request, r.proxy)
	if err != nil {
		return err
	}
	next, done, err := r.connections()
	if err != nil {
		return err
	}
	defer done()
	request = request.WithContext(t.roundTrip(ctx))
	request.Body = body
	timeline.Start = r.clock.Now()
	b.handler.Start(timeline.Start)
	defer func() { timeline.End = r.clock.Now() }()
	response, err := next.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	timeline.Header = r.clock.Now()
	if err = b.begin(response.StatusCode, response.Header, timeline.Header); err != nil {
		return err
	}
	return b.judge(r.read(response.Body, b))
}

// read hands the body over as it comes.
func (r *roundTripper) read(from io.Reader, b *body) error {
	buffer := make([]byte, plainBytes)
	for reads := int64(1); ; reads++ {
		n, err := from.Read(buffer)
		now := r.clock.Now()
		if n > 0 {
			over, bad := b.write(buffer[:n], now, reads, now)
			b.answer.DecodeTime += r.clock.Now() - now
			if over || bad != nil {
				return bad
			}
		}
		if errors.Is(err, io.EOF) {
			return b.end()
		}
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
	}
}
