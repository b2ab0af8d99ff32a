package probe

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Everything here would reach the server, or somebody worse, if it were taken.
func TestAStrangerReachesNothingThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	s := serve(t, stream)
	tests := map[string]struct {
		target string // PORT stands for that of the server
		allow  []string
		want   Reason
	}{
		"nothing is allowed":                        {"http://127.0.0.1:PORT", nil, ReasonNotAllowed},
		"a name when nothing is allowed":            {"http://localhost:PORT", nil, ReasonNotAllowed},
		"another host than the one that is allowed": {"http://127.0.0.1:PORT", []string{"good.example"}, ReasonNotAllowed},
		"another port than the one that is allowed": {"http://good.example:PORT", []string{"good.example:1"}, ReasonNotAllowed},
		"the suffix alone":                          {"http://wild.example:PORT", []string{"*.wild.example"}, ReasonNotAllowed},
		"a name that only ends like it":             {"http://evilwild.example:PORT", []string{"*.wild.example"}, ReasonNotAllowed},
		"a longer name":                             {"http://good.example.evil.example:PORT", []string{"good.example"}, ReasonNotAllowed},
		"a privileged port":                         {"http://good.example:22", []string{"good.example"}, ReasonNotAllowed},

		"this machine by a network of everything":       {"http://127.0.0.1:PORT", everything, ReasonNotAllowed},
		"another address of this machine":               {"http://127.8.8.8:PORT", everything, ReasonNotAllowed},
		"this machine in IPv6":                          {"http://[::1]:PORT", everything, ReasonNotAllowed},
		"this machine in IPv6, at length":               {"http://[0:0:0:0:0:0:0:1]:PORT", everything, ReasonNotAllowed},
		"this machine, IPv4-mapped":                     {"http://[::ffff:127.0.0.1]:PORT", everything, ReasonNotAllowed},
		"this machine, IPv4-mapped, in hexadecimal":     {"http://[::ffff:7f00:1]:PORT", everything, ReasonNotAllowed},
		"this machine, IPv4-compatible":                 {"http://[::127.0.0.1]:PORT", everything, ReasonNotAllowed},
		"this machine by NAT64":                         {"http://[64:ff9b::7f00:1]:PORT", everything, ReasonNotAllowed},
		"this machine by 6to4":                          {"http://[2002:7f00:1::]:PORT", everything, ReasonNotAllowed},
		"the unspecified address":                       {"http://0.0.0.0:PORT", everything, ReasonNotAllowed},
		"the unspecified address in IPv6":               {"http://[::]:PORT", everything, ReasonNotAllowed},
		"the unspecified address, IPv4-mapped":          {"http://[::ffff:0:0]:PORT", everything, ReasonNotAllowed},
		"the metadata of a cloud":                       {"http://169.254.169.254/latest/meta-data", everything, ReasonNotAllowed},
		"the metadata of a cloud by link-local":         {"http://169.254.169.254/", []string{"169.254.0.0/16"}, ReasonNotAllowed},
		"the metadata of a cloud, IPv4-mapped":          {"http://[::ffff:169.254.169.254]/", everything, ReasonNotAllowed},
		"the metadata of a cloud by NAT64":              {"http://[64:ff9b::a9fe:a9fe]/", everything, ReasonNotAllowed},
		"the metadata of a cloud by NAT64 of a site":    {"http://[64:ff9b:1:a9fe:a9:fe00::]/", everything, ReasonNotAllowed},
		"the metadata of a cloud by 6to4":               {"http://[2002:a9fe:a9fe::1]/", everything, ReasonNotAllowed},
		"the metadata of a cloud by Teredo":             {"http://[2001:0:1234::5601:5601]/", everything, ReasonNotAllowed},
		"the metadata of a cloud by ISATAP":             {"http://[2001:db8::5efe:a9fe:a9fe]/", everything, ReasonNotAllowed},
		"the metadata of a cloud in IPv6":               {"http://[fd00:ec2::254]/", everything, ReasonNotAllowed},
		"the metadata of another cloud":                 {"http://100.100.100.200/", everything, ReasonNotAllowed},
		"multicast":                                     {"http://224.0.0.1/", everything, ReasonNotAllowed},
		"multicast in IPv6":                             {"http://[ff02::1]/", everything, ReasonNotAllowed},
		"broadcast":                                     {"http://255.255.255.255/", everything, ReasonNotAllowed},
		"a link-local address with a zone":              {"http://[fe80::1%25lo]:PORT", everything, ReasonBadTarget},
		"this machine by its name":                      {"http://localhost:PORT", everything, ReasonAddressRefused},
		"this machine by a name of the wildcard":        {"http://here.wild.example:PORT", []string{"*.wild.example"}, ReasonAddressRefused},
		"this machine by a name, IPv4-mapped":           {"http://mapped.wild.example:PORT", []string{"*.wild.example"}, ReasonAddressRefused},
		"this machine by a name and a network":          {"http://here.wild.example:PORT", everything, ReasonAddressRefused},
		"the unspecified address by a name":             {"http://zero.example:PORT", []string{"zero.example"}, ReasonAddressRefused},
		"the metadata of a cloud by an allowed name":    {"http://metadata.example/", []string{"metadata.example"}, ReasonAddressRefused},
		"the metadata in IPv6 by an allowed name":       {"http://metadata6.example/", []string{"metadata6.example"}, ReasonAddressRefused},
		"NAT64 by an allowed name":                      {"http://nat64.example/", []string{"nat64.example"}, ReasonAddressRefused},
		"a name with an address outside of the network": {"http://here.wild.example:PORT", []string{"10.0.0.0/8"}, ReasonAddressRefused},

		"an address as one number":               {"http://2130706433:PORT", everything, ReasonBadTarget},
		"an address as one hexadecimal number":   {"http://0x7f000001:PORT", everything, ReasonBadTarget},
		"an address in octal":                    {"http://0177.0.0.1:PORT", everything, ReasonBadTarget},
		"an address in octal, as one number":     {"http://017700000001:PORT", everything, ReasonBadTarget},
		"an address in hexadecimal parts":        {"http://0x7f.0x0.0x0.0x1:PORT", everything, ReasonBadTarget},
		"a short address":                        {"http://127.1:PORT", everything, ReasonBadTarget},
		"zero as a number":                       {"http://0:PORT", everything, ReasonBadTarget},
		"an address with leading zeros":          {"http://127.000.000.001:PORT", everything, ReasonBadTarget},
		"an address with a dot at its end":       {"http://127.0.0.1.:PORT", everything, ReasonBadTarget},
		"an address in wide digits":              {"http://１２７.０.０.１:PORT", everything, ReasonBadTarget},
		"an address in circled digits":           {"http://①②⑦.⓪.⓪.①:PORT", everything, ReasonBadTarget},
		"an address with ideographic dots":       {"http://127。0。0。1:PORT", everything, ReasonBadTarget},
		"an escaped address":                     {"http://%31%32%37.0.0.1:PORT", everything, ReasonBadTarget},
		"an address in brackets that is IPv4":    {"http://[127.0.0.1]:PORT", everything, ReasonBadTarget},
		"two dots at the end of a name":          {"http://good.example..:PORT", []string{"good.example"}, ReasonBadTarget},
		"a user":                                 {"http://good.example@127.0.0.1:PORT", []string{"good.example"}, ReasonBadTarget},
		"a user and a password":                  {"http://u:p@good.example:PORT", []string{"good.example"}, ReasonBadTarget},
		"an empty user":                          {"http://@good.example:PORT", []string{"good.example"}, ReasonBadTarget},
		"a host that looks like a password":      {"http://good.example:PORT@127.0.0.1:PORT", []string{"good.example"}, ReasonBadTarget},
		"a fragment before another host":         {"http://good.example#@127.0.0.1:PORT", []string{"good.example"}, ReasonBadTarget},
		"a backslash before another host":        {`http://127.0.0.1:PORT\@good.example`, []string{"good.example"}, ReasonBadTarget},
		"a backslash in place of a slash":        {`http:\\127.0.0.1:PORT`, everything, ReasonUnknownTarget},
		"white space":                            {"http://good.example :PORT", []string{"good.example"}, ReasonBadTarget},
		"a line end":                             {"http://good.example:PORT/\r\nHost: x", []string{"good.example"}, ReasonBadTarget},
		"a byte that is zero":                    {"http://good.example\x00.evil.example:PORT", []string{"good.example"}, ReasonBadTarget},
		"no host":                                {"http://:PORT", everything, ReasonBadTarget},
		"three slashes":                          {"http:///127.0.0.1:PORT", everything, ReasonBadTarget},
		"port 0":                                 {"http://good.example:0", []string{"good.example"}, ReasonBadTarget},
		"a port that is too large":               {"http://good.example:65536", []string{"good.example"}, ReasonBadTarget},
		"a port that another program truncates":  {"http://good.example:4294967376", []string{"good.example"}, ReasonBadTarget},
		"a port with leading zeros":              {"http://good.example:0PORT", []string{"good.example"}, ReasonBadTarget},
		"an empty port":                          {"http://good.example:/", []string{"good.example"}, ReasonBadTarget},
		"two ports":                              {"http://good.example:PORT:80", []string{"good.example"}, ReasonBadTarget},
		"a port with a sign":                     {"http://good.example:+80", []string{"good.example"}, ReasonBadTarget},
		"a file":                                 {"file:///etc/passwd", everything, ReasonBadTarget},
		"gopher":                                 {"gopher://good.example:PORT/_x", everything, ReasonBadTarget},
		"a socket":                               {"unix:///run/docker.sock", everything, ReasonBadTarget},
		"a URL without a host":                   {"http:good.example", everything, ReasonUnknownTarget},
		"a host without a scheme":                {"good.example:PORT", []string{"good.example"}, ReasonUnknownTarget},
		"a name that looks like the allowed one": {"http://gооd.example:PORT", []string{"good.example"}, ReasonNotAllowed},
		"punycode":                               {"http://xn--gd-mlca.example:PORT", []string{"good.example"}, ReasonNotAllowed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, allow(test.allow...), knowing(map[string][][]string{
				"good.example": {{"127.0.0.1"}}, "here.wild.example": {{"127.0.0.1"}}, "mapped.wild.example": {{"::ffff:127.0.0.1"}},
				"zero.example": {{"0.0.0.0", "::"}}, "metadata.example": {{"169.254.169.254"}}, "metadata6.example": {{"fd00:ec2::254"}},
				"nat64.example": {{"64:ff9b::a9fe:a9fe"}},
			}))
			_, err := r.ask(t.Context(), strings.ReplaceAll(test.target, "PORT", s.port), "chat")
			if got := refusal(t, err); got != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			want := map[string]float64{"rejected_total{" + string(test.want) + "}": 1}
			if diff := cmp.Diff(want, r.counted(t)); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
		})
	}
	t.Cleanup(func() {
		if n := s.accepted.Load(); n != 0 {
			t.Errorf("%d connections were opened", n)
		}
	})
}

