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
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp"
	"github.com/aiperf-exporter/aiperf-exporter/probe"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
	"github.com/aiperf-exporter/aiperf-exporter/selftest"
)

// Config is the effective configuration: all layers joined, all defaults filled in. Load makes it; it does not change afterwards and
// is safe for concurrent use.
type Config struct {
	Global          Global                       `koanf:"global" yaml:"global"`
	Secrets         map[string]Secret            `koanf:"secrets" yaml:"secrets,omitempty"`
	HTTPClients     map[string]HTTPClient        `koanf:"http_clients" yaml:"http_clients,omitempty"`
	Workloads       map[string]workload.Config   `koanf:"workloads" yaml:"workloads,omitempty"`
	Loads           map[string]load.Config       `koanf:"loads" yaml:"loads,omitempty"`
	SLOs            map[string]metrics.SLOConfig `koanf:"slos" yaml:"slos,omitempty"`
	Modules         map[string]Module            `koanf:"modules" yaml:"modules,omitempty"`
	Probe           probe.Config                 `koanf:"probe" yaml:"probe"`
	Targets         []Target                     `koanf:"targets" yaml:"targets"`
	TargetDiscovery []DiscoverySet               `koanf:"target_discovery" yaml:"target_discovery,omitempty"`
	Collectors      Collectors                   `koanf:"collectors" yaml:"collectors"`
	OTLP            otlp.Config                  `koanf:"otlp" yaml:"otlp"`
	Metrics         metrics.Config               `koanf:"metrics" yaml:"metrics"`
	SelfTest        selftest.Config              `koanf:"selftest" yaml:"selftest"`
	Debug           Debug                        `koanf:"debug" yaml:"debug"`

	// Warnings are what is allowed but probably not meant, in the order of files and lines.
	Warnings []Finding `koanf:"-" yaml:"-"`

	seedBase      uint64 // of which the seeds are made that are not written
	excessTargets int    // more than max_targets; a configuration that was loaded has none

	named    map[string]*secret.Source // by name under secrets
	ofTarget map[string]*secret.Source // by target, or by module as moduleOwner has it: api_key and api_key_file
	ofSet    map[string]*secret.Source // by discovery set: those of its template
	redactor *secret.Redactor
	ofFiles  *secret.Redactor // without what was discovered
}

// frame is the file as users write it: what Config holds, and the defaults that are merged under every target.
type frame struct {
	Config   `koanf:",squash"`
	Defaults Target `koanf:"defaults"`
}

// Global holds for all targets together.
type Global struct {
	// requests of all targets that may run at the same time; arrivals beyond that are dropped as `global_limit`
	MaxInFlight int `koanf:"max_in_flight" yaml:"max_in_flight"`
	// requests per second of all targets together, with bursts of one second's worth; arrivals beyond that are dropped as `global_limit`;
	// without it there is no limit
	MaxRate float64 `koanf:"max_rate" yaml:"max_rate,omitempty"`
	// targets that begin per second when the exporter starts, so that hundreds of them do not connect in the same instant
	MaxStartPerSecond float64 `koanf:"max_start_per_second" yaml:"max_start_per_second"`
	// no arrivals of any target; all series stay
	Paused bool `koanf:"paused" yaml:"paused,omitempty"`
	// what all targets together may spend in a calendar hour or day
	Budget budget.Config `koanf:"budget" yaml:"budget,omitempty"`
	// most targets that a configuration may have
	MaxTargets int `koanf:"max_targets" yaml:"max_targets"`
	// constant labels of every series, at most 8
	Labels map[string]string `koanf:"labels" yaml:"labels,omitempty"`
}

// DefaultGlobal is what an absent block means.
func DefaultGlobal() Global {
	return Global{MaxInFlight: 64, MaxStartPerSecond: 10, Budget: budget.DefaultConfig(), MaxTargets: 500}
}

// Secret is one entry under `secrets:`: exactly one of the two is set.
type Secret struct {
	// file that holds the secret and nothing else, at most 64 KiB; line ends at its end do not count
	File string `koanf:"file" yaml:"file,omitempty"`
	// the secret itself, meant for `${VAR}`; a literal is allowed, and warned about
	Value secret.Secret `koanf:"value" yaml:"value,omitempty"`
}

