package config

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"
	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// HTTPClient is one entry under `http_clients:`: the settings that Prometheus has for its own clients, beside ours.
type HTTPClient struct {
	// version of HTTP
	HTTPVersion transport.HTTPVersion `koanf:"http_version" yaml:"http_version"`
	// whether requests may use the connection of an earlier one
	Reuse transport.Reuse `koanf:"reuse" yaml:"reuse"`
	// with `reuse: both`: every so many requests of the target one goes on a connection of its own, which is closed after it; 2 or more
	FreshEvery int `koanf:"fresh_every" yaml:"fresh_every,omitempty"`
	// with `reuse: keepalive` or `both`: for how long a connection serves requests, counted from the look-up of its name, so that requests follow
	// servers that were replaced. One that is in use then serves its requests to their end; without it a connection is used as long as it is there
	DNSRefresh time.Duration `koanf:"dns_refresh" yaml:"dns_refresh,omitempty"`
	// to which addresses of the server, or of the proxy, requests connect; `aiperf_target_ip_family` tells which it was. The number is a text, in quotes
	IPFamily transport.IPFamily `koanf:"ip_family" yaml:"ip_family"`
	// where the instants of an answer come from
	Timestamps transport.Timestamps `koanf:"timestamps" yaml:"timestamps"`
	// largest single event of a stream; a larger one fails the request as `response_too_large`
	MaxEventSize Size `koanf:"max_event_size" yaml:"max_event_size"`
	// largest whole answer, likewise
	MaxResponseSize Size `koanf:"max_response_size" yaml:"max_response_size"`

	// HTTP is decoded from Rest once all layers are joined: its types only know YAML.
	HTTP promconfig.HTTPClientConfig `koanf:"-" yaml:",inline" json:"-"`
	Rest map[string]any              `koanf:",remain" yaml:"-" json:"-"`
}

// DefaultHTTPClient is what a target without a client gets.
func DefaultHTTPClient() HTTPClient {
	d := transport.DefaultConfig()
	return HTTPClient{
		HTTPVersion:     d.Version,
		Reuse:           d.Reuse,
		IPFamily:        d.IPFamily,
		Timestamps:      d.Timestamps,
		MaxEventSize:    Size(d.MaxEventBytes),
		MaxResponseSize: Size(d.MaxBodyBytes),
		HTTP:            promconfig.HTTPClientConfig{},
	}
}

// Format implements fmt.Formatter: the credentials of Prometheus' types print as they are, so nothing inside may be printed.
func (c HTTPClient) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "http client") // fmt keeps the error of its own writer
}

// Validate finds what is wrong, by key below path.
func (c *HTTPClient) Validate(path string) []error {
	var errs []error
	wrong := func(key, format string, args ...any) {
		errs = append(errs, invalid.Key(path+"."+key, format, args...))
	}
	switch c.HTTPVersion {
	case transport.HTTP1, transport.HTTP2:
	default:
		wrong("http_version", "must be one of \"1.1\", \"2\", got %q", c.HTTPVersion)
	}
	errs = append(errs, c.validateConnections(path)...)
	switch c.Timestamps {
	case transport.KernelTimestamps, transport.ReadTimestamps:
	default:
		wrong("timestamps", "must be one of %s, %s, got %q", transport.KernelTimestamps, transport.ReadTimestamps, c.Timestamps)
	}
	if c.MaxEventSize <= 0 {
		wrong("max_event_size", "must be > 0")
	}
	if c.MaxResponseSize <= 0 {
		wrong("max_response_size", "must be > 0")
	}
	if c.MaxEventSize > c.MaxResponseSize {
		wrong("max_event_size", "must not be above max_response_size (%s), got %s", c.MaxResponseSize, c.MaxEventSize)
	}
	return errs
}

