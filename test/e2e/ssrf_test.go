//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// trap is a listener to which nobody may ever connect.
type trap struct {
	host, port string
	touched    atomic.Int64
}

func setTrap(t *testing.T, address string) *trap {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(context.WithoutCancel(t.Context()), "tcp", address)
	if err != nil {
		t.Skipf("no listener at %s: %v", address, err)
	}
	out := &trap{}
	out.host, out.port, _ = net.SplitHostPort(listener.Addr().String()) // which made it
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			out.touched.Add(1)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait()
		if n := out.touched.Load(); n != 0 {
			t.Errorf("%s was connected to %d times", address, n)
		}
	})
	return out
}

// probing lets probes reach the port of one server on this machine, and all of the world but what is special: port, URL of the server.
const probing = `
workloads: {short: {input_tokens: 16, output_tokens: 4}}
loads: {still: {mode: constant, interval: 1h, paused: true}}
modules:
  open: {model: peer, endpoint: {type: chat}, workload: short}
  keyed: {model: peer, endpoint: {type: chat, api_key: key-of-the-module}, workload: short, allowed_targets: ["localhost:%[1]s"]}
  kept: {model: peer, endpoint: {type: chat, api_key: key-of-nobody}, workload: short}
  quick: {model: peer, endpoint: {type: chat}, workload: short, timeouts: {first_token: 20s, idle: 20s, total: 20s}}
probe: {allowed_targets: ["127.0.0.1:%[1]s", "0.0.0.0/0", "::/0"]}
targets: [{name: configured, url: %[2]q, model: peer, endpoint: {type: chat}, workload: short, load: still}]
`

