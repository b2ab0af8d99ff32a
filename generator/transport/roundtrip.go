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
	config *Config
	clock  *metrics.SystemClock
	next   http.RoundTripper
	proxy  func(*http.Request) (*url.URL, error) // nil = there is none
}

func newRoundTripper(config *Config, clock *metrics.SystemClock) (*roundTripper, error) {
	// net/http goes on dialling when the exchange has given up, for one to come. Where nothing answers, these dials would pile up for the
	// minutes that the system tries. The limit is beyond that of the exchange, which names the class.
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		dialler := &net.Dialer{} // to where a token is asked for
		if to, ok := ctx.Value(destinationKey{}).(destination); ok {
			dialler = config.dialler(to, nil)
		}
		dialler.Resolver, dialler.Timeout = config.Resolver, 2*config.Timeouts.Connect
		return dialler.DialContext(ctx, network, address)
	}
	options := []promconfig.HTTPClientOption{promconfig.WithIdleConnTimeout(idleTimeout), promconfig.WithDialContextFunc(dial)}
	config.HTTP.EnableHTTP2 = config.Version == HTTP2
	if config.Reuse != KeepAlive {
		options = append(options, promconfig.WithKeepAlivesDisabled())
	}
	next, err := promconfig.NewRoundTripperFromConfigWithContext(context.Background(), config.HTTP, "aiperf_exporter", options...)
	if err != nil {
		return nil, err
	}
	return &roundTripper{config: config, clock: clock, next: next, proxy: config.HTTP.Proxy()}, nil
}

// Close implements carrier.
func (r *roundTripper) Close() {
	if closer, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// carry implements carrier.
func (r *roundTripper) carry(ctx context.Context, request *http.Request, t *trace, b *body, timeline *metrics.Timeline) error {
	body := newPayload(b.payload)
	defer body.release()
	timeline.End = timeline.Start
	ctx, err := r.config.guarded(ctx, request, r.proxy)
	if err != nil {
		return err
	}
	request = request.WithContext(t.roundTrip(ctx))
	request.Body = body
	timeline.Start = r.clock.Now()
	b.handler.Start(timeline.Start)
	defer func() { timeline.End = r.clock.Now() }()
	response, err := r.next.RoundTrip(request)
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
