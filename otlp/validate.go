package otlp

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// The compressions.
const (
	compressionGzip = "gzip"
	compressionNone = "none"
)

// The bounds of what is sent how often and at once.
const (
	minInterval    = time.Second
	minRequestSize = 64 << 10
	maxRequestSize = 1 << 30
)

// semconvs are the generations of the GenAI conventions.
var semconvs = []string{"1.41", "genai-0.1", "none"}

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	errs := c.validateConnection(path)
	if c.Interval < minInterval {
		errs = append(errs, invalid.Key(path+".interval", "must be at least %v, got %v", minInterval, c.Interval))
	}
	if c.Timeout <= 0 {
		errs = append(errs, invalid.Key(path+".timeout", "must be > 0, got %v", c.Timeout))
	}
	if !c.Temporality.Valid() {
		errs = append(errs, invalid.Key(path+".temporality", "must be one of cumulative, delta, lowmemory, got %q", c.Temporality))
	}
	if !c.Histogram.Valid() {
		errs = append(errs, invalid.Key(path+".histogram", "must be exponential or explicit, got %q", c.Histogram))
	}
	if _, nameless := c.ResourceAttributes[""]; nameless {
		errs = append(errs, invalid.Key(path+".resource_attributes", "must have no empty names"))
	}
	if c.MaxRequestSize < minRequestSize || c.MaxRequestSize > maxRequestSize {
		errs = append(errs, invalid.Key(path+".max_request_size", "must be between %d and %d bytes, got %d", minRequestSize, maxRequestSize, c.MaxRequestSize))
	}
	if !slices.Contains(semconvs, c.Semconv) {
		errs = append(errs, invalid.Key(path+".semconv", "must be one of %s, got %q", strings.Join(semconvs, ", "), c.Semconv))
	}
	if r := c.Traces.Ratio; math.IsNaN(r) || r < 0 || r > 1 {
		errs = append(errs, invalid.Key(path+".traces.ratio", "must be between 0 and 1, got %v", r))
	}
	return append(errs, c.Retry.validate(path+".retry")...)
}

func (c *Config) validateConnection(path string) []error {
	var errs []error
	if c.Protocol != "grpc" {
		errs = append(errs, invalid.Key(path+".protocol", "must be grpc, got %q", c.Protocol))
	}
	to, err := parseEndpoint(c.Endpoint, c.Insecure)
	switch {
	case c.Endpoint == "" && c.Enabled:
		errs = append(errs, invalid.Key(path+".endpoint", "is required, here or in the environment as OTEL_EXPORTER_OTLP_ENDPOINT"))
	case c.Endpoint == "":
	case err != nil:
		errs = append(errs, invalid.Key(path+".endpoint", "%v", err))
	case to.plain && c.TLS != (TLSConfig{}):
		errs = append(errs, invalid.Key(path+".tls_config", "is about TLS, and the connection has none"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if err := checkHeader(name, c.Headers[name].Reveal()); err != nil {
			errs = append(errs, invalid.Key(path+".headers."+name, "%v", err))
		}
	}
	if (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		errs = append(errs, invalid.Key(path+".tls_config", "must have both of cert_file and key_file, or none"))
	}
	if c.Compression != compressionGzip && c.Compression != compressionNone {
		errs = append(errs, invalid.Key(path+".compression", "must be gzip or none, got %q", c.Compression))
	}
	return errs
}

// ReadFiles reads the files that the configuration names, and finds those that cannot be used.
func (c *Config) ReadFiles(path string) []error {
	var errs []error
	if _, err := newHeaders(c); err != nil {
		errs = append(errs, invalid.Key(path+".headers_file", "%v", err))
	}
	if c.TLS != (TLSConfig{}) {
		if _, err := newCredentials(&c.TLS, false); err != nil {
			errs = append(errs, invalid.Key(path+".tls_config", "%v", err))
		}
	}
	return errs
}

func (c *RetryConfig) validate(path string) []error {
	var errs []error
	if c.MaxElapsed < 0 {
		errs = append(errs, invalid.Key(path+".max_elapsed", "must be >= 0, got %v", c.MaxElapsed))
	}
	if c.Initial <= 0 {
		errs = append(errs, invalid.Key(path+".initial", "must be > 0, got %v", c.Initial))
	}
	if c.Max < c.Initial {
		errs = append(errs, invalid.Key(path+".max", "must be at least initial, %v, got %v", c.Initial, c.Max))
	}
	return errs
}

// checkHeader refuses what gRPC cannot carry, or keeps for itself. Errors do not quote the value.
func checkHeader(name, value string) error {
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return errors.New("must have no header without a name")
	case strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "":
		return fmt.Errorf("header %q: the name must be letters, digits, dashes, underscores and dots", name)
	case strings.HasPrefix(lower, "grpc-") || strings.HasSuffix(lower, "-bin") || slices.Contains([]string{"content-type", "te", "user-agent"}, lower):
		return fmt.Errorf("header %q belongs to gRPC", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("header %q: the value must be printable ASCII", name)
	}
	return nil
}
