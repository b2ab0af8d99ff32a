package scrape

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync/atomic"
)

// phases is how far an exchange came. A dial that goes on when its exchange has given up still writes to it.
type phases struct {
	dialled   atomic.Bool // or had a connection
	unsecured atomic.Bool // TLS failed
	answered  atomic.Bool // the first byte of an answer was there
}

type phasesKey struct{}

// withPhases follows the exchange with the context.
func withPhases(ctx context.Context) (context.Context, *phases) {
	p := &phases{}
	ctx = context.WithValue(ctx, phasesKey{}, p)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectStart: func(string, string) { p.dialled.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { p.dialled.Store(true) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err != nil {
				p.unsecured.Store(true)
			}
		},
		GotFirstResponseByte: func() { p.answered.Store(true) },
	}), p
}

// phasesOf is nil for what is no exchange.
func phasesOf(ctx context.Context) *phases {
	p, _ := ctx.Value(phasesKey{}).(*phases)
	return p
}
