package probe

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

const (
	maxHost  = 253 // characters, as DNS has it
	maxLabel = 63
)

// canonicalHost gives a host as it is compared and looked up: lower case, ASCII, without a dot at its end. One that is an address, IPv6 in brackets, is
// given as such, and an IPv4 address inside an IPv6 one as the IPv4 address. What only some programs take for an address is refused.
func canonicalHost(host string) (name string, address netip.Addr, err error) {
	if opened, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(opened, "]")
		address, err = netip.ParseAddr(inner)
		if !closed || err != nil || !address.Is6() || address.Zone() != "" {
			return "", netip.Addr{}, errors.New("is not an IPv6 address in brackets, or has a zone")
		}
		return "", address.Unmap(), nil
	}
	if address, err = netip.ParseAddr(host); err == nil && address.Is4() {
		return "", address, nil
	}
	if name, err = idna.Lookup.ToASCII(host); err != nil && !isASCII(host) {
		return "", netip.Addr{}, errors.New("is not a name of a host")
	} else if err != nil {
		name = host // names inside a network have underscores
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if err := checkName(name); err != nil {
		return "", netip.Addr{}, err
	}
	return name, netip.Addr{}, nil
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 0x7f })
}

func checkName(name string) error {
	if name == "" || len(name) > maxHost {
		return errors.New("must have a host of 1 to 253 characters")
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel || strings.ContainsFunc(label, notInLabel) {
			return errors.New("is not a name of a host")
		}
		last = label
	}
	// 127.1, 2130706433 and 0x7f000001 are addresses to some resolvers and names to others.
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return errors.New("ends in a number, but is not an address as everybody writes it")
	}
	return nil
}

func notInLabel(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}
