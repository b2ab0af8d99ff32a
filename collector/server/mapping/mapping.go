// Package mapping knows what inference servers call their metrics, and gives them one name, one unit and one shape: the table in data says it,
// row by row, and a configuration can override it. It never asks a server anything.
//
// To add a server: a file in data, whose form is that of the type server, its Kind, its place in order, and a page of it in testdata.
package mapping

import (
	"cmp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
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

// Options say how the pages of one replica are mapped.
type Options struct {
	Target, Instance string // values of the labels target and instance_id
	Model            string // value of the label model where the page names no model, or several
	Kind             Kind
	// Prefix stands on the page in the place of dynamo_frontend, "" = it does not.
	Prefix      string
	Rules       []Rule
	Passthrough Passthrough
	// MaxSeries bounds what one page becomes, a histogram being one series; whole families are dropped beyond it, the largest first, always the
	// same ones. 0 = no bound.
	MaxSeries int
}

// Mapper maps the pages of one replica. It remembers what of the last page is still true of the next. Not safe for concurrent use.
type Mapper struct {
	options Options
	prefix  string // canonical, with the underline behind it
	rules   []link
	pass    passer
	limit   limiter

	plan  plan   // of pages with the families of the last one
	named string // the model that the last page named, "" = none or several
	cells cells
}

// New makes one. The rules and regular expressions must be valid.
func New(o Options) *Mapper {
	m := &Mapper{options: o, pass: newPasser(&o), limit: limiter{most: o.MaxSeries}}
	if o.Prefix != "" {
		m.prefix = strings.TrimSuffix(canonical(o.Prefix), "_") + "_"
	}
	for i := range o.Rules {
		m.rules = append(m.rules, o.Rules[i].link())
	}
	return m
}

// Result is what a page became. Nothing of it is shared with the page or with a later result.
type Result struct {
	// Normalised are families of Table, Passed those of Passthrough; both by name.
	Normalised, Passed []*dto.MetricFamily
	// Kinds were found on the page, in the order in which they were asked. Foreign: it has nothing of Options.Kind or, with Auto, nothing that
	// anybody knows. A page without families is none.
	Kinds   []Kind
	Foreign bool
	// Unfed are the rules of Options, by index, whose family the page does not have, or has with a type that becomes no such series.
	Unfed []int
	// Dropped counts series beyond MaxSeries. Unmapped counts families of the server that were not mapped, by reason: unknown, type.
	Dropped  int
	Unmapped map[string]int
	// Started is when the server's process began, in seconds of Unix time; 0 = the page does not tell.
	Started float64
	// Model is what the page says, "" = nothing or several.
	Model string
}

// Map maps a page.
func (m *Mapper) Map(page *exposition.Page) *Result {
	if hash := shapeOf(page); m.plan.names == nil || m.plan.hash != hash {
		m.plan = m.newPlan(page, hash)
	}
	m.followAll(page)
	if named := m.cells.model(); named != m.named { // then what is said without a model is about another than we took it for
		m.named = named
		m.followAll(page)
	}
	out := &Result{
		Normalised: m.cells.families(), Passed: m.pass.families(m.plan.passed, page), Kinds: slices.Clone(m.plan.found),
		Foreign: m.plan.foreign, Unfed: slices.Clone(m.plan.unfed), Unmapped: map[string]int{"unknown": m.plan.unknown, "type": m.plan.mistyped}, Started: m.plan.started(page), Model: m.cells.model(),
	}
	out.Dropped = m.limit.apply(&out.Normalised, &out.Passed)
	return out
}

func byName(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) }