// Target is one entry under `targets:`. Name, URL, Model and Endpoint.Type are required.
type Target struct {
	// identity of the target and value of the label `target` of all its series: 1 to 63 letters, digits, dots, dashes and underscores
	Name string `koanf:"name" yaml:"name"`
	// address of the server, `http` unless it says `https`. The path of the endpoint is appended; a `/v1` at the end is not doubled.
	// User and password are sent as basic authentication, a query as it is; none of them is shown
	URL secret.URL `koanf:"url" yaml:"url"`
	// name of the model as the server knows it, and value of the label `model`; at most 128 bytes
	Model    string   `koanf:"model" yaml:"model"`
	Endpoint Endpoint `koanf:"endpoint" yaml:"endpoint"`

	// name of an entry under `workloads`, and value of the label `workload`. Without it the entry `default` is taken, if there is one,
	// else the defaults
	Workload string `koanf:"workload" yaml:"workload,omitempty"`
	// name of an entry under `loads`; likewise
	Load string `koanf:"load" yaml:"load,omitempty"`
	// names of entries under `slos`, each of which judges every request of the target
	SLO Names `koanf:"slo" yaml:"slo,omitempty"`
	// name of an entry under `http_clients`; without it the entry `default`, if there is one, else the defaults
	Client string `koanf:"client" yaml:"client,omitempty"`

	// how output tokens are spread over the gaps between the events of a stream, for the series of throughput. Counts in the chunks are
	// taken in any case, `endpoint.continuous_usage` asks for them
	Accounting metrics.Accounting `koanf:"accounting" yaml:"accounting"`

	Timeouts transport.Timeouts `koanf:"timeouts" yaml:"timeouts"`
	// what the target may spend in a calendar hour or day; arrivals beyond that are dropped as `budget`
	Budget budget.Config `koanf:"budget" yaml:"budget,omitempty"`
	// what every answer must be; one that is not fails as `content_check`
	Expect []answer.Expect `koanf:"expect" yaml:"expect,omitempty"`
	// compares the answers to the fixed questions of the workload with those of a baseline
	Fingerprint answer.FingerprintConfig `koanf:"fingerprint" yaml:"fingerprint,omitempty"`
	// where the server's own metrics are, and what they are called
	Server server.TargetConfig `koanf:"server" yaml:"server"`
	// the GPUs that serve the target
	GPUs gpu.Selector `koanf:"gpus" yaml:"gpus,omitempty"`
	// what the machines of the target cost, for series beside which dashboards and rules put tokens and joules
	Cost metrics.CostConfig `koanf:"cost" yaml:"cost,omitempty"`
	// who serves the model, as the GenAI conventions of OpenTelemetry call it (`openai`, `anthropic`, `aws.bedrock` …); without it the one whose
	// protocol the endpoint speaks
	Provider string `koanf:"provider" yaml:"provider,omitempty"`
	// no arrivals; the series of the target stay
	Paused bool `koanf:"paused" yaml:"paused,omitempty"`
	// labels of the target on `aiperf_target_info`, and on all series of its traffic where `metrics.extra_labels` has the name; those of its server
	// and its GPUs do not get them
	Labels map[string]string `koanf:"labels" yaml:"labels,omitempty"`
	// `false` leaves the target out: no traffic, no series
	Enabled bool `koanf:"enabled" yaml:"enabled"`
	// makes arrivals, lengths and words of prompts reproducible; the number at the start of each prompt is always fresh
	Seed uint64 `koanf:"seed" yaml:"seed"`

	// Source is the discovery set that the target came from, "" = the file.
	Source string `koanf:"-" yaml:"-" json:"-"`

	randomSeed bool
}

// Names is a list of names; in the file, a single name may stand without the brackets.
type Names []string

// Endpoint is `endpoint:` of a target: the protocol, and at most one of the three ways to name a credential.
type Endpoint struct {
	endpoint.Config `koanf:",squash" yaml:",inline"`

	// name of an entry under `secrets`, sent as `Authorization: Bearer …`. At most one of `secret`, `api_key_file` and `api_key`
	Secret string `koanf:"secret" yaml:"secret,omitempty"`
	// file that holds the credential, read like `secrets.*.file`
	APIKeyFile string `koanf:"api_key_file" yaml:"api_key_file,omitempty"`
	// the credential itself, meant for `${VAR}`; a literal is allowed, and warned about
	APIKey secret.Secret `koanf:"api_key" yaml:"api_key,omitempty"`
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
	for owner, s := range c.ofTarget {
		if !strings.Contains(owner, ":") { // else it is a module
			owner = "target:" + owner
		}
		if s.Path() != "" {
			out[owner] = int64(s.ReadErrors()) // one per second at most
		}
	}
	for set, s := range c.ofSet {
		if s.Path() != "" {
			out["target_discovery:"+set] = int64(s.ReadErrors()) // one per second at most
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
	// Seed is that of which the seeds of targets without one of their own are made: a process that loads a configuration again gives the same, so
	// that such targets stay what they are. 0 = a random one.
	Seed uint64
	// Previous is the configuration that is in effect, nil at the start: files of secrets that both name are read on, errors counted.
	Previous *Config
	// StrictSecrets reads every file that holds a secret or a certificate and reports those that cannot be read.
	StrictSecrets bool
}