// asked gives the status and the text of a probe.
func (e exporter) probed(t *testing.T, query url.Values, header http.Header) (int, string) {
	t.Helper()
	code, text, err := (&visitor{header: header}).ask(t, http.MethodGet, e.url+"/probe?"+query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return code, text
}

func TestAProbeTouchesNobodyItMayNot(t *testing.T) {
	t.Parallel()
	four, six := setTrap(t, "127.0.0.1:0"), setTrap(t, "[::1]:0")
	allowed := startPeer(t, func(w http.ResponseWriter, r *http.Request, q *question) {
		var code int
		if n, _ := fmt.Sscanf(r.URL.Path, "/redirect/%d", &code); n == 1 {
			http.Redirect(w, r, "http://127.0.0.1:"+four.port+"/v1/chat/completions", code)
			return
		}
		plain(w, r, q)
	})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(allowed.url, "http://"))
	e := serve(t, fmt.Sprintf(probing, port, allowed.url))

	refusals := []struct {
		target, module, reason string
		status                 int
	}{
		{"http://127.0.0.1:P4", "open", "not_allowed", 403},
		{"http://[::1]:P6", "open", "not_allowed", 403},
		{"http://localhost:P4", "open", "address_refused", 403},
		{"http://LOCALHOST.:P4", "open", "address_refused", 403},
		{"http://127.1.2.3:P4", "open", "not_allowed", 403},
		{"http://0.0.0.0:P4", "open", "not_allowed", 403},
		{"http://[::]:P4", "open", "not_allowed", 403},
		{"http://[::ffff:127.0.0.1]:P4", "open", "not_allowed", 403},
		{"http://[::ffff:7f00:1]:P4", "open", "not_allowed", 403},
		{"http://[0:0:0:0:0:ffff:127.0.0.1]:P4", "open", "not_allowed", 403},
		{"http://[::127.0.0.1]:P4", "open", "not_allowed", 403},
		{"http://[64:ff9b::7f00:1]:P4", "open", "not_allowed", 403},
		{"http://[2002:7f00:1::]:P4", "open", "not_allowed", 403},
		{"http://2130706433:P4", "open", "bad_target", 400},
		{"http://0x7f000001:P4", "open", "bad_target", 400},
		{"http://0177.0.0.1:P4", "open", "bad_target", 400},
		{"http://017700000001:P4", "open", "bad_target", 400},
		{"http://127.1:P4", "open", "bad_target", 400},
		{"http://0:P4", "open", "bad_target", 400},
		{"http://127。0。0。1:P4", "open", "bad_target", 400},
		{"http://%31%32%37.0.0.1:P4", "open", "bad_target", 400},
		{"http://127.0.0.1%2f@x:P4", "open", "bad_target", 400},
		{"http://169.254.169.254/latest/meta-data/", "open", "not_allowed", 403},
		{"http://[::ffff:169.254.169.254]/", "open", "not_allowed", 403},
		{"http://[::ffff:a9fe:a9fe]/", "open", "not_allowed", 403},
		{"http://[fd00:ec2::254]/", "open", "not_allowed", 403},
		{"http://100.100.100.200/", "open", "not_allowed", 403},
		{"http://2852039166/", "open", "bad_target", 400},
		{"http://user:password@127.0.0.1:P4", "open", "bad_target", 400},
		{"http://127.0.0.1:" + port + "@127.0.0.1:P4", "open", "bad_target", 400},
		{"http://127.0.0.1:P4#@127.0.0.1:" + port, "open", "bad_target", 400},
		{`http://127.0.0.1:P4\@127.0.0.1:` + port, "open", "bad_target", 400},
		{"http://127.0.0.1:" + port + "\r\nHost: x", "open", "bad_target", 400},
		{"unix:///var/run/docker.sock", "open", "bad_target", 400},
		{"file:///etc/passwd", "open", "bad_target", 400},
		{"gopher://127.0.0.1:P4/_GET", "open", "bad_target", 400},
		{"ftp://127.0.0.1:P4/", "open", "bad_target", 400},
		{"dict://127.0.0.1:P4/", "open", "bad_target", 400},
		{"http:127.0.0.1:P4", "open", "unknown_target", 400},
		{"//127.0.0.1:P4", "open", "unknown_target", 400},
		{"127.0.0.1:P4", "open", "unknown_target", 400},
		{"http://192.0.2.1:22", "open", "not_allowed", 403},
		{"http://192.0.2.1:0", "open", "bad_target", 400},
		{"http://192.0.2.1:65536", "open", "bad_target", 400},
		{"http://192.0.2.1:4294967376", "open", "bad_target", 400},
		// The key of a module goes to those of its own list, whatever the list of all says.
		{"http://127.0.0.1:" + port, "keyed", "not_allowed", 403},
		{"http://localhost:P4", "keyed", "not_allowed", 403},
		{"http://127.0.0.1:" + port, "kept", "not_allowed", 403},
		{"configured", "kept", "not_allowed", 403},
		{"", "open", "missing_target", 400},
		{"http://127.0.0.1:" + port, "", "missing_module", 400},
		{"http://127.0.0.1:" + port, "nobody", "unknown_module", 400},
	}
	want := map[string]float64{}
	for _, test := range refusals {
		target := strings.NewReplacer("P4", four.port, "P6", six.port).Replace(test.target)
		query := url.Values{"target": {target}, "module": {test.module}}
		if test.module == "" {
			query.Del("module")
		}
		code, text := e.probed(t, query, nil)
		if code != test.status || !strings.HasPrefix(text, test.reason+":") {
			t.Errorf("%q with %s: status %d %s, want %d %s", target, test.module, code, text, test.status, test.reason)
		}
		want[test.reason]++
	}
	if n := len(allowed.asked("open")) + len(allowed.asked("keyed")) + len(allowed.asked("kept")) + len(allowed.asked("configured")); n != 0 {
		t.Errorf("%d requests came to the allowed server of probes that were refused", n)
	}

	redirects := 0
	for _, status := range []int{301, 302, 303, 307, 308} {
		code, text := e.probed(t, url.Values{"target": {fmt.Sprintf("%s/redirect/%d", allowed.url, status)}, "module": {"open"}}, nil)
		if code != http.StatusOK || !strings.Contains(text, "probe_success 0\n") || !strings.Contains(text, `error_class="http_3xx"`) {
			t.Errorf("redirect %d: status %d %s", status, code, text)
		}
		redirects++
	}
	for module, target := range map[string]string{"open": allowed.url, "keyed": "http://localhost:" + port} {
		code, text := e.probed(t, url.Values{"target": {target}, "module": {module}}, nil)
		if code != http.StatusOK || !strings.Contains(text, "probe_success 1\n") {
			t.Errorf("%s: status %d %s", module, code, text)
		}
	}
	if code, text := e.probed(t, url.Values{"target": {"configured"}}, nil); code != http.StatusOK || !strings.Contains(text, "probe_success 1\n") {
		t.Errorf("configured: status %d %s", code, text)
	}
	for _, q := range allowed.asked("open") {
		if of := q.header.Get("Authorization"); of != "" {
			t.Errorf("a module without credentials sends %s", of)
		}
	}
	if asked := allowed.asked("keyed"); len(asked) != 1 || asked[0].header.Get("Authorization") != "Bearer key-of-the-module" {
		t.Errorf("the module with a key was heard %d times, with %v", len(asked), asked)
	}

	f := e.scrape(t)
	got := f.By("aiperf_exporter_probe_rejected_total", "reason", nil)
	for reason, n := range want {
		if got[reason] != n {
			t.Errorf("%v were refused as %s, counted %v", n, reason, got[reason])
		}
		delete(got, reason)
	}
	if len(got) != 0 {
		t.Errorf("nobody was refused for %v", got)
	}
	if n := f.Sum("aiperf_exporter_probe_requests_total", scrape.Labels{"module": "open", "result": "success"}); n != 1 {
		t.Errorf("%v probes of open succeeded, want 1", n)
	}
	if n := f.Sum("aiperf_exporter_probe_requests_total", scrape.Labels{"module": "open"}); n != float64(1+redirects) {
		t.Errorf("%v probes of open, want %d", n, 1+redirects)
	}
	if n := f.Sum("aiperf_requests_total", nil) + f.Sum("aiperf_arrivals_total", nil); n != 0 {
		t.Errorf("the target has counted %v", n)
	}
}

