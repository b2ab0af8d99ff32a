package main

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asked is a daemon of which only the pages about its health are there, below a prefix, for those who know a password if there is one.
func asked(t *testing.T, start func(http.Handler) *httptest.Server, prefix, password string, pages map[string]int) *httptest.Server {
	t.Helper()
	server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, known := pages[strings.TrimPrefix(r.URL.Path, prefix)]
		if _, got, _ := r.BasicAuth(); got != password {
			code = http.StatusUnauthorized
		} else if !known {
			code = http.StatusNotFound
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		fmt.Fprintf(w, "it is %d\x1b\nand more\n", code)
	}))
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	return server
}

func TestTheHealthOfADaemonIsAsked(t *testing.T) {
	t.Parallel()
	well := map[string]int{"/-/healthy": 200, "/-/ready": 200}
	for name, test := range map[string]struct {
		pages        map[string]int
		prefix       string
		args         []string
		code         int
		page, answer string
	}{
		"alive":                       {pages: well, page: "/-/healthy", answer: `it is 200\x1b`},
		"ready":                       {pages: well, args: []string{"--ready"}, page: "/-/ready", answer: `it is 200\x1b`},
		"alive and not ready":         {pages: map[string]int{"/-/healthy": 200, "/-/ready": 503}, page: "/-/healthy", answer: `it is 200\x1b`},
		"not ready":                   {pages: map[string]int{"/-/ready": 503}, args: []string{"--ready"}, code: exitFailure, page: "/-/ready", answer: `status 503: it is 503\x1b`},
		"below a prefix":              {pages: well, prefix: "/a/b", page: "/a/b/-/healthy", answer: `it is 200\x1b`},
		"something else":              {code: exitFailure, page: "/-/healthy", answer: `status 404: it is 404\x1b`},
		"something that leads away":   {pages: map[string]int{"/-/healthy": 302, "/elsewhere": 200}, code: exitFailure, page: "/-/healthy", answer: `status 302: it is 302\x1b`},
		"something of another status": {pages: map[string]int{"/-/healthy": 204}, code: exitFailure, page: "/-/healthy", answer: "status 204: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := asked(t, httptest.NewServer, test.prefix, "", test.pages)
			got := execute(append([]string{"check", "health", "--url=" + server.URL + test.prefix}, test.args...)...)
			line := server.URL + test.page + ": " + test.answer + "\n"
			want := result{test.code, line, ""}
			if test.code != exitOK {
				want = result{test.code, "", "aiperf-exporter: " + line}
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPrefixMayEndInASlash(t *testing.T) {
	t.Parallel()
	server := asked(t, httptest.NewServer, "/a", "", map[string]int{"/-/healthy": 200})
	if got := execute("check", "health", "--url="+server.URL+"/a/"); got.code != exitOK {
		t.Errorf("%+v", got)
	}
}

func TestNobodyIsNotHealthy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := execute("check", "health", "--url=http://user:hunter2@"+address)
	want := regexp.MustCompile(`^aiperf-exporter: http://user:xxxxx@` + regexp.QuoteMeta(address) + `/-/healthy: .*refused\n$`)
	if got.code != exitFailure || got.stdout != "" || !want.MatchString(got.stderr) {
		t.Errorf("%+v, want %v", got, want)
	}
}

// Whoever accepts and says nothing: a hung process, a stopped one.
func TestWhoeverDoesNotAnswerIsNotHealthy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := execute("check", "health", "--url=http://"+l.Addr().String())
	want := result{exitFailure, "", "aiperf-exporter: http://" + l.Addr().String() + "/-/healthy: no answer in 3s\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADaemonBehindTLSAndAPasswordIsAsked(t *testing.T) {
	t.Parallel()
	server := asked(t, httptest.NewTLSServer, "", "hunter2", map[string]int{"/-/healthy": 200})
	authority := write(t, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	trusting := "tls_config: {ca_file: " + authority + "}\n"
	for name, test := range map[string]struct {
		file string
		code int
		says string
	}{
		"nothing known of it":      {"", exitFailure, "certificate"},
		"its authority":            {trusting, exitFailure, "status 401"},
		"its authority, password":  {trusting + "basic_auth: {username: a, password: hunter2}\n", exitOK, "it is 200"},
		"no look at who it is":     {"tls_config: {insecure_skip_verify: true}\nbasic_auth: {username: a, password: hunter2}\n", exitOK, "it is 200"},
		"a key that is misspelled": {"tls_conf: {}\n", exitFailure, "--http.config.file: "},
		"a file that is missing":   {"tls_config: {ca_file: nowhere.crt}\n", exitFailure, "nowhere.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"check", "health", "--url=" + server.URL}
			if test.file != "" {
				args = append(args, "--http.config.file="+write(t, "client.yml", test.file))
			}
			got := execute(args...)
			if out := got.stdout + got.stderr; got.code != test.code || !strings.Contains(out, test.says) || strings.Contains(out, "hunter2") || strings.Count(out, "\n") != 1 {
				t.Errorf("%+v, want exit code %d and one line with %q", got, test.code, test.says)
			}
		})
	}
}

func TestWhatIsNoAddressOfADaemonIsRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"localhost:9749", "ftp://127.0.0.1:9749", "unix:///run/x.sock", "/metrics"} {
		if got := execute("check", "health", "--url="+url); got.code != exitUsage || !strings.Contains(got.stderr, "url") {
			t.Errorf("%s: %+v, want exit code %d", url, got, exitUsage)
		}
	}
	if got := execute("check", "health", "--url=http://127.0.0.1:9749", "--http.config.file=nowhere.yml"); got.code != exitFailure {
		t.Errorf("a file that is not there: %+v", got)
	}
}
