package otlp

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

func TestTheDefaultsAreValid(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	if errs := c.Validate("otlp"); len(errs) > 0 {
		t.Errorf("got %v, want nothing", errs)
	}
	c.Enabled, c.Endpoint = true, "collector"
	if errs := c.Validate("otlp"); len(errs) > 0 {
		t.Errorf("got %v, want nothing", errs)
	}
}

func TestWhatIsWrongIsFoundByKey(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Config){
		"otlp.endpoint: is required":       func(c *Config) { c.Endpoint = "" },
		"otlp.endpoint: must begin with":   func(c *Config) { c.Endpoint = "ftp://c" },
		"otlp.endpoint: must have no user": func(c *Config) { c.Endpoint = "http://u:p@c" },
		"otlp.endpoint: must have no path": func(c *Config) { c.Endpoint = "http://c/v1/metrics" },
		"otlp.endpoint: must have a host":  func(c *Config) { c.Endpoint = "http://:4317" },
		"otlp.endpoint: must have a port":  func(c *Config) { c.Endpoint = "c:99999" },
		"otlp.protocol: ":                  func(c *Config) { c.Protocol = "http/protobuf" },
		"otlp.headers.te: ":                func(c *Config) { c.Headers = map[string]secret.Secret{"te": "x"} },
		"otlp.headers.a b: ":               func(c *Config) { c.Headers = map[string]secret.Secret{"a b": "x"} },
		"otlp.headers.a: ":                 func(c *Config) { c.Headers = map[string]secret.Secret{"a": "ü"} },
		"otlp.tls_config: must have both":  func(c *Config) { c.TLS.KeyFile = "k" },
		"otlp.tls_config: is about TLS":    func(c *Config) { c.Endpoint, c.TLS.CAFile = "http://c", "ca" },
		"otlp.compression: ":               func(c *Config) { c.Compression = "zstd" },
		"otlp.interval: ":                  func(c *Config) { c.Interval = time.Millisecond },
		"otlp.timeout: ":                   func(c *Config) { c.Timeout = 0 },
		"otlp.temporality: ":               func(c *Config) { c.Temporality = "" },
		"otlp.histogram: ":                 func(c *Config) { c.Histogram = "native" },
		"otlp.resource_attributes: ":       func(c *Config) { c.ResourceAttributes = map[string]string{"": "x"} },
		"otlp.retry.initial: ":             func(c *Config) { c.Retry.Initial = 0 },
		"otlp.retry.max: ":                 func(c *Config) { c.Retry.Max = time.Second },
		"otlp.retry.max_elapsed: ":         func(c *Config) { c.Retry.MaxElapsed = -1 },
		"otlp.max_request_size: ":          func(c *Config) { c.MaxRequestSize = 1 },
		"otlp.semconv: must be one of 1.41, genai-0.1, none, got \"2\"": func(c *Config) { c.Semconv = "2" },
		"otlp.traces.ratio: ": func(c *Config) { c.Traces.Ratio = 1.1 },
	} {
		c := DefaultConfig()
		c.Enabled, c.Endpoint = true, "collector:4317"
		change(&c)
		errs := c.Validate("otlp")
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("got %v, want one that begins with %q", errs, want)
		}
	}
}

func TestAnEndpointWithASchemeSaysItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text     string
		insecure bool
		want     endpoint
	}{
		{"collector", false, endpoint{"collector:4317", false}},
		{"collector", true, endpoint{"collector:4317", true}},
		{"collector:1234", false, endpoint{"collector:1234", false}},
		{"http://collector", false, endpoint{"collector:4317", true}},
		{"HTTPS://collector:443/", true, endpoint{"collector:443", false}},
		{"http://[::1]:4317", false, endpoint{"[::1]:4317", true}},
		{"[fe80::1]", false, endpoint{"[fe80::1]:4317", false}},
		{"10.0.0.1:4317", true, endpoint{"10.0.0.1:4317", true}},
	} {
		got, err := parseEndpoint(c.text, c.insecure)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(endpoint{})); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", c.text, diff)
		}
	}
}
