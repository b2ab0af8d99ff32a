package config

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

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
	switch c.Reuse {
	case transport.Fresh, transport.KeepAlive:
	default:
		wrong("reuse", "must be one of %s, %s, got %q", transport.Fresh, transport.KeepAlive, c.Reuse)
	}
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
	return c.HTTP.Authorization != nil || c.HTTP.BasicAuth != nil || c.HTTP.OAuth2 != nil
}

// transportConfig gives the client in the form in which requests are sent. Redirects are never followed: they would carry the
// credential, and the load, to somebody else.
func (c *HTTPClient) transportConfig() transport.Config {
	out := transport.DefaultConfig()
	out.HTTP = c.HTTP
	out.HTTP.FollowRedirects = false
	out.HTTP.EnableHTTP2 = c.HTTPVersion == transport.HTTP2
	out.Version, out.Reuse, out.Timestamps = c.HTTPVersion, c.Reuse, c.Timestamps
	out.MaxEventBytes, out.MaxBodyBytes = int64(c.MaxEventSize), int64(c.MaxResponseSize)
	return out
}
