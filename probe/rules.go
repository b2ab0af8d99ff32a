package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Rules say to whom a probe may speak. None allow nobody.
type Rules []rule

// rule is one of them: a name, the end of names, or addresses.
type rule struct {
	name     string       // "" = addresses
	wildcard bool         // names that end in "." and name
	prefix   netip.Prefix // not valid = a name
	cidr     bool         // the addresses were written as a network
	port     uint16       // 0 = the usual ones
}

// NewRules reads the entries of a configuration that ValidateAllowed has nothing to say about; what cannot be read allows nobody. Without an
// entry it is nil.
func NewRules(entries []string) Rules {
	var out Rules
	for _, entry := range entries {
		if r, err := parseRule(entry); err == nil {
			out = append(out, r)
		}
	}
	return out
}

func parseRule(text string) (rule, error) {
	switch {
	case text == "":
		return rule{}, errors.New("must not be empty")
	case strings.Contains(text, "://"), strings.ContainsAny(text, "@?#\\ \t\r\n"):
		return rule{}, errors.New("must be a host, host:port, *.suffix or a network such as 10.0.0.0/8, not a URL")
	case strings.Contains(text, "/"):
		return parseNetwork(text)
	}
	host, port, err := splitPort(text)
	if err != nil {
		return rule{}, err
	}
	suffix, wildcard := strings.CutPrefix(host, "*.")
	if strings.Contains(suffix, "*") {
		return rule{}, errors.New("may have a * only as the first label, as in *.example.net; networks such as 10.0.0.0/8 allow every name in them")
	}
	name, address, err := canonicalHost(suffix)
	switch {
	case err != nil:
		return rule{}, err
	case address.IsValid() && wildcard:
		return rule{}, errors.New("must not have a * before an address, write a network such as 10.0.0.0/8")
	case !address.IsValid():
		return rule{name: name, wildcard: wildcard, port: port}, nil
	}
	single := netip.PrefixFrom(address, address.BitLen())
	if b, special := blockOf(address); special && !b.loopback {
		return rule{}, fmt.Errorf("is %s: write %s if that is meant", b.what, single)
	}
	return rule{prefix: single, port: port}, nil
}

func parseNetwork(text string) (rule, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return rule{}, errors.New("is not a network such as 10.0.0.0/8 or fd00::/8")
	}
	const mapped = 96 // bits before the IPv4 address in an IPv6 one
	if prefix.Addr().Is4In6() && prefix.Bits() >= mapped {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-mapped)
	}
	if whole := prefix.Masked(); whole != prefix {
		return rule{}, fmt.Errorf("has bits beyond its length, did you mean %s?", whole)
	}
	return rule{prefix: prefix, cidr: true}, nil
}

// splitPort takes a port from the end of a host; 0 = there is none.
func splitPort(text string) (host string, port uint16, err error) {
	if address, notAddress := netip.ParseAddr(text); notAddress == nil && address.Is6() {
		return "[" + text + "]", 0, nil
	}
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 || strings.HasSuffix(text, "]") {
		return text, 0, nil
	}
	port, err = parsePort(text[colon+1:])
	return text[:colon], port, err
}

// parsePort takes only what everybody reads as the same number.
func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, errors.New("has a port that is not a number from 1 to 65535")
	}
	return uint16(n), nil
}

// usualPort tells whether a rule without a port means it: below 1024 other protocols are at home, some of which take a request of HTTP for theirs.
func usualPort(port uint16) bool { return port == 80 || port == 443 || port >= 1024 }

// mayAllow tells, before anything is looked up, whether a probe may go on: an address is allowed, or a name could be.
func (rs Rules) mayAllow(at *place) bool {
	if at.address.IsValid() {
		return rs.allow("", at.port, at.address)
	}
	for i := range rs {
		if r := &rs[i]; r.takesPort(at.port) && (r.prefix.IsValid() || r.takesName(at.host)) {
			return true
		}
	}
	return false
}

// allow tells whether a connection may be opened to an address, as which host was looked up, "" if none was. The address is not valid where a proxy
// connects: then only names say anything, and hosts that are addresses.
func (rs Rules) allow(host string, port uint16, address netip.Addr) bool {
	if literal, err := netip.ParseAddr(host); err == nil {
		if host = ""; !address.IsValid() {
			address = literal
		}
	}
	address = address.Unmap().WithZone("")
	b, special := blockOf(address)
	for i := range rs {
		r := &rs[i]
		switch {
		case !r.takesPort(port):
		case r.prefix.IsValid():
			if r.takesAddress(address, b, special) {
				return true
			}
		case r.takesName(host) && (!special || b.loopback && !r.wildcard):
			return true
		}
	}
	return false
}

func (r *rule) takesPort(port uint16) bool {
	if r.port != 0 {
		return port == r.port
	}
	return usualPort(port)
}

func (r *rule) takesName(host string) bool {
	switch {
	case r.name == "" || host == "":
		return false
	case r.wildcard:
		return strings.HasSuffix(host, "."+r.name)
	}
	return host == r.name
}

// takesAddress: an address of a special block needs a rule that is not wider than the block. So 0.0.0.0/0 does not lead to the credentials of a
// cloud, nor to this machine.
func (r *rule) takesAddress(address netip.Addr, b block, special bool) bool {
	switch {
	case !r.prefix.Contains(address):
		return false
	case !special:
		return true
	}
	return r.prefix.Bits() >= b.prefix.Bits() && (r.cidr || b.loopback)
}
