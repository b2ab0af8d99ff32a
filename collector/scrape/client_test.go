package scrape_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// serve starts a server that the end of the test stops, and counts its connections.
func serve(t *testing.T, handler http.HandlerFunc) (address string, connections *atomic.Int32) {
	t.Helper()
	connections = &atomic.Int32{}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	hush(server)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, connections
}

func newClient(t *testing.T, o scrape.Options) *scrape.Client {
	t.Helper()
	o.UserAgent = "aiperf-exporter/test"
	client, err := scrape.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// within is the context of an exchange that is not to reach its limit.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func zipped(t *testing.T, content io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := io.Copy(z, content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// emptyMember is the largest part of a gzip file that holds nothing.
func emptyMember(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Extra = make([]byte, 0xffff)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// zeros are so many.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestGet(t *testing.T) {
	t.Parallel()
	const page = "x 1\n"
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }},
		{"a page that comes in parts, without its length", func(w http.ResponseWriter, _ *http.Request) {
			for part := range strings.SplitSeq(page, "") {
				_, _ = io.WriteString(w, part)
				_ = http.NewResponseController(w).Flush()
			}
		}},
		{"a page that is compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "GZIP")
			_, _ = w.Write(zipped(t, strings.NewReader(page)))
		}},
		{"any status that is a success", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, page)
		}},
		{"three redirects on the same host", func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.URL.Query().Get("n"))
			if n == 3 {
				_, _ = io.WriteString(w, page)
				return
			}
			codes := []int{http.StatusMovedPermanently, http.StatusFound, http.StatusPermanentRedirect}
			http.Redirect(w, r, fmt.Sprintf("/metrics/?n=%d", n+1), codes[n])
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/plain; version=0.0.4")
				tc.handler(w, r)
			})
			client := newClient(t, scrape.Options{})
			for _, buffer := range [][]byte{nil, make([]byte, 2), make([]byte, 100)} {
				body, contentType, err := client.Get(within(t), address+"/metrics", scrape.Accept, buffer)
				if err != nil {
					t.Fatal(err)
				}
				if string(body) != page || contentType != "text/plain; version=0.0.4" {
					t.Errorf("got %q of the type %q", body, contentType)
				}
				if cap(buffer) == 100 && &body[0] != &buffer[0] {
					t.Error("a buffer that is large enough is not used")
				}
			}
		})
	}
}

func TestAnAnswerTakesNoMoreRoomThanItMayHave(t *testing.T) {
	t.Parallel()
	const limit = 16 << 20
	part := bytes.Repeat([]byte("x"), limit/64)
	address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 64 { // without a length
			_, _ = w.Write(part)
		}
	})
	body, _, err := newClient(t, scrape.Options{}).Get(within(t), address, scrape.Accept, nil)
	if err != nil || len(body) != limit {
		t.Fatalf("got %d bytes and the error %v, want %d bytes", len(body), err, limit)
	}
	if cap(body) > limit+1 {
		t.Errorf("an answer of %d bytes takes %d", limit, cap(body))
	}
}

func TestGetAsksAsAScraperDoes(t *testing.T) {
	t.Parallel()
	var header http.Header
	address, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { header = r.Header.Clone() })
	client := newClient(t, scrape.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, _, err := client.Get(ctx, address, "text/plain", nil); err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(header.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	if err != nil || seconds > 3600 || seconds < 3000 {
		t.Errorf("the timeout is said to be %v (%v), want an hour", seconds, err)
	}
	header.Del("X-Prometheus-Scrape-Timeout-Seconds")
	want := http.Header{"Accept": {"text/plain"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"aiperf-exporter/test"}}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	address, connections := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 0 {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, "x 1\n")
	})
	client := newClient(t, scrape.Options{})
	for range 10 {
		_, _, _ = client.Get(within(t), address, scrape.Accept, nil)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for ten scrapes", n)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	token := func() (string, string, error) { return "Authorization", "Bearer t", nil }
	basic := promconfig.HTTPClientConfig{BasicAuth: &promconfig.BasicAuth{Username: "u", Password: "p"}}
	for _, tc := range []struct {
		name     string
		options  scrape.Options
		userinfo *url.Userinfo
		want     string
	}{
		{"none", scrape.Options{}, nil, ""},
		{"a token for each request", scrape.Options{Credential: token}, nil, "Bearer t"},
		{"a token before those of the configuration", scrape.Options{HTTP: basic, Credential: token}, nil, "Bearer t"},
		{"those of the configuration", scrape.Options{HTTP: basic}, nil, "Basic dTpw"},
		{"those of the address, on each redirect", scrape.Options{}, url.UserPassword("u", "p"), "Basic dTpw"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Header.Get("Authorization"))
				if r.URL.Path == "/" {
					http.Redirect(w, r, "/metrics", http.StatusFound)
				}
			})
			at, err := url.Parse(address + "/")
			if err != nil {
				t.Fatal(err)
			}
			at.User = tc.userinfo
			if _, _, err = newClient(t, tc.options).Get(within(t), at.String(), scrape.Accept, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.want, tc.want}, got); diff != "" {
				t.Errorf("credentials (-want +got):\n%s", diff)
			}
		})
	}
}

