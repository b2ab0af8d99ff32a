package probe

import "net/netip"

// block is a part of the address space that is dangerous to speak to for somebody else.
type block struct {
	prefix   netip.Prefix
	what     string
	loopback bool
}

// blocks are those parts. Of several that hold an address the smallest counts.
var blocks = []block{
	{prefix: netip.MustParsePrefix("127.0.0.0/8"), what: "this machine", loopback: true},
	{prefix: netip.MustParsePrefix("::1/128"), what: "this machine", loopback: true},
	{prefix: netip.MustParsePrefix("0.0.0.0/8"), what: "this machine without an address"},
	{prefix: netip.MustParsePrefix("::/128"), what: "this machine without an address"},
	{prefix: netip.MustParsePrefix("169.254.0.0/16"), what: "a link-local address"},
	{prefix: netip.MustParsePrefix("fe80::/10"), what: "a link-local address"},
	{prefix: netip.MustParsePrefix("224.0.0.0/4"), what: "a multicast address"},
	{prefix: netip.MustParsePrefix("ff00::/8"), what: "a multicast address"},
	{prefix: netip.MustParsePrefix("240.0.0.0/4"), what: "a reserved address"},
	// Where clouds tell their machines who they are, credentials included.
	{prefix: netip.MustParsePrefix("169.254.169.254/32"), what: metadata},
	{prefix: netip.MustParsePrefix("169.254.170.2/32"), what: metadata},  // ECS
	{prefix: netip.MustParsePrefix("169.254.170.23/32"), what: metadata}, // EKS
	{prefix: netip.MustParsePrefix("169.254.42.42/32"), what: metadata},  // Scaleway
	{prefix: netip.MustParsePrefix("169.254.0.23/32"), what: metadata},   // Tencent
	{prefix: netip.MustParsePrefix("100.100.100.200/32"), what: metadata},
	{prefix: netip.MustParsePrefix("168.63.129.16/32"), what: metadata},
	{prefix: netip.MustParsePrefix("192.0.0.192/32"), what: metadata},
	{prefix: netip.MustParsePrefix("fd00:ec2::/32"), what: metadata},
	{prefix: netip.MustParsePrefix("fd00:ec2::254/128"), what: metadata},
	{prefix: netip.MustParsePrefix("fd00:ec2::23/128"), what: metadata},
	{prefix: netip.MustParsePrefix("fd20:ce::254/128"), what: metadata},
	{prefix: netip.MustParsePrefix("fd00:42::42/128"), what: metadata},
}

const metadata = "where a cloud tells credentials"

// blockOf finds the smallest block that an address is in. An IPv6 address by which a gateway reaches an IPv4 one that is in a block is a block of
// its own.
func blockOf(address netip.Addr) (found block, special bool) {
	if !address.IsValid() {
		return block{}, false
	}
	for _, b := range blocks {
		if b.prefix.Contains(address) && (!special || b.prefix.Bits() > found.prefix.Bits()) {
			found, special = b, true
		}
	}
	if special {
		return found, true
	}
	for _, inner := range embedded(address) {
		if b, dangerous := blockOf(inner); dangerous {
			return block{prefix: netip.PrefixFrom(address, address.BitLen()), what: "another way to write an address that is " + b.what}, true
		}
	}
	return block{}, false
}

// embeddings tell which bytes of the IPv6 addresses of a network are an IPv4 address.
var embeddings = []struct {
	prefix   netip.Prefix
	bytes    [4]int
	inverted bool
}{
	{netip.MustParsePrefix("::/96"), [4]int{12, 13, 14, 15}, false},           // IPv4-compatible, given up by RFC 4291
	{netip.MustParsePrefix("::ffff:0:0:0/96"), [4]int{12, 13, 14, 15}, false}, // IPv4-translated, RFC 7915
	{netip.MustParsePrefix("64:ff9b::/96"), [4]int{12, 13, 14, 15}, false},    // NAT64, RFC 6052
	// NAT64 of a site, RFC 8215, with each of the lengths that RFC 6052 has for a prefix inside.
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{6, 7, 9, 10}, false},
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{7, 9, 10, 11}, false},
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{9, 10, 11, 12}, false},
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{12, 13, 14, 15}, false},
	{netip.MustParsePrefix("2002::/16"), [4]int{2, 3, 4, 5}, false},    // 6to4, RFC 3056
	{netip.MustParsePrefix("2001::/32"), [4]int{4, 5, 6, 7}, false},    // Teredo, RFC 4380: the server
	{netip.MustParsePrefix("2001::/32"), [4]int{12, 13, 14, 15}, true}, // and the client
}

// embedded are the IPv4 addresses that may be meant by an IPv6 address.
func embedded(address netip.Addr) []netip.Addr {
	if !address.Is6() {
		return nil
	}
	all := address.As16()
	var out []netip.Addr
	take := func(at [4]int, inverted bool) {
		var v4 [4]byte
		for i := range v4 {
			if v4[i] = all[at[i]]; inverted {
				v4[i] ^= 0xff
			}
		}
		out = append(out, netip.AddrFrom4(v4))
	}
	for _, e := range embeddings {
		if e.prefix.Contains(address) {
			take(e.bytes, e.inverted)
		}
	}
	if all[8]&^2 == 0 && all[9] == 0 && all[10] == 0x5e && all[11] == 0xfe { // ISATAP, RFC 5214
		take([4]int{12, 13, 14, 15}, false)
	}
	return out
}
