// Package transport is HOW IT TRAVELS: it sends one request over HTTP, stamps what comes back with the instant of its arrival, and
// frames it into events. It knows no inference protocol.
package transport

import (
	"net"
	"reflect"
	"time"

	promconfig "github.com/prometheus/common/config"
)

// HTTPVersion selects the protocol version.
type HTTPVersion string

// The versions. HTTP/1.1 is the default: one connection per stream, so that streams do not delay each other, and kernel stamps.
const (
	HTTP1 HTTPVersion = "1.1" // a connection serves one request at a time, and the kernel stamps what arrives
	HTTP2 HTTPVersion = "2"   // requests share a connection, which couples their latencies; no kernel stamps
)

// Reuse says whether a request may use a connection of an earlier one.
type Reuse string

// The choices of reuse. A pooled connection hides DNS, load balancer and certificate faults, hence the default is fresh.
const (
	Fresh     Reuse = "fresh"     // a new connection for each request, which shows faults of DNS, load balancer and certificate
	KeepAlive Reuse = "keepalive" // a connection stays open for later requests, up to 5m without one
	Both      Reuse = "both"      // as `keepalive`, but every `fresh_every`-th request goes as with `fresh`
)

// IPFamily says to which addresses of a name connections are made.
type IPFamily string

// The choices of the family.
const (
	AnyFamily IPFamily = "any" // those of both versions of IP; where the first ones do not answer within 300ms the others are tried beside them (Happy Eyeballs)
	OnlyIPv4  IPFamily = "4"   // those of IPv4
	OnlyIPv6  IPFamily = "6"   // those of IPv6
)

// network is what a dialler calls it.
func (f IPFamily) network() string {
	if f == OnlyIPv4 || f == OnlyIPv6 {
		return "tcp" + string(f)
	}
	return "tcp"
}

// Timestamps selects where the arrival instants of an answer come from.
type Timestamps string

// The choices of timestamps.
const (
	// KernelTimestamps are when bytes reached the socket, whatever this process was doing then; where there are none (HTTP/2, a
	// proxy, systems other than Linux), the return of the read stands in.
	KernelTimestamps Timestamps = "kernel"
	// ReadTimestamps are when a read returned, as in any other client.
	ReadTimestamps Timestamps = "read"
)

// Config is one entry under `http_clients:`, with the target's timeouts and credential joined in.
type Config struct {
	// HTTP holds TLS, proxy, authorization and header settings, as known from Prometheus.
	HTTP    promconfig.HTTPClientConfig
	Version HTTPVersion
	Reuse   Reuse
	// FreshEvery is, where some requests go on connections of their own, which: each such one, counted from the first.
	FreshEvery int
	// DNSRefresh is for how long a connection serves requests, from the look-up of its name on; 0 = as long as it is there. One that is in use
	// then serves its requests to their end.
	DNSRefresh time.Duration
	// IPFamily is that of the connections on which requests are sent: to the server, or to a proxy.
	IPFamily      IPFamily
	Timestamps    Timestamps
	Timeouts      Timeouts
	MaxEventBytes int64 // one event of a stream
	MaxBodyBytes  int64 // a whole answer
	// Credential is asked before each request for the header that authenticates it; nil = none. CredentialKey differs where credentials do,
	// and tells nothing else of them.
	Credential    Credential
	CredentialKey string
	// Guard is asked before each connection; nil = all are allowed. Resolver looks names up; nil = as the system does.
	Guard    Guard
	Resolver *net.Resolver
}

// Same tells whether two clients do the same. Functions cannot be compared: of credentials the keys are, a guard or a resolver is only the same as
// none.
func (c *Config) Same(other *Config) bool {
	known := c.Guard == nil && other.Guard == nil && c.Resolver == other.Resolver && (c.Credential == nil) == (other.Credential == nil)
	return known && reflect.DeepEqual(c.values(), other.values())
}

// values is the configuration without functions, and without what it only keeps for itself.
func (c *Config) values() Config {
	values := *c
	values.Credential, values.Guard, values.Resolver = nil, nil, nil
	values.HTTP.ProxyConfig = written(&c.HTTP.ProxyConfig)
	values.HTTP.OAuth2 = ownOAuth2(c.HTTP.OAuth2)
	return values
}

// written is what a proxy was configured as. Whoever uses one keeps in it what became of it.
func written(p *promconfig.ProxyConfig) promconfig.ProxyConfig {
	return promconfig.ProxyConfig{
		ProxyURL: p.ProxyURL, NoProxy: p.NoProxy, ProxyFromEnvironment: p.ProxyFromEnvironment, ProxyConnectHeader: p.ProxyConnectHeader,
	}
}

// ownOAuth2 is a copy for one user: targets share the configuration of their client.
func ownOAuth2(o *promconfig.OAuth2) *promconfig.OAuth2 {
	if o == nil {
		return nil
	}
	own := *o
	own.ProxyConfig = written(&o.ProxyConfig)
	return &own
}

// Credential gives the header that authenticates a request, e.g. ("Authorization", "Bearer …"). It must be cheap.
type Credential func() (header, value string, err error)

// Timeouts are counted apart. 0 = no limit, which only Total may have.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Timeouts struct {
	Connect    time.Duration `koanf:"connect" yaml:"connect"`         // from the start of a request until it has a connection: name lookup, TCP and TLS
	FirstToken time.Duration `koanf:"first_token" yaml:"first_token"` // from the start of a request until its first generated token; streams only
	Idle       time.Duration `koanf:"idle" yaml:"idle"`               // longest silence once the body of the answer has begun
	Total      time.Duration `koanf:"total" yaml:"total"`             // from the start of a request until the end of its answer; 0 = no limit
}

// DefaultConfig is a client without credentials: HTTP/1.1, a fresh connection for each request, bounded in everything.
func DefaultConfig() Config {
	return Config{
		HTTP:          promconfig.DefaultHTTPClientConfig,
		Version:       HTTP1,
		Reuse:         Fresh,
		FreshEvery:    10,
		IPFamily:      AnyFamily,
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
