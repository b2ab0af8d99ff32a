package scrape_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

func TestAConfigurationThatIsInUseStillEqualsItself(t *testing.T) {
	t.Parallel()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"t","token_type":"bearer","expires_in":3600}`))
	}))
	t.Cleanup(tokens.Close)
	proxy, err := url.Parse(tokens.URL)
	if err != nil {
		t.Fatal(err)
	}
	read := func() promconfig.HTTPClientConfig {
		through := promconfig.ProxyConfig{ProxyURL: promconfig.URL{URL: proxy}}
		return promconfig.HTTPClientConfig{
			ProxyConfig: through, OAuth2: &promconfig.OAuth2{ClientID: "c", ClientSecret: "s", TokenURL: tokens.URL + "/token", ProxyConfig: through},
		}
	}
	used := scrape.Detached(read())
	client, err := scrape.NewClient(scrape.Options{HTTP: used})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, _, err := client.Get(context.Background(), "http://h.invalid/metrics", "*/*", nil); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(used, scrape.Detached(read())) {
		t.Error("it differs from what is read from the same file again")
	}
	other := read()
	other.OAuth2.ClientSecret = "other"
	if reflect.DeepEqual(used, scrape.Detached(other)) {
		t.Error("another secret makes no difference")
	}
}
