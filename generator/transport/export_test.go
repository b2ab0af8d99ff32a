package transport

import (
	"crypto/tls"
	"net/http"
)

// BreakTLS has TLS 1.3 panic from now on at the first thing that a server says after the handshake, a ticket.
func (c *Client) BreakTLS() {
	d := c.carrier.(*direct)
	d.authorizer.chain = breaking{d.authorizer.chain}
}

// breaking is a chain of credentials.
type breaking struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b breaking) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	out := request.Context().Value(authorizedKey{}).(*authorized)
	out.tls = out.tls.Clone()
	out.tls.ClientSessionCache = broken{}
	return response, err
}

// broken is a cache of sessions.
type broken struct{}

// Get implements tls.ClientSessionCache.
func (broken) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

// Put implements tls.ClientSessionCache.
func (broken) Put(string, *tls.ClientSessionState) {
	panic("bytes of which nobody has thought")
}
