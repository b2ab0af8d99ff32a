package server

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// hostPort names the port even where it is the usual one of the scheme.
func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// isPublic tells whether an address is one of the open internet, which those are not that providers share out behind their own translation
// (100.64.0.0/10, RFC 6598), as overlay networks do.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	shared := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10)
	return a.IsGlobalUnicast() && !a.IsPrivate() && !shared.Contains(a)
}
