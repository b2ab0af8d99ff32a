// Package mapping knows what inference servers call their metrics, and gives them one name, one unit and one shape: the table in data says it,
// row by row, and a configuration can override it. It never asks a server anything.
package mapping

import (
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Kind is a kind of server.
type Kind string

// The kinds. Auto looks at the names of families; None is never read; Generic has no table.
const (
	Auto     Kind = "auto"
	None     Kind = "none"
	VLLM     Kind = "vllm"
	SGLang   Kind = "sglang"
	TRTLLM   Kind = "trtllm"
	Dynamo   Kind = "dynamo"
	TGI      Kind = "tgi"
	Triton   Kind = "triton"
	NIM      Kind = "nim"
	LMDeploy Kind = "lmdeploy"
	LlamaCPP Kind = "llamacpp"
	Ollama   Kind = "ollama" // has no page of metrics: read from its API
	Ray      Kind = "ray"
	Generic  Kind = "generic"
)

// Kinds is the closed list.
var Kinds = []Kind{Auto, None, VLLM, SGLang, TRTLLM, Dynamo, TGI, Triton, NIM, LMDeploy, LlamaCPP, Ollama, Ray, Generic}

// Rule maps one family of a server to one signal. It is what `map:` holds in a configuration, and wins over the table.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Rule struct {
	// name of the series that it becomes, one of `aiperf_server_*`
	Series string `koanf:"series" yaml:"series"`
	// name of the family on the server's page
	Family string `koanf:"family" yaml:"family"`
	// labels that a series of the family must have to be taken
	Labels map[string]string `koanf:"labels" yaml:"labels,omitempty"`
	// factor to the unit of the series, so for milliseconds 0.001
	Scale float64 `koanf:"scale" yaml:"scale,omitempty"`
}

// Passthrough is the block `passthrough:`: families that are exposed as the server has them.
type Passthrough struct {
	// regular expressions, each for a whole name of a family; without any nothing is passed through
	Allow []string `koanf:"allow" yaml:"allow,omitempty"`
	// likewise, and wins over allow. `python_*`, `process_*`, `go_*`, `promhttp_*`, `aiperf_*` and `*_created` are always denied
	Deny []string `koanf:"deny" yaml:"deny,omitempty"`
	// put before each name
	Prefix string `koanf:"prefix" yaml:"prefix,omitempty"`
	// labels that are left out; where that makes two series one, the family is dropped
	DropLabels []string `koanf:"drop_labels" yaml:"drop_labels,omitempty"`
	// labels that get another name
	RenameLabels map[string]string `koanf:"rename_labels" yaml:"rename_labels,omitempty"`
}

// Options say how the pages of one replica are mapped.
type Options struct {
	Target, Instance string // values of the labels target and instance_id
	Model            string // value of the label model where the page has none
	Kind             Kind
	// Prefix stands on the page in the place of dynamo_frontend, "" = it does not.
	Prefix      string
	Rules       []Rule
	Passthrough Passthrough
	// MaxSeries bounds what one page becomes; whole families are dropped beyond it, the largest first, always the same ones.
	MaxSeries int
}

// Mapper maps the pages of one replica. It remembers what of the last page is still true of the next. Not safe for concurrent use.
type Mapper struct{}

// New makes one. The rules and regular expressions must be valid.
func New(o Options) *Mapper { return &Mapper{} }

// Result is what a page became. Nothing of it is shared with the page or with a later result.
type Result struct {
	// Normalised are families of Table, Passed those of Passthrough; both by name.
	Normalised, Passed []*dto.MetricFamily
	// Kinds were found on the page, in the order in which they were asked.
	Kinds []Kind
	// Dropped counts series beyond MaxSeries. Unmapped counts families of the server that were not mapped, by reason: unknown, type.
	Dropped  int
	Unmapped map[string]int
	// Started is when the server's process began, in seconds of Unix time; 0 = the page does not tell.
	Started float64
	// Model is what the page says, "" = nothing or several.
	Model string
}

// Map maps a page.
func (m *Mapper) Map(page *exposition.Page) *Result { return &Result{} }

// Table lists every normalised series.
func Table() []metrics.Series { return nil }

// Validate finds what is wrong with a rule, by key below path.
func (r *Rule) Validate(path string) []error { return nil }

// Validate finds what is wrong, by key below path.
func (p *Passthrough) Validate(path string) []error { return nil }