// validateConnections finds what is wrong about how connections are made and kept.
func (c *HTTPClient) validateConnections(path string) []error {
	var errs []error
	wrong := func(key, format string, args ...any) {
		errs = append(errs, invalid.Key(path+"."+key, format, args...))
	}
	switch c.Reuse {
	case transport.Fresh, transport.KeepAlive, transport.Both:
	default:
		wrong("reuse", "must be one of %s, %s, %s, got %q", transport.Fresh, transport.KeepAlive, transport.Both, c.Reuse)
	}
	switch {
	case c.FreshEvery == 0:
	case c.Reuse != transport.Both:
		wrong("fresh_every", "is only for reuse: %s, the client has %s", transport.Both, c.Reuse)
	case c.FreshEvery < 2:
		wrong("fresh_every", "must be >= 2, got %d; reuse: %s has a connection for each request", c.FreshEvery, transport.Fresh)
	}
	switch {
	case c.DNSRefresh < 0:
		wrong("dns_refresh", "must be >= 0, got %v", c.DNSRefresh)
	case c.DNSRefresh > 0 && c.Reuse == transport.Fresh:
		wrong("dns_refresh", "is only for reuse: %s or %s, with %s each request looks the name up", transport.KeepAlive, transport.Both, transport.Fresh)
	}
	switch c.IPFamily {
	case transport.AnyFamily, transport.OnlyIPv4, transport.OnlyIPv6:
	case "each":
		wrong("ip_family", "cannot be each: a request is one arrival. Write two targets, with clients whose ip_family is %q and %q", transport.OnlyIPv4, transport.OnlyIPv6)
	default:
		wrong("ip_family", "must be one of %s, %q, %q, got %q", transport.AnyFamily, transport.OnlyIPv4, transport.OnlyIPv6, c.IPFamily)
	}
	return errs
}

// reaches tells whether requests can connect to a host, as far as it is an address and no proxy is asked.
func (c *HTTPClient) reaches(host string) bool {
	address, err := netip.ParseAddr(host)
	if err != nil || c.HTTP.ProxyURL.URL != nil || c.HTTP.ProxyFromEnvironment {
		return true
	}
	switch c.IPFamily {
	case transport.OnlyIPv4:
		return address.Unmap().Is4()
	case transport.OnlyIPv6:
		return !address.Unmap().Is4()
	default:
		return true
	}
}

// decodeClients decodes the part of each client that only has YAML types. The checker has already looked at each key and each value;
// what remains is what Prometheus requires of their combination.
func (c *Config) decodeClients() []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.HTTPClients)) {
		client := c.HTTPClients[name]
		if err := client.decode(); err != nil {
			errs = append(errs, invalid.Key(blame(client.Rest, "http_clients."+name, err), "%v", err))
		}
		c.HTTPClients[name] = client
	}
	return errs
}

func (c *HTTPClient) decode() error {
	text, err := yaml.Marshal(c.Rest)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	return decoder.Decode(&c.HTTP)
}

// blame guesses which key of what was written at path an error without a place is about: the first one that it names.
func blame(written any, path string, err error) string {
	m, _ := written.(map[string]any) // nil: nothing to blame
	for _, word := range strings.FieldsFunc(err.Error(), func(r rune) bool { return strings.ContainsRune(" ,:'\"", r) }) {
		if found, ok := findKey(m, path, word); ok {
			return found
		}
	}
	return path
}

func findKey(m map[string]any, path, key string) (string, bool) {
	if _, ok := m[key]; ok {
		return path + "." + key, true
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if child, ok := m[name].(map[string]any); ok {
			if found, ok := findKey(child, path+"."+name, key); ok {
				return found, true
			}
		}
	}
	return "", false
}

// files gives the files that the client names, by key below path.
func (c *HTTPClient) files(path string) map[string]string { return filesOf(c.Rest, path) }

// filesOf gives the files that clients in what was written at path name, by key.
func filesOf(written any, path string) map[string]string {
	out := map[string]string{}
	var visit func(v any, path, pattern string)
	visit = func(v any, path, pattern string) {
		switch v := v.(type) {
		case map[string]any:
			for key, child := range v {
				visit(child, path+"."+key, pattern+"."+key)
			}
		case []any:
			for i, child := range v {
				visit(child, fmt.Sprintf("%s[%d]", path, i), pattern+"[]")
			}
		case string:
			if strings.HasSuffix(pattern, "_file") || strings.HasSuffix(pattern, ".files[]") {
				out[path] = v
			}
		}
	}
	visit(written, path, "")
	return out
}

// authenticates tells whether the client itself sends a credential.
func (c *HTTPClient) authenticates() bool {
	return c.credentialKey() != ""
}

// transportConfig gives the client in the form in which requests are sent. Redirects are never followed: they would carry the
// credential, and the load, to somebody else.
func (c *HTTPClient) transportConfig() transport.Config {
	out := transport.DefaultConfig()
	out.HTTP = c.HTTP
	out.HTTP.FollowRedirects = false
	out.HTTP.EnableHTTP2 = c.HTTPVersion == transport.HTTP2
	out.Version, out.Reuse, out.Timestamps = c.HTTPVersion, c.Reuse, c.Timestamps
	out.FreshEvery = cmp.Or(c.FreshEvery, out.FreshEvery)
	out.DNSRefresh, out.IPFamily = c.DNSRefresh, c.IPFamily
	out.MaxEventBytes, out.MaxBodyBytes = int64(c.MaxEventSize), int64(c.MaxResponseSize)
	return out
}