var everything = []string{"0.0.0.0/0", "::/0"}

func TestWhatIsAllowedIsReached(t *testing.T) {
	t.Parallel()
	s := serve(t, stream)
	tests := map[string]struct {
		host  string
		allow []string
	}{
		"a host":                           {"good.example", []string{"good.example"}},
		"a host and its port":              {"good.example", []string{"good.example:" + s.port}},
		"a host in capitals":               {"GOOD.Example", []string{"good.EXAMPLE"}},
		"a host with a dot at its end":     {"good.example.", []string{"good.example"}},
		"a rule with a dot at its end":     {"good.example", []string{"good.example."}},
		"a name in another script":         {"bücher.example", []string{"xn--bcher-kva.example"}},
		"a rule in another script":         {"xn--bcher-kva.example", []string{"BÜCHER.example"}},
		"an address":                       {"127.0.0.1", []string{"127.0.0.1"}},
		"an address and its port":          {"127.0.0.1", []string{"127.0.0.1:" + s.port}},
		"an address, IPv4-mapped":          {"[::ffff:127.0.0.1]", []string{"127.0.0.1"}},
		"a network":                        {"127.0.0.1", []string{"127.0.0.0/8"}},
		"a name with an address in it":     {"good.example", []string{"127.0.0.0/8"}},
		"IPv6":                             {"[::1]", []string{"::1"}},
		"IPv6 and its port":                {"[::1]", []string{"[::1]:" + s.port}},
		"the address that is not refused":  {"both.example", []string{"127.0.0.1/32"}},
		"a name with underscores":          {"llm_1.example", []string{"llm_1.example"}},
		"a name that is also in the other": {"good.example", []string{"10.0.0.0/8", "*.else.example", "good.example"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, allow(test.allow...), knowing(map[string][][]string{
				"good.example": {{"127.0.0.1"}}, "xn--bcher-kva.example": {{"127.0.0.1"}}, "llm_1.example": {{"127.0.0.1"}},
				"both.example": {{"169.254.169.254", "127.0.0.1"}},
			}))
			result, err := r.ask(t.Context(), s.at(test.host), "chat")
			if err != nil {
				t.Fatal(err)
			}
			if got := result.outcome(); got != resultSuccess {
				t.Errorf("%s: %s %s", got, result.record.Class, result.record.Detail)
			}
		})
	}
}

