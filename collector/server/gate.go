package server

import (
	"context"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// Resolver looks up names: *net.Resolver.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// lookupTimeout is as long as the rest of a look may take.
const lookupTimeout = 5 * time.Second

// gate keeps those who offer an API to the public from being asked for pages that nobody said they have: behind it are https endpoints on public
// addresses. It looks the name up until that has succeeded once.
type gate struct {
	host     string
	resolver Resolver

	known, public bool
	next          int64 // not looked up before
}

// newGate gives nil for an endpoint that may be asked in any case.
func newGate(endpoint *url.URL, resolver Resolver) *gate {
	if endpoint.Scheme != "https" {
		return nil
	}
	return &gate{host: endpoint.Hostname(), resolver: resolver}
}

// open tells whether the endpoint's host may be asked.
func (g *gate) open(ctx context.Context, now int64, logger *slog.Logger) bool {
	if g.known || now < g.next {
		return g.known && !g.public
	}
	g.next = now + int64(probeEvery)
	addresses, err := g.lookUp(ctx)
	if err != nil || len(addresses) == 0 {
		logger.Debug("cannot tell whether the address is public", slog.Any("err", err))
		return false
	}
	g.known, g.public = true, slices.ContainsFunc(addresses, isPublic)
	if g.public {
		logger.Info("no server metrics are looked for on a public address: to have them read, say server.kind or server.metrics_url")
	}
	return !g.public
}

func (g *gate) lookUp(ctx context.Context) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(g.host); err == nil {
		return []netip.Addr{address}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return g.resolver.LookupNetIP(ctx, "ip", g.host)
}