func redirectTo(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", address)
		w.WriteHeader(http.StatusFound)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func encoded(encoding string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", encoding)
		_, _ = w.Write(content)
	}
}

// raw answers with what is no doing of net/http, and then closes.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, answer)
		_ = conn.Close()
	}
}

func TestReasonsOfAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		want    scrape.Reason
	}{
		{"401", status(401), scrape.Auth},
		{"403", status(403), scrape.Auth},
		{"404", status(404), scrape.NotFound},
		{"405", status(405), scrape.NotFound},
		{"501", status(501), scrape.NotFound},
		{"429", status(429), scrape.Unavailable},
		{"503", status(503), scrape.Unavailable},
		{"500", status(500), scrape.Status},
		{"418", status(418), scrape.Status},
		{"304", status(304), scrape.Status},
		{"a redirect that does not say where to", status(302), scrape.Status},
		{"500 with an endless body", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, scrape.Status},
		{"a redirect to another host", redirectTo("http://elsewhere.invalid/metrics?token=secret"), scrape.Redirect},
		{"a redirect to another scheme", redirectTo("file:///etc/passwd"), scrape.Redirect},
		{"a redirect that cannot be read", redirectTo("http://a b/?token=secret"), scrape.Redirect},
		{"redirects without an end", redirectTo("/metrics?token=secret"), scrape.Redirect},
		{"200 MB that say so", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(200<<20))
			_, _ = io.Copy(w, zeros(200<<20))
		}, scrape.TooLarge},
		{"200 MB that do not", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, zeros(200<<20)) }, scrape.TooLarge},
		{"a gzip bomb", encoded("gzip", zipped(t, zeros(64<<20))), scrape.TooLarge},
		{"200 MB of gzip that make nothing", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			nothing := emptyMember(t)
			for range (200 << 20) / len(nothing) {
				if _, err := w.Write(nothing); err != nil {
					return
				}
			}
		}, scrape.TooLarge},
		{"gzip that is none", encoded("gzip", []byte("x 1\n# this is not compressed\n")), scrape.Incompatible},
		{"gzip that is damaged", encoded("gzip", damaged(zipped(t, strings.NewReader("x 1\n")))), scrape.Incompatible},
		{"half of gzip", encoded("gzip", zipped(t, strings.NewReader("x 1\n"))[:15]), scrape.Connect},
		{"another compression than was asked for", encoded("br", []byte("x")), scrape.Incompatible},
		{"half an answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "x 1\n")
		}, scrape.Connect},
		{"half a chunk", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nx 1\n"), scrape.Connect},
		{"a chunk whose length is none", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx 1\n"), scrape.Incompatible},
		{"no answer", raw(""), scrape.Connect},
		{"half a header", raw("HTTP/1.1 200 OK\r\nContent-"), scrape.Incompatible},
		{"what is not HTTP", raw("SSH-2.0-OpenSSH_9.9\r\n"), scrape.Incompatible},
		{"a header without an end", raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 11<<20)), scrape.Incompatible},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			address, _ := serve(t, tc.handler)
			client := newClient(t, scrape.Options{})
			wantReason(t, client, within(t), strings.Replace(address, "://", "://user:secret@", 1)+"/metrics?token=secret", tc.want)
		})
	}
}

func damaged(b []byte) []byte {
	b[len(b)-6] ^= 0xff // the checksum
	return b
}

// wantReason wants a scrape to fail for a reason, and the secret not to be told.
func wantReason(t *testing.T, client *scrape.Client, ctx context.Context, address string, want scrape.Reason) { //nolint:revive // t comes first
	t.Helper()
	body, _, err := client.Get(ctx, address, scrape.Accept, nil)
	failed, ok := errors.AsType[*scrape.Error](err)
	if !ok || failed.Reason != want || body != nil || scrape.ReasonOf(err) != want {
		t.Errorf("got %d bytes and the error %v, want the reason %s", len(body), err, want)
		return
	}
	if text := err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "token=") || len(text) > 300 {
		t.Errorf("the error tells too much: %q", text)
	}
}

func TestASlowAnswerEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"no header": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a drip": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "#")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.NewTimer(time.Millisecond).C:
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := serve(t, handler)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			wantReason(t, newClient(t, scrape.Options{}), ctx, address, scrape.Timeout)
		})
	}
}

func TestReasonsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	const refusing = "http://127.0.0.1:1" // where nobody ever listens
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	hush(secured)
	secured.StartTLS()
	t.Cleanup(secured.Close)
	demanding := httptest.NewUnstartedServer(http.NotFoundHandler())
	hush(demanding)
	demanding.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	demanding.StartTLS()
	t.Cleanup(demanding.Close)
	plainAddress, _ := serve(t, status(200))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	insecure := promconfig.HTTPClientConfig{TLSConfig: promconfig.TLSConfig{InsecureSkipVerify: true}}
	missing := promconfig.HTTPClientConfig{BasicAuth: &promconfig.BasicAuth{Username: "u", PasswordFile: "/nonexistent"}}
	refusingProxy := promconfig.HTTPClientConfig{}
	refusingProxy.ProxyURL = promconfig.URL{URL: mustParse(t, refusing)}
	for _, tc := range []struct {
		name    string
		options scrape.Options
		address string
		ctx     context.Context
		want    scrape.Reason
	}{
		{"a refused connection", scrape.Options{}, refusing, within(t), scrape.Connect},
		{"a proxy that refuses", scrape.Options{HTTP: refusingProxy}, plainAddress, within(t), scrape.Connect},
		{"a host that is not known", scrape.Options{}, "http://nobody.invalid/metrics?token=secret", within(t), scrape.DNS},
		{"a certificate that nobody knows", scrape.Options{}, secured.URL, within(t), scrape.TLS},
		{"a certificate that is asked for", scrape.Options{HTTP: insecure}, demanding.URL, within(t), scrape.TLS},
		{"no TLS where it is expected", scrape.Options{}, strings.Replace(plainAddress, "http:", "https:", 1), within(t), scrape.TLS},
		{"an address that is none", scrape.Options{}, "http://user:secret@[::1/metrics", within(t), scrape.Internal},
		{"a scheme that is not HTTP", scrape.Options{}, "ftp://user:secret@localhost/metrics?token=secret", within(t), scrape.Internal},
		{"a credential that cannot be read", scrape.Options{HTTP: missing}, plainAddress, within(t), scrape.Internal},
		{"no token", scrape.Options{Credential: func() (string, string, error) { return "", "", errors.New("no file") }}, plainAddress, within(t), scrape.Internal},
		{"the end of the program", scrape.Options{}, plainAddress, cancelled, scrape.Internal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wantReason(t, newClient(t, tc.options), tc.ctx, tc.address, tc.want)
		})
	}
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestARedirectNeverLeavesTLS(t *testing.T) {
	t.Parallel()
	plainAddress, _ := serve(t, status(200))
	secured := httptest.NewTLSServer(redirectTo(plainAddress))
	t.Cleanup(secured.Close)
	client := newClient(t, scrape.Options{HTTP: promconfig.HTTPClientConfig{TLSConfig: promconfig.TLSConfig{InsecureSkipVerify: true}}})
	wantReason(t, client, within(t), secured.URL, scrape.Redirect)
}

func TestTokensOfOAuth(t *testing.T) {
	t.Parallel()
	page, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		want    scrape.Reason // "" = none
	}{
		{"a token", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"t","token_type":"Bearer"}`)
		}, ""},
		{"a refusal, whose text nobody is told", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the secret is wrong", http.StatusUnauthorized)
		}, scrape.Auth},
		{"a server of tokens that breaks", raw(""), scrape.Connect},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tokens, _ := serve(t, tc.handler)
			client := newClient(t, scrape.Options{HTTP: promconfig.HTTPClientConfig{OAuth2: &promconfig.OAuth2{
				ClientID: "c", ClientSecret: "secret", TokenURL: tokens + "/?token=secret",
			}}})
			if tc.want != "" {
				wantReason(t, client, within(t), page, tc.want)
			} else if _, _, err := client.Get(within(t), page, scrape.Accept, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestACertificateThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	_, err := scrape.NewClient(scrape.Options{HTTP: promconfig.HTTPClientConfig{TLSConfig: promconfig.TLSConfig{CAFile: "/nonexistent.pem"}}})
	if err == nil || !strings.Contains(err.Error(), "/nonexistent.pem") {
		t.Errorf("error %v", err)
	}
}

func TestReasonOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want scrape.Reason
	}{
		{fmt.Errorf("look at it: %w", &scrape.Error{Reason: scrape.DNS, Err: io.EOF}), scrape.DNS},
		{fmt.Errorf("page: %w", exposition.ErrIncompatible), scrape.Incompatible},
		{fmt.Errorf("page: %w", exposition.ErrTooLarge), scrape.TooLarge},
		{errors.New("line 7 is wrong"), scrape.Parse},
	} {
		if got := scrape.ReasonOf(tc.err); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.want)
		}
	}
}

// TestDescriptors is not parallel: it counts those of the whole process.
func TestDescriptors(t *testing.T) { //nolint:paralleltest // see above
	address, connections := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(17<<20))
		_, _ = io.Copy(w, zeros(17<<20))
	})
	client := newClient(t, scrape.Options{})
	before := descriptors(t)
	for range 20 {
		wantReason(t, client, within(t), address, scrape.TooLarge)
	}
	if n := connections.Load(); n != 20 {
		t.Errorf("%d connections for twenty answers that were not read whole", n)
	}
	client.Close()
	if after := descriptors(t); after > before+10 { // the server closes its side when it comes to it
		t.Errorf("%d descriptors, before %d", after, before)
	}
}
