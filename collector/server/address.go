package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// parseAddress reads an address as users write it: without a scheme it is http. Errors do not quote it, it may hold a credential.
func parseAddress(raw string) (*url.URL, error) {
	if before, _, found := strings.Cut(raw, "://"); !found || strings.ContainsAny(before, "/?#") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		if parse, ok := errors.AsType[*url.Error](err); ok {
			err = parse.Err // without the URL
		}
		return nil, fmt.Errorf("is not a URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("scheme must be http or https, got %q", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("port must be 1 to 65535, got %q", port)
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

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