// The job is what prometheus-operator makes of a Probe.
func TestPrometheusProbesAsTheOperatorTellsIt(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	p := startPeer(t, func(w http.ResponseWriter, r *http.Request, q *question) {
		if strings.HasPrefix(r.URL.Path, "/slow") {
			select {
			case <-slow:
			case <-r.Context().Done():
			}
			return
		}
		plain(w, r, q)
	})
	defer close(slow)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(p.url, "http://"))
	e := serve(t, fmt.Sprintf(probing, port, p.url))
	prom := launch(t, fmt.Sprintf(`
scrape_configs:
  - job_name: probe/default/llm
    honor_timestamps: true
    metrics_path: /probe
    scheme: http
    scrape_interval: 3s
    scrape_timeout: 3s
    params: {module: [quick]}
    static_configs: [{targets: [%q, %q], labels: {namespace: default}}]
    relabel_configs:
      - {source_labels: [job], target_label: __tmp_prometheus_job_name}
      - {target_label: job, replacement: default/llm}
      - {source_labels: [__address__], target_label: __param_target}
      - {source_labels: [__param_target], target_label: instance}
      - {target_label: __address__, replacement: %q}
      - {source_labels: [__param_target, __tmp_hash], target_label: __tmp_hash, regex: '(.+);', replacement: '$1', action: replace}
`, p.url, p.url+"/slow", strings.TrimPrefix(e.url, "http://")))
	is := func(expression string, want float64) error {
		if got := prom.query(t, expression); len(got) != 1 || got["default/llm"] != want {
			return fmt.Errorf("%s is %v, want %v", expression, got, want)
		}
		return nil
	}
	eventually(t, patience, func() error { return is(fmt.Sprintf("probe_success{instance=%q,namespace='default'}", p.url), 1) })
	eventually(t, patience, func() error { return is(fmt.Sprintf("aiperf_probe_tokens{instance=%q,token_type='output'}", p.url), 4) })
	// The scrape of the one that hangs comes to its end before Prometheus gives it up.
	eventually(t, patience, func() error { return is(fmt.Sprintf("probe_success{instance=%q}", p.url+"/slow"), 0) })
	eventually(t, patience, func() error { return is(fmt.Sprintf("probe_timeout_seconds{instance=%q}", p.url+"/slow"), 2.5) })
	eventually(t, patience, func() error { return is(fmt.Sprintf("up{instance=%q}", p.url+"/slow"), 1) })

	for header, want := range map[string]string{"3": "2.5", "7.25": "6.75", "100": "20", "NaN": "20", "-1": "20", "1e9": "20", "soon": "20", "": "20"} {
		code, text := e.probed(t, url.Values{"target": {p.url}, "module": {"quick"}}, http.Header{"X-Prometheus-Scrape-Timeout-Seconds": {header}})
		if code != http.StatusOK || !strings.Contains(text, "probe_timeout_seconds "+want+"\n") {
			t.Errorf("a scraper that waits %q: status %d, want a limit of %s in %s", header, code, want, text)
		}
	}
	for _, header := range []string{"0", "0.3", "0.999"} {
		code, text := e.probed(t, url.Values{"target": {p.url}, "module": {"quick"}}, http.Header{"X-Prometheus-Scrape-Timeout-Seconds": {header}})
		if code != http.StatusBadRequest || !strings.HasPrefix(text, "scrape_timeout:") {
			t.Errorf("a scraper that waits %s: status %d %s", header, code, text)
		}
	}
}

