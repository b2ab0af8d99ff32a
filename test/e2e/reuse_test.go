//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// reusing has targets that ask one request after the other: their connections are told by the server. URL over IPv4, URL over IPv6, then what
// changes, of the client of the first target.
const reusing = `
workloads: {short: {input_tokens: 16, output_tokens: 4}}
loads: {steady: {mode: closed, concurrency: 1, min_interval: 20ms}}
http_clients:
  mixed: {reuse: both, fresh_every: %[3]d, dns_refresh: 1h, ip_family: %[4]q}
  six: {ip_family: "6"}
collectors: {server: {enabled: false}, gpu: {source: "off"}}
defaults: {model: peer, endpoint: {type: chat}, workload: short, load: steady}
targets:
  - {name: mixed, url: %[1]q, client: mixed}
  - {name: six, url: %[2]q, client: six}
`

// overIPv6 gives the URL at which a server is reached over IPv6 too.
func overIPv6(t *testing.T, server string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(t.Context()), "tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) {}, // of requests that the exporter has given up
	})
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// travelled is how many requests of a target had a connection, and how many of these opened it.
func travelled(f scrape.Families, target string) (all, opened float64) {
	opened = f.Sum("aiperf_http_connections_total", scrape.Labels{"target": target, "reused": "false"})
	return opened + f.Sum("aiperf_http_connections_total", scrape.Labels{"target": target, "reused": "true"}), opened
}

func TestSomeRequestsOpenConnectionsAndOthersKeepThem(t *testing.T) {
	t.Parallel()
	p := startPeer(t, plain)
	six := overIPv6(t, p.url)
	r := &reloading{folder: t.TempDir()}
	r.put(t, "c.yml", fmt.Sprintf(reusing, p.url, six, 4, "any"))
	r.exporter = startExporter(t, nil, "serve", "--config.file="+filepath.Join(r.folder, "c.yml"), "--web.enable-lifecycle")
	after := func(target string, n float64) (f scrape.Families) {
		t.Helper()
		eventually(t, patience, func() error {
			f = r.scrape(t)
			if all, _ := travelled(f, target); all < n {
				return fmt.Errorf("%s: %v requests had a connection, want %v", target, all, n)
			}
			return nil
		})
		return f
	}

	after("six", 10)
	f := after("mixed", 40)
	all, opened := travelled(f, "mixed")
	if want := 1 + float64(int(all)/4); opened < want || opened > want+all/10 {
		t.Errorf("%v of %v requests opened a connection, want the first one and every fourth", opened, all)
	}
	if n := f.Sum("aiperf_http_phase_seconds", scrape.Labels{"target": "mixed", "phase": "connect"}); n != opened {
		t.Errorf("%v requests have the phase of connecting, and %v opened a connection", n, opened)
	}
	// The server tells connections apart: one has most requests, the others one each.
	kept := map[string]int{}
	for _, q := range p.asked("mixed") {
		kept[q.from]++
	}
	long := 0
	for _, n := range kept {
		if n > 1 {
			long++
		}
	}
	if float64(len(kept)) < opened || long == 0 || long > 1+int(all/10) {
		t.Errorf("the server saw %d connections, %d of which had several requests, and the exporter opened %v", len(kept), long, opened)
	}
	for target, family := range map[string]string{"mixed": "4", "six": "6"} {
		for _, of := range []string{"4", "6"} {
			want := 0.0
			if of == family {
				want = 1
			}
			if got := f.Series("aiperf_target_ip_family", scrape.Labels{"target": target, "family": of}); len(got) != 1 || got[0].GetGauge().GetValue() != want {
				t.Errorf("%s: IPv%s is %v, want %v", target, of, got, want)
			}
		}
	}

	// A client that changes is another one at once, and the counters go on.
	r.put(t, "c.yml", fmt.Sprintf(reusing, p.url, six, 2, "4"))
	if status := post(t, r.url+"/-/reload", nil); status != http.StatusOK {
		t.Fatalf("reload: status %d", status)
	}
	all, opened = travelled(r.scrape(t), "mixed")
	allNow, openedNow := travelled(after("mixed", all+40), "mixed")
	if share := (openedNow - opened) / (allNow - all); share < 0.4 || share > 0.65 {
		t.Errorf("%v of %v requests opened a connection, want every second one", openedNow-opened, allNow-all)
	}
	// What would connect nowhere is refused before anybody asks.
	r.put(t, "c.yml", fmt.Sprintf(reusing, p.url, six, 2, "6"))
	if status := post(t, r.url+"/-/reload", nil); status != http.StatusInternalServerError {
		t.Errorf("reload of a client that cannot reach its server: status %d", status)
	}
}
