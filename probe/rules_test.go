package probe

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestAnAddressIsAllowedOnlyByARuleThatMeansIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule, host, address string
		port                uint16
		want                bool
	}{
		{"10.0.0.0/8", "", "10.1.2.3", 8000, true},
		{"10.0.0.0/8", "x.example", "10.1.2.3", 8000, true},
		{"10.0.0.0/8", "", "11.1.2.3", 8000, false},
		{"10.0.0.0/8", "", "::ffff:10.1.2.3", 8000, true},
		{"::ffff:10.0.0.0/104", "", "10.1.2.3", 8000, true},
		{"10.0.0.0/8", "", "10.1.2.3", 25, false},
		{"10.0.0.0/8", "", "10.1.2.3", 443, true},
		{"10.1.2.3:25", "", "10.1.2.3", 25, true},
		{"10.1.2.3:25", "", "10.1.2.3", 80, false},
		{"127.0.0.0/8", "", "127.0.0.1", 80, true},
		{"127.0.0.1", "", "127.0.0.1", 80, true},
		{"126.0.0.0/7", "", "127.0.0.1", 80, false},
		{"::1", "", "::1", 80, true},
		{"::/0", "", "2001:db8::1", 80, true},
		{"::/0", "", "::1", 80, false},
		{"localhost", "localhost", "127.0.0.1", 80, true},
		{"*.example", "a.example", "127.0.0.1", 80, false},
		{"*.example", "a.example", "10.0.0.1", 80, true},
		{"*.example", "a.b.example", "10.0.0.1", 80, true},
		{"*.example:90", "a.example", "10.0.0.1", 90, true},
		{"169.254.169.254/32", "", "169.254.169.254", 80, true},
		{"169.254.169.254/32", "metadata.example", "169.254.169.254", 80, true},
		{"169.254.0.0/16", "", "169.254.1.1", 80, true},
		{"169.254.0.0/16", "", "169.254.169.254", 80, false},
		{"169.0.0.0/8", "", "169.254.1.1", 80, false},
		{"a.example", "a.example", "169.254.1.1", 80, false},
		{"fe80::/10", "", "fe80::1%eth0", 80, true},
		{"64:ff9b::/96", "", "64:ff9b::a01:203", 80, true},
		{"64:ff9b::/96", "", "64:ff9b::a9fe:a9fe", 80, false},
		{"64:ff9b::a9fe:a9fe/128", "", "64:ff9b::a9fe:a9fe", 80, true},
		{"a.example", "a.example", "64:ff9b::7f00:1", 80, false},
		{"fd00::/8", "", "fd00:ec2::254", 80, false},
		{"fd00::/8", "", "fd00::1", 80, true},
		{"100.64.0.0/10", "", "100.100.100.200", 80, false},
		{"0.0.0.0/0", "", "0.0.0.0", 80, false},
	}
	for _, test := range tests {
		rules := NewRules([]string{test.rule})
		if len(rules) != 1 {
			t.Errorf("%s is no rule", test.rule)
			continue
		}
		if got := rules.allow(test.host, test.port, netip.MustParseAddr(test.address)); got != test.want {
			t.Errorf("%s for %q at %s:%d is %v", test.rule, test.host, test.address, test.port, got)
		}
	}
}

// dangerous are addresses that no rule allows but one that is about them alone.
var dangerous = []string{"127.0.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fd00:ec2::254", "100.100.100.200", "64:ff9b::7f00:1", "2002:a9fe:a9fe::"}

func FuzzRule(f *testing.F) {
	for _, seed := range []string{"a.example", "a.example:80", "*.example", "10.0.0.0/8", "[::1]:80", "::1", "bücher.example", "127.1", "0x7f.1", "::ffff:1.2.3.4/128", "*", "a..b", "%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRule(text)
		if err != nil {
			return
		}
		for _, address := range dangerous {
			narrow := r.prefix.IsValid() && r.prefix.Bits() >= 8 || r.name != ""
			if rules := (Rules{r}); !narrow && rules.allow("", max(r.port, 80), netip.MustParseAddr(address)) {
				t.Errorf("%q leads to %s", text, address)
			}
		}
		const other = "other.invalid"
		meant := r.takesName(other) || r.prefix.IsValid() && r.prefix.Contains(netip.MustParseAddr("8.8.8.8"))
		if rules := (Rules{r}); !meant && rules.allow(other, max(r.port, 80), netip.MustParseAddr("8.8.8.8")) {
			t.Errorf("%q is a rule for everybody", text)
		}
	})
}

func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"http://a.example", "https://a.example:8000/v1?x=y", "http://[::1]:80", "http://[::ffff:1.2.3.4]", "http://u:p@a", "http://a%2eb", "http://127.1", "http://１２７.1",
		"http://a#b", `http://a\b`, "http://a:080", "http:///a", "http://bücher.example",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, rejection := parseURL(text)
		if rejection != nil {
			return
		}
		u, err := url.Parse(at.url)
		if err != nil || u.User != nil || u.Fragment != "" || (u.Scheme != "http" && u.Scheme != "https") {
			t.Fatalf("%q became %q: %v", text, at.url, err)
		}
		if at.port == 0 || (at.host == "") == !at.address.IsValid() {
			t.Errorf("%q is at %+v", text, at)
		}
		if strings.ContainsAny(at.host, "@%/\\ ") || at.host != strings.ToLower(at.host) {
			t.Errorf("%q has the host %q", text, at.host)
		}
		again, rejection := parseURL(at.url)
		if rejection != nil || *again != *at {
			t.Errorf("%q is %+v, and read again %+v, %v", text, at, again, rejection)
		}
	})
}
