package otlp

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// variable is an environment variable of OpenTelemetry that stands in for a key.
type variable struct {
	name, key string
	set       func(c *Config, value string) error
}

// variables are in the order in which later ones win. There is one connection for metrics and spans, so what is said of metrics alone holds
// for both.
var variables = []variable{
	{"OTEL_METRIC_EXPORT_TIMEOUT", "timeout", setTimeout},
	{"OTEL_METRIC_EXPORT_INTERVAL", "interval", func(c *Config, v string) (err error) { c.Interval, err = milliseconds(v); return err }},
	{"OTEL_EXPORTER_OTLP_ENDPOINT", "endpoint", setEndpoint},
	{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "endpoint", setEndpoint},
	{"OTEL_EXPORTER_OTLP_HEADERS", "headers", setHeaders},
	{"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "headers", setHeaders},
	{"OTEL_EXPORTER_OTLP_TIMEOUT", "timeout", setTimeout},
	{"OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "timeout", setTimeout},
	{"OTEL_EXPORTER_OTLP_COMPRESSION", "compression", setCompression},
	{"OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "compression", setCompression},
	{"OTEL_EXPORTER_OTLP_CERTIFICATE", "tls_config.ca_file", setCA},
	{"OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE", "tls_config.ca_file", setCA},
	{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "tls_config.cert_file", setCertificate},
	{"OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE", "tls_config.cert_file", setCertificate},
	{"OTEL_EXPORTER_OTLP_CLIENT_KEY", "tls_config.key_file", setKey},
	{"OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY", "tls_config.key_file", setKey},
	{"OTEL_EXPORTER_OTLP_INSECURE", "insecure", setInsecure},
	{"OTEL_EXPORTER_OTLP_METRICS_INSECURE", "insecure", setInsecure},
	{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "temporality", setTemporality},
	{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "histogram", setHistogram},
}

// Variables that have no key. They are read again when an Exporter is made.
const (
	envDisabled   = "OTEL_SDK_DISABLED"
	envService    = "OTEL_SERVICE_NAME"
	envResource   = "OTEL_RESOURCE_ATTRIBUTES"
	envExemplars  = "OTEL_METRICS_EXEMPLAR_FILTER"
	maxEnvTimeout = 24 * time.Hour
)

// FromEnvironment is DefaultConfig with what the environment, in the form of os.Environ, says otherwise: the layer below the file. A key that is
// written there is not looked for here, so that nothing is wrong with it. Errors are findings whose path is the name of the variable; they only
// matter if something is to be sent. An empty variable counts as none.
func FromEnvironment(environ []string, written func(key string) bool) (Config, []error) {
	c, env := DefaultConfig(), newEnvironment(environ)
	var errs []error
	for _, v := range variables {
		if value := env[v.name]; value != "" && !written(v.key) {
			if err := v.set(&c, value); err != nil {
				errs = append(errs, invalid.Key(v.name, "%v", err))
			}
		}
	}
	c.ForgetIdleCertificates()
	_, disabled := env.disabled()
	_, exemplars := env.exemplars()
	_, resource := env.resource()
	for _, err := range []error{disabled, exemplars, resource} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return c, errs
}

// ForgetIdleCertificates takes certificates away from a connection without TLS: in the environment they may be set for all programs of a cluster,
// whatever each of them speaks.
func (c *Config) ForgetIdleCertificates() {
	if to, err := parseEndpoint(c.Endpoint, c.Insecure); err == nil && to.plain {
		c.TLS = TLSConfig{}
	}
}

// environment has the variables that are set, without the space around their values.
type environment map[string]string

func newEnvironment(environ []string) environment {
	out := environment{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		out[name] = strings.TrimSpace(value)
	}
	return out
}

// disabled tells whether OpenTelemetry is switched off altogether.
func (e environment) disabled() (bool, error) {
	off, err := boolean(e[envDisabled])
	if err != nil {
		return false, invalid.Key(envDisabled, "%v", err)
	}
	return off, nil
}

func (e environment) exemplars() (exemplarFilter, error) {
	filter := exemplarFilter(strings.ToLower(e[envExemplars]))
	if filter != exemplarsAsMade && !slices.Contains(exemplarFilters, filter) {
		return "", invalid.Key(envExemplars, "must be one of always_on, always_off, trace_based, got %q", e[envExemplars])
	}
	return filter, nil
}

// resource reads the attributes in OTEL_RESOURCE_ATTRIBUTES, and the name of the service, which wins over one that is among them.
func (e environment) resource() (map[string]string, error) {
	out, err := pairs(e[envResource])
	if err != nil {
		return nil, invalid.Key(envResource, "%v", err)
	}
	if name := e[envService]; name != "" {
		out["service.name"] = name
	}
	return out, nil
}

// pairs reads a list of key=value with commas between them; values are escaped as in URLs. Errors quote no value.
func pairs(text string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, value, found := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" {
			return nil, errors.New("must be key=value pairs with commas between them")
		}
		plain, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("value of %q is not escaped as in a URL", key)
		}
		out[key] = plain
	}
	return out, nil
}

func setEndpoint(c *Config, value string) error {
	if _, err := parseEndpoint(value, false); err != nil {
		return err
	}
	c.Endpoint = value
	return nil
}

func setHeaders(c *Config, value string) error {
	all, err := pairs(value)
	if err != nil {
		return err
	}
	c.Headers = make(map[string]secret.Secret, len(all))
	for name, v := range all {
		if err := checkHeader(name, v); err != nil {
			return err
		}
		c.Headers[name] = secret.Secret(v)
	}
	return nil
}

func setTimeout(c *Config, value string) (err error) {
	c.Timeout, err = milliseconds(value)
	return err
}

func milliseconds(value string) (time.Duration, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 || n > int64(maxEnvTimeout/time.Millisecond) {
		return 0, fmt.Errorf("must be a number of milliseconds, at least 1 and at most %d, got %q", maxEnvTimeout.Milliseconds(), value)
	}
	return time.Duration(n) * time.Millisecond, nil
}

func setCompression(c *Config, value string) error {
	if value != compressionGzip && value != compressionNone {
		return fmt.Errorf("must be gzip or none, got %q", value)
	}
	c.Compression = value
	return nil
}

func setCA(c *Config, value string) error          { c.TLS.CAFile = value; return nil }
func setCertificate(c *Config, value string) error { c.TLS.CertFile = value; return nil }
func setKey(c *Config, value string) error         { c.TLS.KeyFile = value; return nil }

func setInsecure(c *Config, value string) (err error) {
	c.Insecure, err = boolean(value)
	return err
}

// boolean reads true and false in any case; nothing is false.
func boolean(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fmt.Errorf("must be true or false, got %q", value)
}

func setTemporality(c *Config, value string) error {
	t := Temporality(strings.ToLower(value))
	if !t.Valid() {
		return fmt.Errorf("must be one of cumulative, delta, lowmemory, got %q", value)
	}
	c.Temporality = t
	return nil
}

func setHistogram(c *Config, value string) error {
	switch strings.ToLower(value) {
	case "explicit_bucket_histogram":
		c.Histogram = Explicit
	case "base2_exponential_bucket_histogram":
		c.Histogram = Exponential
	default:
		return fmt.Errorf("must be explicit_bucket_histogram or base2_exponential_bucket_histogram, got %q", value)
	}
	return nil
}
