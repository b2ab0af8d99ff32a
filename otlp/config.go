// Package otlp sends what /metrics shows to an OpenTelemetry collector, over gRPC. It measures nothing of its own: each interval it looks at the
// same series as a scrape, and says them in the words of OpenTelemetry. What a collector that is away has missed is caught up with the next
// time; nothing waits for it, and nothing piles up.
package otlp

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Config is the block `otlp:`.
//
// The comments of its fields are the reference that users read, docs/configuration.md. What the file does not say, the environment may,
// see FromEnvironment.
type Config struct {
	// whether anything is sent; an `endpoint` alone, here or in the environment, sends nothing
	Enabled bool `koanf:"enabled" yaml:"enabled"`
	// address of the collector, with `https://` or `http://` or without; without a port 4317
	Endpoint string `koanf:"endpoint" yaml:"endpoint,omitempty"`
	// `grpc`, the only protocol that is spoken
	Protocol string `koanf:"protocol" yaml:"protocol"`
	// whether the connection is plain; an endpoint with a scheme says it itself
	Insecure bool `koanf:"insecure" yaml:"insecure,omitempty"`
	// sent with each export: name → value
	Headers map[string]secret.Secret `koanf:"headers" yaml:"headers,omitempty"`
	// file with a header in each line, `name: value`, read again when it changes
	HeadersFile string `koanf:"headers_file" yaml:"headers_file,omitempty"`
	// certificates
	TLS TLSConfig `koanf:"tls_config" yaml:"tls_config,omitempty"`
	// `gzip` or `none`
	Compression string `koanf:"compression" yaml:"compression"`
	// time between two exports
	Interval time.Duration `koanf:"interval" yaml:"interval"`
	// how long an export may take, all attempts together
	Timeout time.Duration `koanf:"timeout" yaml:"timeout"`
	// since when counters and histograms are counted
	Temporality Temporality `koanf:"temporality" yaml:"temporality"`
	// form of histograms; one that was not measured in that form is sent as it is, and those of the GenAI conventions have the bounds that these
	// ask for
	Histogram HistogramForm `koanf:"histogram" yaml:"histogram"`
	// attributes of the resource, beside those of the environment
	ResourceAttributes map[string]string `koanf:"resource_attributes" yaml:"resource_attributes,omitempty"`
	// how an export is tried again
	Retry RetryConfig `koanf:"retry" yaml:"retry"`
	// largest request, in bytes before compression; more is sent in several
	MaxRequestSize int64 `koanf:"max_request_size" yaml:"max_request_size"`
	// names of the GenAI conventions for what clients see: `1.41`, `genai-0.1`, or `none`
	Semconv string `koanf:"semconv" yaml:"semconv"`
	// whether what servers say of themselves is sent under the names of the GenAI conventions, too
	ServerSemconv bool `koanf:"server_semconv" yaml:"server_semconv,omitempty"`
	// whether GPUs are sent under the names of the hardware conventions, too
	HardwareSemconv bool `koanf:"hw_semconv" yaml:"hw_semconv,omitempty"`
	// a span for each request, and its context in the request's header `traceparent`
	Traces TracesConfig `koanf:"traces" yaml:"traces"`
}

// TLSConfig is the block `tls_config:`.
type TLSConfig struct {
	CAFile             string `koanf:"ca_file" yaml:"ca_file,omitempty"`                           // certificates of the authorities that are trusted
	CertFile           string `koanf:"cert_file" yaml:"cert_file,omitempty"`                       // certificate of this client
	KeyFile            string `koanf:"key_file" yaml:"key_file,omitempty"`                         // its key
	ServerName         string `koanf:"server_name" yaml:"server_name,omitempty"`                   // name in the collector's certificate
	InsecureSkipVerify bool   `koanf:"insecure_skip_verify" yaml:"insecure_skip_verify,omitempty"` // whether any certificate will do
}

// RetryConfig is the block `retry:`.
type RetryConfig struct {
	// wait before the second attempt; it doubles
	Initial time.Duration `koanf:"initial" yaml:"initial"`
	// longest wait between two
	Max time.Duration `koanf:"max" yaml:"max"`
	// after which the export is given up, and the next one says it all; `0s` never tries again
	MaxElapsed time.Duration `koanf:"max_elapsed" yaml:"max_elapsed"`
}

// TracesConfig is the block `traces:`.
type TracesConfig struct {
	// whether spans are sent, and requests carry `traceparent`
	Enabled bool `koanf:"enabled" yaml:"enabled"`
	// share of requests that are sampled, from 0 to 1
	Ratio float64 `koanf:"ratio" yaml:"ratio"`
}

// DefaultConfig is what an absent block means.
func DefaultConfig() Config {
	return Config{
		Protocol: "grpc", Compression: compressionGzip, Interval: 15 * time.Second, Timeout: 10 * time.Second,
		Temporality: Cumulative, Histogram: Exponential, MaxRequestSize: 4 << 20, Semconv: "1.41",
		Retry:  RetryConfig{Initial: 5 * time.Second, Max: 30 * time.Second, MaxElapsed: time.Minute},
		Traces: TracesConfig{Ratio: .05},
	}
}