func TestANameThatMovesIsRefusedWhenItDoes(t *testing.T) {
	t.Parallel()
	s := serve(t, stream)
	tests := map[string]struct {
		allow []string
		moves [][]string
	}{
		"to the metadata of a cloud":      {[]string{"moving.example"}, [][]string{{"127.0.0.1"}, {"169.254.169.254"}}},
		"out of the network":              {[]string{"127.0.0.1/32"}, [][]string{{"127.0.0.1"}, {"127.0.0.2"}}},
		"to an address that embeds it":    {[]string{"moving.example"}, [][]string{{"127.0.0.1"}, {"64:ff9b::a9fe:a9fe"}}},
		"to two addresses that are wrong": {[]string{"moving.example"}, [][]string{{"127.0.0.1"}, {"0.0.0.0", "fe80::1"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, allow(test.allow...), knowing(map[string][][]string{"moving.example": test.moves}))
			if result, err := r.ask(t.Context(), s.at("moving.example"), "chat"); err != nil || result.outcome() != resultSuccess {
				t.Fatalf("the first time: %v, %v", result, err)
			}
			_, err := r.ask(t.Context(), s.at("moving.example"), "chat")
			if got := refusal(t, err); got != ReasonAddressRefused {
				t.Errorf("got %v", err)
			}
			want := map[string]float64{"requests_total{chat,success}": 1, "rejected_total{address_refused}": 1}
			if diff := cmp.Diff(want, r.counted(t)); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
		})
	}
	t.Cleanup(func() {
		if n := s.accepted.Load(); n != int64(len(tests)) {
			t.Errorf("%d connections were opened, want one of each first probe", n)
		}
	})
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, stream)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for host, to := range map[string]string{"another server": elsewhere.at("127.0.0.1"), "metadata": "http://169.254.169.254/latest/"} {
			t.Run(http.StatusText(status)+" to "+host, func(t *testing.T) {
				t.Parallel()
				s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) })
				r := newRig(t, allow("127.0.0.1"))
				result, err := r.ask(t.Context(), s.at("127.0.0.1"), "chat")
				if err != nil {
					t.Fatal(err)
				}
				got := shown(t, result)
				if got["probe_success"] != 0 || got["aiperf_probe_error_info{http_3xx}"] != 1 || got["aiperf_probe_http_status_code"] != float64(status) {
					t.Errorf("got %v", got)
				}
				if n := s.accepted.Load(); n != 1 {
					t.Errorf("%d connections", n)
				}
			})
		}
	}
	t.Cleanup(func() {
		if n := elsewhere.accepted.Load(); n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
	})
}
