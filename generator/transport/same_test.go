package transport

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
)

// A client that has asked for a token keeps what it made of the proxy; that is no change of its configuration.
func TestAClientThatIsUsedIsTheSameAsItWasWritten(t *testing.T) {
	t.Parallel()
	client := func() Config {
		proxy, err := url.Parse("http://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		c := DefaultConfig()
		c.HTTP.OAuth2 = &promconfig.OAuth2{
			ClientID: "id", ClientSecret: "secret", TokenURL: "http://127.0.0.1:1/token", ProxyConfig: promconfig.ProxyConfig{ProxyURL: promconfig.URL{URL: proxy}},
		}
		return c
	}
	used, written := client(), client()
	if !used.Same(&written) {
		t.Fatal("two that were written alike are not the same")
	}
	used.HTTP.OAuth2.Proxy() // as a client does
	if !used.Same(&written) {
		t.Error("use has changed it")
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	fresh := client()
	if resp, err := credentials(&fresh.HTTP, nil, http.NewFileTransport(http.Dir(t.TempDir()))).RoundTrip(r); err == nil {
		resp.Body.Close()
	}
	if fresh.HTTP.OAuth2.ProxyURL.URL == nil || !fresh.Same(&written) {
		t.Error("a client writes into what others share")
	}
	written.HTTP.OAuth2.ClientID = "other"
	if used.Same(&written) {
		t.Error("another client is the same")
	}
}

func TestAClientWithOtherConnectionsIsAnother(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"reuse": func(c *Config) { c.Reuse = Both }, "fresh_every": func(c *Config) { c.FreshEvery++ },
		"dns_refresh": func(c *Config) { c.DNSRefresh = time.Minute }, "ip_family": func(c *Config) { c.IPFamily = OnlyIPv6 },
	} {
		one, other := DefaultConfig(), DefaultConfig()
		if !one.Same(&other) {
			t.Fatal("two that were written alike are not the same")
		}
		if change(&other); one.Same(&other) {
			t.Errorf("a change of %s is none", name)
		}
	}
}
