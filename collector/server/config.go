// Package server reads the metrics of the inference servers behind the targets and shows them under one name whatever the server is called
// (collector/server/mapping). It finds the page, notices replicas, restarts and silence, and never touches the connections of the traffic.
package server

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Config is the block `collectors.server:`.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	// `false` reads no server
	Enabled bool `koanf:"enabled" yaml:"enabled"`
	// time between two looks at a server, at least 1s
	Interval time.Duration `koanf:"interval" yaml:"interval"`
	// how long the last series of a server that does not answer are still shown; without it two intervals, `0s` drops them at once
	StaleAfter *time.Duration `koanf:"stale_after" yaml:"stale_after,omitempty"`
	// most series of one replica; whole families are dropped beyond it, the largest first
	MaxSeries int `koanf:"max_series" yaml:"max_series"`
	// families that are exposed as the server has them, beside the normalised ones
	Passthrough mapping.Passthrough `koanf:"passthrough" yaml:"passthrough,omitempty"`
	// name of an entry under `http_clients`, whose authentication, TLS and proxy are used; the entry of the traffic is not
	Client string `koanf:"client" yaml:"client,omitempty"`
}

// DefaultConfig is what an absent block means.
func DefaultConfig() Config {
	return Config{Enabled: true, Interval: 5 * time.Second, MaxSeries: 2000}
}

// TargetConfig is the block `server:` of a target.
type TargetConfig struct {
	// what the server is: `auto` looks at the names of its metrics, `none` never asks it, `generic` has only the rules of `map`
	Kind mapping.Kind `koanf:"kind" yaml:"kind"`
	// page of metrics, where it is not found at the usual places of the target's host
	MetricsURL secret.URL `koanf:"metrics_url" yaml:"metrics_url,omitempty"`
	// pages of several replicas; an empty list asks nobody
	MetricsURLs URLs `koanf:"metrics_urls" yaml:"metrics_urls,omitempty"`
	// `inherit` sends the credential of the target to the page of metrics, too
	Auth string `koanf:"auth" yaml:"auth,omitempty"`
	// name of an entry under `http_clients`; without it that of `collectors.server`
	Client string `koanf:"client" yaml:"client,omitempty"`
	// what the server calls its metrics in the place of `dynamo_frontend`
	Prefix string `koanf:"prefix" yaml:"prefix,omitempty"`
	// reads the JSON statistics of TensorRT-LLM where there is no page of metrics; each reading takes them away from other readers
	TRTLLMJSON bool `koanf:"trtllm_json" yaml:"trtllm_json,omitempty"`
	// families of this server and what they become, before the table
	Map []mapping.Rule `koanf:"map" yaml:"map,omitempty"`
}

// Asks tells whether the server is asked at all.
func (c *TargetConfig) Asks() bool {
	return c.Kind != mapping.None && (c.MetricsURLs == nil || len(c.MetricsURLs) > 0)
}

// URLs is a list of which an empty one, nobody, says something else than none.
type URLs []secret.URL

// IsZero tells that nothing was said.
func (u URLs) IsZero() bool { return u == nil }

// InheritAuth is the only value of auth.
const InheritAuth = "inherit"

// DefaultTargetConfig is what an absent block means.
func DefaultTargetConfig() TargetConfig { return TargetConfig{Kind: mapping.Auto} }
