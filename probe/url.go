package probe

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxURL bounds a target, in bytes.
const maxURL = 2048

// place is whom a URL names.
type place struct {
	url     string // as it is asked
	host    string // "" = an address
	address netip.Addr
	port    uint16
}

// hasScheme tells a URL from a name. Which scheme it is does not matter yet.
func hasScheme(target string) bool { return strings.Contains(target, "://") }

// parseURL reads a URL that a stranger wrote. It takes what can be read in one way only, and gives it in that way.
func parseURL(raw string) (*place, *Rejection) {
	bad := func(detail string) (*place, *Rejection) {
		return nil, reject(ReasonBadTarget, "%s", "the target "+detail)
	}
	if len(raw) > maxURL {
		return bad("is longer than 2048 bytes")
	}
	if strings.ContainsFunc(raw, notInURL) {
		return bad("has white space, a control character, a backslash or a fragment")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return bad("is not a URL")
	}
	authority := authorityOf(raw)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("must begin with http:// or https://")
	case u.User != nil || strings.Contains(authority, "@"):
		return bad("must not have a user or a password: credentials belong to the module")
	case u.Opaque != "" || u.Host != authority || strings.Contains(authority, "%"):
		return bad("has a host that can be read in more than one way")
	}
	return placeOf(u)
}

func notInURL(r rune) bool {
	return r <= ' ' || r == 0x7f || r == utf8.RuneError || r == '\\' || r == '#'
}

// authorityOf is what stands between the scheme and the path.
func authorityOf(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		return rest[:end]
	}
	return rest
}

// placeOf reads whom a URL names.
func placeOf(u *url.URL) (*place, *Rejection) {
	host, port, err := splitPort(u.Host)
	if err != nil {
		return nil, reject(ReasonBadTarget, "the target %v", err)
	}
	name, address, err := canonicalHost(host)
	if err != nil {
		return nil, reject(ReasonBadTarget, "the target %v", err)
	}
	at := &place{host: name, address: address, port: port}
	canonical := *u
	switch {
	case address.Is6():
		canonical.Host = "[" + address.String() + "]"
	case address.IsValid():
		canonical.Host = address.String()
	default:
		canonical.Host = name
	}
	switch {
	case port != 0:
		canonical.Host += ":" + strconv.Itoa(int(port))
	case u.Scheme == "https":
		at.port = 443
	default:
		at.port = 80
	}
	at.url = canonical.String()
	return at, nil
}
