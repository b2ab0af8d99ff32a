package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

const (
	maxRedirects = 3
	// maxBody bounds an answer, as it comes and after decompression.
	maxBody = 16 << 20
	// drained is what is read of an answer that nobody wants, so that its connection can be used again.
	drained = 4 << 10
	// dialTimeout ends a dial whose exchange has given up: net/http goes on with it for the next one.
	dialTimeout = 5 * time.Second
	// tokenTimeout bounds how long a token may take, for which no context is asked.
	tokenTimeout = 5 * time.Second
	idleTimeout  = 5 * time.Minute
)

var (
	errTooLarge  = errors.New("answer has more than 16 MiB")
	errRedirects = errors.New("more than three redirects")
)

// Client asks for pages. It shares no connection with the traffic that is measured. Safe for concurrent use.
type Client struct {
	// chain is that of a Prometheus client. It follows no redirects: they are followed here, where it is known to whom credentials may go.
	chain      http.RoundTripper
	userAgent  string
	credential func() (header, value string, err error)
	redactor   Redactor
}

// Options configure a Client.
type Options struct {
	HTTP      promconfig.HTTPClientConfig
	UserAgent string
	// Credential gives a header for each request, nil = HTTP alone says how to authenticate.
	Credential func() (header, value string, err error)
	// Redactor removes secrets from what a server says; nil = there are none.
	Redactor Redactor
}

// NewClient makes one. Errors are those of files and certificates that cannot be read.
func NewClient(o Options) (*Client, error) {
	chain, err := promconfig.NewRoundTripperFromConfig(Detached(o.HTTP), "aiperf_exporter_scrape", promconfig.WithDialContextFunc(dial),
		promconfig.WithIdleConnTimeout(idleTimeout), promconfig.WithHTTP2Disabled())
	if err != nil {
		return nil, err
	}
	if o.Redactor == nil {
		o.Redactor = &secret.Redactor{}
	}
	return &Client{chain: chain, userAgent: o.UserAgent, credential: o.Credential, redactor: o.Redactor}, nil
}

// dial opens connections of scrapes, and those on which a token for them is asked for. The latter know nothing of the limits of a scrape.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
	if err != nil || phasesOf(ctx) != nil {
		return conn, err
	}
	return conn, conn.SetDeadline(time.Now().Add(tokenTimeout))
}

// Close ends idle connections.
func (c *Client) Close() {
	if closer, ok := c.chain.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// Get asks for a page and reads it whole: status 2xx only, at most three redirects and on the same host, at most 16 MiB after decompression.
// buffer, which may be nil, is used for the body if it is large enough. Errors are *Error. How long it may take is for ctx to say; to get a token
// from a server that does not answer may take some seconds more.
func (c *Client) Get(ctx context.Context, address, accept string, buffer []byte) (body []byte, contentType string, err error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, "", &Error{Internal, errors.New("address cannot be read")} // which parts of it are secret is not known
	}
	for range maxRedirects + 1 {
		var next *url.URL
		body, contentType, next, err = c.exchange(ctx, at, accept, buffer)
		if err != nil {
			return nil, "", c.redacted(err)
		}
		if next == nil {
			c.redactor.Blot(body) // a server may know our key, and show it in a label
			return body, c.redactor.Redact(contentType), nil
		}
		at = next
	}
	return nil, "", failed(Redirect, at, errRedirects)
}

// Redactor knows the secrets of the configuration: *secret.Redactor.
type Redactor interface {
	// Redact gives a text without them; Blot writes over them, so that a page of any size stays where it is.
	Redact(text string) string
	Blot(p []byte)
}

// redacted is an error without the secrets that a server may have said.
func (c *Client) redacted(err error) error {
	known, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	if shown := c.redactor.Redact(known.Err.Error()); shown != known.Err.Error() {
		return &Error{known.Reason, errors.New(shown)}
	}
	return err
}

// failed says what went wrong at an address.
func failed(reason Reason, at *url.URL, err error) *Error {
	shown := url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}
	return &Error{reason, fmt.Errorf("get %s: %w", shown.String(), err)}
}

// exchange asks once. next is where the server wants it asked instead.
func (c *Client) exchange(ctx context.Context, at *url.URL, accept string, buffer []byte) (body []byte, contentType string, next *url.URL, err error) {
	ctx, phases := withPhases(ctx)
	request, err := c.request(ctx, at, accept)
	if err != nil {
		return nil, "", nil, failed(Internal, at, err)
	}
	response, err := c.chain.RoundTrip(request)
	if err != nil {
		return nil, "", nil, failed(classify(ctx, err, phases), at, plain(err))
	}
	defer response.Body.Close()
	if isRedirect(response) {
		drain(response)
		next, err = redirected(at, response)
		if err != nil {
			return nil, "", nil, failed(Redirect, at, err)
		}
		return nil, "", next, nil
	}
	if reason := ofStatus(response.StatusCode); reason != "" {
		drain(response)
		return nil, "", nil, failed(reason, at, fmt.Errorf("status %d", response.StatusCode))
	}
	body, err = read(response, buffer)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, "", nil, failed(TooLarge, at, err)
	case errors.Is(err, errEncoding):
		return nil, "", nil, failed(Incompatible, at, err)
	case err != nil:
		return nil, "", nil, failed(classify(ctx, err, phases), at, fmt.Errorf("read answer: %w", err))
	}
	return body, response.Header.Get("Content-Type"), nil, nil
}

func (c *Client) request(ctx context.Context, at *url.URL, accept string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, plain(err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Encoding", "gzip")
	request.Header.Set("User-Agent", c.userAgent)
	if deadline, ok := ctx.Deadline(); ok {
		seconds := max(0, time.Until(deadline).Seconds())
		request.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", strconv.FormatFloat(seconds, 'f', 3, 64))
	}
	if c.credential != nil {
		header, value, err := c.credential()
		if err != nil {
			return nil, fmt.Errorf("read credential: %w", err)
		}
		request.Header.Set(header, value)
	}
	if password, _ := at.User.Password(); at.User != nil && request.Header.Get("Authorization") == "" {
		request.SetBasicAuth(at.User.Username(), password)
	}
	return request, nil
}

func isRedirect(response *http.Response) bool {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return response.Header.Get("Location") != ""
	}
	return false
}

// redirected is where an answer points to, if credentials may go there: the same host, and never from https to http.
func redirected(at *url.URL, response *http.Response) (*url.URL, error) {
	next, err := at.Parse(response.Header.Get("Location"))
	switch {
	case err != nil:
		return nil, errors.New("redirect to an address that cannot be read")
	case next.Scheme != "http" && next.Scheme != "https":
		return nil, fmt.Errorf("redirect to the scheme %q", secret.Abridged(next.Scheme, 20))
	case !strings.EqualFold(next.Hostname(), at.Hostname()):
		return nil, fmt.Errorf("redirect to another host, %q", secret.Abridged(next.Hostname(), 100))
	case at.Scheme == "https" && next.Scheme != "https":
		return nil, errors.New("redirect from https to http")
	}
	next.User = at.User
	return next, nil
}

// drain reads a small body that nobody wants. For others it is cheaper to give up the connection.
func drain(response *http.Response) {
	if response.ContentLength <= drained {
		_, _ = io.CopyN(io.Discard, response.Body, max(0, response.ContentLength))
	}
}
