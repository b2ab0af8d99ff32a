package probe

import (
	"errors"
	"net/netip"
	"sync/atomic"
)

// guard watches the connections of one probe.
type guard struct {
	rules            Rules
	allowed, refused atomic.Int64
}

var errRefused = errors.New("no entry of allowed_targets leads to this address")

// ask implements transport.Guard.
func (g *guard) ask(host string, port uint16, address netip.AddrPort) error {
	if g.rules.allow(host, port, address.Addr()) {
		g.allowed.Add(1)
		return nil
	}
	g.refused.Add(1)
	return errRefused
}

// stopped tells that every connection was refused. Of a name with several addresses some may be refused and another fail by itself, which is what
// the probe has found.
func (g *guard) stopped() bool { return g != nil && g.refused.Load() > 0 && g.allowed.Load() == 0 }