// answered is what came back.
type answered struct {
	status int
	header http.Header
	body   string
}

func fetched(t *testing.T, method, address string, header http.Header) answered {
	t.Helper()
	ctx, cancel := context.WithCancel(process.Within(t, patience))
	defer cancel() // events have no end
	r, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out := answered{status: resp.StatusCode, header: resp.Header}
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		out.body = string(body)
	}
	return out
}

// foreign is how browsers mark what a page of another site asks for.
var foreign = map[string]http.Header{
	"a browser of today":                   {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
	"a page of a neighbour":                {"Sec-Fetch-Site": {"same-site"}},
	"a browser of yesterday":               {"Origin": {"https://evil.example"}},
	"a page from a file":                   {"Origin": {"null"}},
	"a form, which needs no other consent": {"Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"application/x-www-form-urlencoded"}},
}

func TestTheSurfaceIsClosedToStrangers(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "/some/prefix"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			p := startPeer(t, plain)
			a := address(t)
			e := exporter{process.ForTest(t, nil, binary, "serve", "--config.file="+file(t, "c.yml", fmt.Sprintf(pausable+"debug: {capture: {enabled: true}}\n", p.url)),
				"--web.listen-address="+a, "--web.route-prefix="+prefix, "--web.enable-admin-api", "--web.enable-lifecycle", "--web.enable-pprof"), "http://" + a + prefix}
			if err := e.Ready(process.Within(t, patience), e.url+"/-/ready"); err != nil {
				t.Fatal(err)
			}
			if prefix != "" {
				if got := fetched(t, http.MethodGet, "http://"+a+"/", nil); got.status != http.StatusFound || got.header.Get("Location") != prefix+"/" {
					t.Errorf("without the prefix: %d to %s", got.status, got.header.Get("Location"))
				}
				if got := fetched(t, http.MethodGet, "http://"+a+"/metrics", nil); got.status != http.StatusNotFound {
					t.Errorf("metrics without the prefix: %d", got.status)
				}
			}
			e.closedToOthers(t)
			e.tellsHowToBeUsed(t)
			if status := post(t, e.url+"/-/quit", http.Header{"Sec-Fetch-Site": {"same-origin"}}); status != http.StatusOK {
				t.Errorf("quit of our own page: status %d", status)
			}
			if code, err := e.Wait(process.Within(t, patience)); code != 0 || err != nil {
				t.Errorf("code %d, %v", code, err)
			}
		})
	}
}

// changing are the routes that change something.
var changing = []string{"/-/reload", "/-/quit", "/-/pause", "/-/resume", "/-/pause?target=one", "/api/v1/targets/one/pause", "/api/v1/targets/one/resume"}

// closedToOthers: what changes something is refused to pages of other sites, before it is done, and what is read is not.
func (e exporter) closedToOthers(t *testing.T) {
	t.Helper()
	for who, header := range foreign {
		for _, path := range changing {
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
				got := fetched(t, method, e.url+path, header)
				if got.status != http.StatusForbidden {
					t.Errorf("%s may %s %s: status %d %s", who, method, path, got.status, got.body)
				}
				if strings.HasPrefix(path, "/api/") && !strings.Contains(got.body, `"status":"error"`) {
					t.Errorf("%s %s: not the form of the API: %s", method, path, got.body)
				}
			}
			if got := fetched(t, http.MethodGet, e.url+path, header); got.status != http.StatusMethodNotAllowed {
				t.Errorf("%s may GET %s: status %d", who, path, got.status)
			}
		}
		for _, path := range []string{"/", "/metrics", "/api/v1/targets", "/-/healthy"} {
			if got := fetched(t, http.MethodGet, e.url+path, header); got.status != http.StatusOK {
				t.Errorf("%s may not read %s: status %d", who, path, got.status)
			}
		}
	}
	if f := e.scrape(t); f.Sum("aiperf_load_paused", nil) != 0 || f.Sum("aiperf_exporter_config_reloads_total", nil) > 1 {
		t.Error("a page of another site has paused or reloaded something")
	}
	for _, header := range []http.Header{nil, {"Sec-Fetch-Site": {"same-origin"}}, {"Sec-Fetch-Site": {"none"}}, {"Origin": {e.url[:len("http://")+strings.Index(e.url[len("http://"):]+"/", "/")]}}} {
		for _, path := range []string{"/-/pause", "/-/resume", "/api/v1/targets/one/pause", "/api/v1/targets/one/resume", "/-/reload"} {
			if got := fetched(t, http.MethodPost, e.url+path, header); got.status != http.StatusOK {
				t.Errorf("our own page %v may not %s: status %d %s", header, path, got.status, got.body)
			}
		}
	}
}

