package transport_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestCredentialsOfTheConfigurationAreSent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		configure option
		header    string
		want      string
		user      string // in the URL, with "@"
	}{
		{"authorization", func(c *transport.Config) {
			c.HTTP.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: "k"}
		}, "Authorization", "Bearer k", ""},
		{"basic_auth", func(c *transport.Config) {
			c.HTTP.BasicAuth = &promconfig.BasicAuth{Username: "u", Password: "p"}
		}, "Authorization", "Basic dTpw", ""},
		{"http_headers", func(c *transport.Config) {
			c.HTTP.HTTPHeaders = &promconfig.Headers{Headers: map[string]promconfig.Header{"X-Api-Key": {Secrets: []promconfig.Secret{"k"}}}}
		}, "X-Api-Key", "k", ""},
		{"the target's credential", func(c *transport.Config) {
			c.Credential = func() (string, string, error) { return "X-Api-Key", "k", nil }
		}, "X-Api-Key", "k", ""},
		{"user and password of the URL", func(*transport.Config) {}, "Authorization", "Basic dTpw", "u:p@"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sent := make(chan string, 1)
			elsewhere := serve(t, func(p *peer) {
				if request := p.request(); request != nil {
					t.Errorf("the redirect was followed, with %q", request.Header.Get(tt.header))
				}
			})
			target := serve(t, func(p *peer) {
				if request := p.request(); request != nil {
					sent <- request.Header.Get(tt.header)
				}
				p.send("HTTP/1.1 307 Temporary Redirect\r\nLocation: " + elsewhere + "\r\nContent-Length: 0\r\n\r\n")
			})
			r := do(t, newClient(t, tt.configure), strings.Replace(target, "//", "//"+tt.user, 1))
			if err := r.failed(); err != nil || r.Status != http.StatusTemporaryRedirect {
				t.Errorf("status %d, %v, want the redirect itself", r.Status, err)
			}
			if got := <-sent; got != tt.want {
				t.Errorf("%s: %q, want %q", tt.header, got, tt.want)
			}
		})
	}
}

func TestAProxySeesNoCredentialOfATunnel(t *testing.T) {
	t.Parallel()
	target, authority := serveTLS(t, answerAll)
	var asked atomic.Int64
	proxy, err := url.Parse(serve(t, func(p *peer) {
		asked.Add(1)
		request := p.request()
		if request != nil && request.Header.Get("Authorization") != "" {
			t.Errorf("the proxy was told %q", request.Header.Get("Authorization"))
		}
		p.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
	}))
	if err != nil {
		t.Fatal(err)
	}
	r := do(t, newClient(t, trusting(authority), func(c *transport.Config) {
		c.HTTP.ProxyURL = promconfig.URL{URL: proxy}
		c.HTTP.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: "k"}
	}), target)
	if r.Class != metrics.ErrConnect || r.Status != 0 || asked.Load() != 1 {
		t.Errorf("class %q (%v), status %d, proxy asked %d times, want %q after one", r.Class, r.Err, r.Status, asked.Load(), metrics.ErrConnect)
	}
}

// With TLS 1.3 the client has its connection before the server has looked at its certificate.
func TestAMissingClientCertificateIsAFailureOfTLS(t *testing.T) {
	t.Parallel()
	pair, authority := certificate(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MinVersion: version, MaxVersion: version}
		target := serveOn(t, func(p *peer) {
			_ = p.request() // the handshake, which fails
			_, _ = io.Copy(io.Discard, p.tcp)
		}, func(conn *net.TCPConn) net.Conn { return tls.Server(conn, config) })
		r := do(t, newClient(t, trusting(authority)), strings.Replace(target, "http:", "https:", 1))
		if r.Class != metrics.ErrTLS {
			t.Errorf("%s: class %q (%v), want %q", tls.VersionName(version), r.Class, r.Err, metrics.ErrTLS)
		}
	}
}
