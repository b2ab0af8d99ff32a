//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// vllm is the page of a server that was started at an instant, in Unix seconds, and has answered so many requests.
func vllm(started, requests int) string {
	const labels = `engine="0",model_name="peer"`
	var b strings.Builder
	for _, family := range []struct {
		name, kind string
		value      int
	}{
		{"process_start_time_seconds", "gauge", started},
		{"vllm:num_requests_running", "gauge", 3},
		{"vllm:request_success_total", "counter", requests},
		{"vllm:generation_tokens_total", "counter", 40 * requests},
	} {
		fmt.Fprintf(&b, "# TYPE %s %s\n%s{%s} %d\n", family.name, family.kind, family.name, labels, family.value)
	}
	b.WriteString("# TYPE vllm:time_to_first_token_seconds histogram\n")
	for _, series := range []string{`_bucket{le="0.1",%s}`, `_bucket{le="+Inf",%s}`, `_count{%s}`, `_sum{%s}`} {
		fmt.Fprintf(&b, "vllm:time_to_first_token_seconds"+series+" %d\n", labels, requests)
	}
	return b.String()
}

// started is when the servers were, unless they say something else.
const started = 1.7e9

// site is a server that answers questions, and whose page of metrics becomes hostile when the test wants it.
type site struct {
	*peer
	looks   atomic.Int64
	hostile atomic.Bool

	mu   sync.Mutex
	from map[string]bool // the other ends of connections on which the page was asked for
}

func startSite(t *testing.T, hostile func(w http.ResponseWriter, r *http.Request, look int)) *site {
	t.Helper()
	s := &site{from: map[string]bool{}}
	s.peer = startPeerWith(t, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.from[connectionOf(r)] = true
		s.mu.Unlock()
		look := int(s.looks.Add(1))
		if s.hostile.Load() {
			hostile(w, r, look)
			return
		}
		show(w, vllm(started, 1000+look))
	}, plain)
	return s
}

// apart checks that what was asked and the looks at the page came over connections of their own.
func (s *site) apart(t *testing.T, target string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.asked(target) {
		if s.from[q.from] {
			t.Errorf("a connection to %s carried both a request and a look at its metrics", target)
		}
	}
}

func show(w http.ResponseWriter, page string) {
	w.Header().Set("Content-Type", scrape.Text)
	fmt.Fprint(w, page)
}

// hostility is what may become of a page.
type hostility struct {
	answer func(w http.ResponseWriter, r *http.Request, look int)
	reason string // for which looks fail; "" = they do not
	counts bool   // whether its counters are still shown
	// mends tells that the page is read again as soon as it is well again, series what else there is to see.
	mends  bool
	series map[string]float64
}

// huge is the size of the largest pages, in bytes.
const huge = 200 << 20

// endless gives huge bytes of a page.
func endless(w io.Writer) {
	lines := bytes.Repeat([]byte(`vllm:num_requests_running{engine="0",model_name="peer"} 1`+"\n"), 1000)
	for sent := 0; sent < huge; sent += len(lines) {
		if _, err := w.Write(lines); err != nil {
			return // nobody reads on
		}
	}
}

// packed is the same, compressed.
func packed(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	endless(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hostilities are by the target whose page it is. elsewhere is the address of another host, bomb a page that is packed.
func hostilities(elsewhere string, bomb []byte) map[string]hostility {
	return map[string]hostility{
		"restarts": {
			answer: func(w http.ResponseWriter, _ *http.Request, look int) { show(w, vllm(started+100, look)) },
			counts: true, series: map[string]float64{"aiperf_server_restarts_total": 1, "aiperf_server_replicas_mixed": 0},
		},
		"renames": {
			answer: func(w http.ResponseWriter, _ *http.Request, look int) {
				show(w, strings.ReplaceAll(vllm(started, 1000+look), "vllm:", "vllm:v2_"))
			},
			mends: true, series: map[string]float64{"aiperf_scrape_unmapped_families": 4},
		},
		"balancer": {
			answer: func(w http.ResponseWriter, _ *http.Request, look int) {
				show(w, vllm(started+look%2*500, 1000*(look%2)+look))
			},
			series: map[string]float64{"aiperf_server_replicas_mixed": 1, "aiperf_server_requests_running": 3},
		},
		"fails": {
			answer: func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusInternalServerError) },
			reason: "status", mends: true,
		},
		"html": {
			answer: func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<!doctype html><html><body><h1>Welcome</h1></body></html>")
			},
			reason: "incompatible",
		},
		"huge": {
			answer: func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Content-Type", scrape.Text)
				endless(w)
			},
			reason: "too_large",
		},
		"packed": {
			answer: func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Content-Type", scrape.Text)
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(bomb) // whether anybody reads it to its end
			},
			reason: "too_large",
		},
		"half": {
			answer: func(w http.ResponseWriter, _ *http.Request, look int) {
				page := vllm(started, 1000+look)
				show(w, page[:strings.LastIndex(page, "} ")])
			},
			reason: "parse", mends: true,
		},
		"breaks": {
			answer: func(w http.ResponseWriter, _ *http.Request, look int) {
				page := vllm(started, 1000+look)
				w.Header().Set("Content-Length", strconv.Itoa(2*len(page)))
				show(w, page)
				panic(http.ErrAbortHandler)
			},
			reason: "connect", mends: true,
		},
		"hangs": {
			answer: func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() },
			reason: "timeout", mends: true,
		},
		"redirects": {
			answer: func(w http.ResponseWriter, r *http.Request, _ int) { http.Redirect(w, r, elsewhere, http.StatusFound) },
			reason: "redirect", mends: true,
		},
		"vanishes": {
			answer: func(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) },
			reason: "connect", mends: true,
		},
	}
}