// tellsHowToBeUsed: headers, paths that are not there, methods that are not taken.
func (e exporter) tellsHowToBeUsed(t *testing.T) {
	t.Helper()
	type place struct {
		path    string
		status  int
		noStore bool
	}
	reads := []place{
		{"/", 200, false},
		{"/targets/one", 200, false},
		{"/targets/nobody", 404, false},
		{"/page.js", 200, false},
		{"/style.css", 200, false},
		{"/config", 200, true},
		{"/metrics", 200, false},
		{"/-/healthy", 200, false},
		{"/-/ready", 200, false},
		{"/api/v1/targets", 200, true},
		{"/api/v1/targets/one", 200, true},
		{"/api/v1/targets/one/records", 200, true},
		{"/api/v1/status/config", 200, true},
		{"/api/v1/status/flags", 200, true},
		{"/api/v1/captures", 200, true},
		{"/api/v1/captures/none", 404, true},
		{"/api/v1/discovery", 200, true},
		{"/api/v1/collectors", 200, true},
		{"/api/v1/alerts/preview", 200, true},
		{"/api/v1/events", 200, true},
		{"/api/v1/targets?x=1", 400, true},
		{"/probe?target=one", 200, true},
		{"/probe", 400, true},
		{"/debug/pprof/cmdline", 200, true},
		{"/nothing", 404, false},
		{"/metrics/", 404, false},
		{"/api/v1/nothing", 404, true},
		{"/api/v2/targets", 404, false},
		{"/-/nothing", 404, false},
		{"/targets/", 404, false},
		{"/config/x", 404, false},
	}
	for _, at := range reads {
		got := fetched(t, http.MethodGet, e.url+at.path, nil)
		if got.status != at.status {
			t.Errorf("GET %s: status %d, want %d", at.path, got.status, at.status)
		}
		for name, value := range map[string]string{
			"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if got.header.Get(name) != value {
				t.Errorf("GET %s: %s is %q", at.path, name, got.header.Get(name))
			}
		}
		if at.noStore && got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("GET %s: Cache-Control is %q", at.path, got.header.Get("Cache-Control"))
		}
		if strings.HasPrefix(at.path, "/api/v1/") && at.path != "/api/v1/events" && !json.Valid([]byte(got.body)) {
			t.Errorf("GET %s: not JSON: %s", at.path, got.body)
		}
		if at.status == http.StatusNotFound && !strings.Contains(at.path, "/api/v1/") {
			continue // there is nothing, whatever the method
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			other := fetched(t, method, e.url+at.path, nil)
			if at.path == "/api/v1/nothing" {
				if other.status != http.StatusNotFound {
					t.Errorf("%s %s: status %d", method, at.path, other.status)
				}
				continue
			}
			if other.status != http.StatusMethodNotAllowed || !strings.Contains(other.header.Get("Allow"), http.MethodGet) {
				t.Errorf("%s %s: status %d, Allow %q", method, at.path, other.status, other.header.Get("Allow"))
			}
		}
	}
	for _, path := range changing {
		got := fetched(t, http.MethodGet, e.url+path, nil)
		allow := strings.Split(got.header.Get("Allow"), ", ")
		if got.status != http.StatusMethodNotAllowed || !slices.Contains(allow, http.MethodPost) || slices.Contains(allow, http.MethodGet) {
			t.Errorf("GET %s: status %d, Allow %q", path, got.status, allow)
		}
	}
}
