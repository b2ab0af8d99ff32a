// Package config is the file: it reads the layers (defaults, files, environment), joins them, decodes them strictly and says
// everything that is wrong at once, each finding at the line and column where it was written. Each room owns its part of the
// configuration and checks it; here the parts are only put together and their references resolved.
//
// It must never open a socket, change a configuration after it was loaded, or let a secret into a message.
//
// To add a key: a field with a koanf and a yaml tag in the Config of the room that uses it. To add a block: a field in Config here.
package config

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Config is the effective configuration: all layers joined, all defaults filled in. Load makes it; it does not change afterwards and
// is safe for concurrent use.
type Config struct {
	Global      Global                       `koanf:"global" yaml:"global"`
	Secrets     map[string]Secret            `koanf:"secrets" yaml:"secrets,omitempty"`
	HTTPClients map[string]HTTPClient        `koanf:"http_clients" yaml:"http_clients,omitempty"`
	Workloads   map[string]workload.Config   `koanf:"workloads" yaml:"workloads,omitempty"`
	Loads       map[string]load.Config       `koanf:"loads" yaml:"loads,omitempty"`
	SLOs        map[string]metrics.SLOConfig `koanf:"slos" yaml:"slos,omitempty"`
	Targets     []Target                     `koanf:"targets" yaml:"targets"`
	Metrics     metrics.Config               `koanf:"metrics" yaml:"metrics"`

	// Warnings are what is allowed but probably not meant, in the order of files and lines.
	Warnings []Finding `koanf:"-" yaml:"-"`

	excessTargets int // more than max_targets; a configuration that was loaded has none

	named    map[string]*secret.Source // by name under secrets
	ofTarget map[string]*secret.Source // by target: api_key and api_key_file
	redactor *secret.Redactor
}

// frame is the file as users write it: what Config holds, and the defaults that are merged under every target.
type frame struct {
	Config   `koanf:",squash"`
	Defaults Target `koanf:"defaults"`
}

// Global holds for all targets together.
type Global struct {
	MaxInFlight int     `koanf:"max_in_flight" yaml:"max_in_flight"` // requests that run at the same time
	MaxRate     float64 `koanf:"max_rate" yaml:"max_rate,omitempty"` // requests per second; 0 = no limit
	MaxTargets  int     `koanf:"max_targets" yaml:"max_targets"`
	// Labels are constant labels of every series.
	Labels map[string]string `koanf:"labels" yaml:"labels,omitempty"`
}

// DefaultGlobal is what an absent block means.
func DefaultGlobal() Global { return Global{MaxInFlight: 64, MaxTargets: 500} }

// Secret is one entry under `secrets:`: exactly one of the two is set.
type Secret struct {
	File string `koanf:"file" yaml:"file,omitempty"` // read again whenever it changes
	// Value is meant for "${VAR}"; a literal is allowed, and warned about.
	Value secret.Secret `koanf:"value" yaml:"value,omitempty"`
}

// Target is one entry under `targets:`. Name, URL, Model and Endpoint.Type are required.
type Target struct {
	Name     string     `koanf:"name" yaml:"name"`
	URL      secret.URL `koanf:"url" yaml:"url"`
	Model    string     `koanf:"model" yaml:"model"`
	Endpoint Endpoint   `koanf:"endpoint" yaml:"endpoint"`

	// Names of entries under workloads, loads, slos and http_clients. Without one, the entry "default" is used if there is one, else the
	// built-in defaults; slo has neither.
	Workload string `koanf:"workload" yaml:"workload,omitempty"`
	Load     string `koanf:"load" yaml:"load,omitempty"`
	SLO      Names  `koanf:"slo" yaml:"slo,omitempty"`
	Client   string `koanf:"client" yaml:"client,omitempty"`

	Timeouts transport.Timeouts `koanf:"timeouts" yaml:"timeouts"`
	Labels   map[string]string  `koanf:"labels" yaml:"labels,omitempty"`
	Enabled  bool               `koanf:"enabled" yaml:"enabled"`
	// Seed makes arrivals and prompts reproducible. Load fills in a random one where the file has none.
	Seed uint64 `koanf:"seed" yaml:"seed"`

	randomSeed bool
}

// Names is a list of names; in the file, a single name may stand without the brackets.
type Names []string

// Endpoint is `endpoint:` of a target: the protocol, and at most one of the three ways to name a credential.
type Endpoint struct {
	endpoint.Config `koanf:",squash" yaml:",inline"`

	Secret     string        `koanf:"secret" yaml:"secret,omitempty"` // the name of an entry under secrets
	APIKeyFile string        `koanf:"api_key_file" yaml:"api_key_file,omitempty"`
	APIKey     secret.Secret `koanf:"api_key" yaml:"api_key,omitempty"` // a literal is allowed, and warned about
}

// defaultName is the entry that is used where a target names none.
const defaultName = "default"

// Redactor knows all secrets of the configuration, also the ones that their files will hold later.
func (c *Config) Redactor() *secret.Redactor { return c.redactor }

// SecretReadErrors counts, by secret, how often its file could not be read.
func (c *Config) SecretReadErrors() map[string]int64 {
	out := map[string]int64{}
	for name, s := range c.named {
		out[name] = int64(s.ReadErrors()) // one per second at most
	}
	for target, s := range c.ofTarget {
		if s.Path() != "" {
			out["target:"+target] = int64(s.ReadErrors()) // one per second at most
		}
	}
	return out
}

// AllSLOs lists every objective, used or not, in the order of names.
func (c *Config) AllSLOs() []metrics.SLO {
	out := make([]metrics.SLO, 0, len(c.SLOs))
	for _, name := range slices.Sorted(maps.Keys(c.SLOs)) {
		slo := c.SLOs[name]
		out = append(out, slo.SLO(name))
	}
	return out
}

// LabelNames lists the labels that targets carry, in order.
func (c *Config) LabelNames() []string {
	names := map[string]bool{}
	for i := range c.Targets {
		for name := range c.Targets[i].Labels {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Format implements fmt.Formatter: a configuration prints as its redacted YAML, so that no verb can show a secret inside.
func (c Config) Format(f fmt.State, _ rune) {
	text, err := c.YAML()
	if err != nil {
		text = []byte(err.Error())
	}
	_, _ = f.Write(text) // fmt keeps the error of its own writer
}

// LogValue implements slog.LogValuer.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("hash", c.Hash()), slog.Int("targets", len(c.Targets)))
}

// Options say what is loaded.
type Options struct {
	Files []string // later ones are merged over earlier ones: maps deep, lists whole
	Env   []string // in the form of os.Environ
	// ExpandEnv replaces ${VAR} and ${VAR:-default} in the values of the files.
	ExpandEnv bool
	// StrictSecrets reads every file that holds a secret or a certificate and reports those that cannot be read.
	StrictSecrets bool
}
