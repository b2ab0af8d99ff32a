// Package transport is HOW IT TRAVELS: it sends one request over HTTP, stamps what comes back with the instant of its arrival, and
// frames it into events. It knows no inference protocol.
package transport

import (
	"time"

	promconfig "github.com/prometheus/common/config"
)

// HTTPVersion selects the protocol version.
type HTTPVersion string

// The versions. HTTP/1.1 is the default: one connection per stream, so that streams do not delay each other, and kernel stamps.
const (
	HTTP1 HTTPVersion = "1.1"
	HTTP2 HTTPVersion = "2"
)

// Reuse says whether a request may use a connection of an earlier one.
type Reuse string

// The choices of reuse. A pooled connection hides DNS, load balancer and certificate faults, hence the default is fresh.
const (
	Fresh     Reuse = "fresh"
	KeepAlive Reuse = "keepalive"
)

// Timestamps selects where the arrival instants of an answer come from.
type Timestamps string

// The choices of timestamps.
const (
	// KernelTimestamps are when bytes reached the socket, whatever this process was doing then. Where there are none (HTTP/2, systems
	// other than Linux), the return of the read stands in.
	KernelTimestamps Timestamps = "kernel"
	// ReadTimestamps are when a read returned: what every other client measures.
	ReadTimestamps Timestamps = "read"
)

// Config is one entry under `http_clients:`, with the target's timeouts and credential joined in.
type Config struct {
	// HTTP holds TLS, proxy, authorization and header settings, as known from Prometheus.
	HTTP          promconfig.HTTPClientConfig
	Version       HTTPVersion
	Reuse         Reuse
	Timestamps    Timestamps
	Timeouts      Timeouts
	MaxEventBytes int64 // one event of a stream
	MaxBodyBytes  int64 // a whole answer
	// Credential is asked before each request for the header that authenticates it; nil = none.
	Credential Credential
}

// Credential gives the header that authenticates a request, e.g. ("Authorization", "Bearer …"). It must be cheap.
type Credential func() (header, value string, err error)

// Timeouts are counted apart. 0 = no limit, which only Total may have.
type Timeouts struct {
	Connect    time.Duration `koanf:"connect" yaml:"connect"`         // name lookup, TCP and TLS
	FirstToken time.Duration `koanf:"first_token" yaml:"first_token"` // start until the first generated token
	Idle       time.Duration `koanf:"idle" yaml:"idle"`               // between bytes, once the answer's body has begun
	Total      time.Duration `koanf:"total" yaml:"total"`             // start until the end of the answer
}

// DefaultConfig is a client without credentials: HTTP/1.1, a fresh connection for each request, bounded in everything.
func DefaultConfig() Config {
	return Config{
		HTTP:          promconfig.DefaultHTTPClientConfig,
		Version:       HTTP1,
		Reuse:         Fresh,
		Timestamps:    KernelTimestamps,
		Timeouts:      DefaultTimeouts(),
		MaxEventBytes: 16 << 20,
		MaxBodyBytes:  32 << 20,
	}
}

// DefaultTimeouts suit interactive serving.
func DefaultTimeouts() Timeouts {
	return Timeouts{Connect: 5 * time.Second, FirstToken: 60 * time.Second, Idle: 30 * time.Second, Total: 300 * time.Second}
}
