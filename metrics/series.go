package metrics

//go:generate go run ../docs/generate ../docs/metrics.md

import "slices"

// Kind is the type of a series.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Scope says to what a series belongs; it decides the labels that come first.
type Scope string

// The scopes.
const (
	PerTarget  Scope = "target"  // labels target, model, workload, then metrics.extra_labels
	PerServer  Scope = "server"  // labels target, instance_id, server, model, engine: a replica of the server behind a target
	PerGPU     Scope = "gpu"     // labels gpu, uuid, hostname, mig_instance, source: a GPU, or an instance on it
	PerProcess Scope = "process" // no such labels
)

// Series is one line of the table of everything this program says about itself and its targets.
type Series struct {
	Name   string
	Kind   Kind
	Scope  Scope
	Unit   string
	Help   string
	Labels []Label // beyond those of the scope
	// Bounds are the classic bucket boundaries of a histogram, before the SLO thresholds of the configuration are put in.
	Bounds []float64
	// SLO is the measure that this histogram shows, if an SLO may limit it.
	SLO SLOMetric
	// Exemplars: observations carry the request's id, and that of its trace if its span is sent.
	Exemplars bool
	// observe says what a finished request adds to a histogram, by the value of its label, "" if it has none; nil for a histogram that is
	// not of one value per request.
	observe map[string]observation
	// when tells which targets have the series; nil = all.
	when func(*Features) bool
	// seen: the children exist from when the server first tells their value.
	seen bool
	// weighted: a histogram of the sweep, whose observations weigh as much as they lasted.
	weighted bool
}

// observation takes from a finished request what a histogram is to show; undefined = nothing.
type observation func(r *Record, m *Measures) Value

// of tells whether targets with these features have the series.
func (s *Series) of(f *Features) bool { return s.when == nil || s.when(f) }

// Boundaries are those of the classic form of a histogram, ascending: the limits of the SLOs of its measure are among them, so that
// bucket{le=limit}/count is the exact share within the limit.
func (s *Series) Boundaries(slos []SLO) []float64 {
	out := slices.Clone(s.Bounds)
	for _, slo := range slos {
		for _, t := range slo.Thresholds {
			if t.Metric == s.SLO {
				out = append(out, t.display())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// LabelNames are all labels of the series: extra are those of metrics.extra_labels, info those that targets carry in the configuration.
func (s *Series) LabelNames(extra, info []string) []string {
	var names []string
	switch s.Scope {
	case PerTarget:
		names = slices.Concat(BaseLabels, extra)
	case PerServer:
		names = slices.Clone(ServerLabels)
	case PerGPU:
		names = slices.Clone(GPULabels)
	case PerProcess:
	}
	for _, label := range s.Labels {
		names = append(names, label.Name)
	}
	if s.Name == targetInfo {
		for _, label := range info {
			if !slices.Contains(names, label) {
				names = append(names, label)
			}
		}
	}
	return names
}

// BaseLabels come first on every series of a target.
var BaseLabels = []string{"target", "model", "workload"}

// ServerLabels come first on every series of a server, GPULabels on every one of a GPU.
var (
	ServerLabels = []string{"target", "instance_id", "server", "model", "engine"}
	GPULabels    = []string{"gpu", "uuid", "hostname", "mig_instance", "source"}
)

// targetInfo is the series that carries whatever is known about a target.
const targetInfo = "aiperf_target_info"

// Label is a label with its closed set of values; Values is nil where the configuration gives them (SLO names, info labels).
type Label struct {
	Name   string
	Values []string
}

// Classic bucket boundaries.
var (
	boundsFirst   = []float64{.001, .0025, .005, .01, .02, .03, .04, .06, .08, .1, .15, .2, .25, .3, .4, .5, .75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30, 60, 120}
	boundsGap     = []float64{.0005, .001, .002, .003, .004, .005, .0075, .01, .0125, .015, .02, .025, .03, .04, .05, .075, .1, .15, .2, .3, .5, .75, 1, 2.5, 5, 10}
	boundsWhole   = []float64{.01, .025, .05, .1, .2, .3, .5, .75, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600}
	boundsTokens  = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144}
	boundsRate    = []float64{1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 2000}
	boundsPrefill = []float64{10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 1000000}
	boundsSelf    = []float64{.00001, .0001, .001, .01, .1, .5, 1, 5}
)

// HTTPCodes are the status codes that exist at zero from the start; any other is added when first seen.
var HTTPCodes = []string{"200", "400", "401", "403", "404", "408", "413", "422", "429", "500", "502", "503", "504", "529"}

// InflightPhases are the places in which an arrival can be before it has ended.
var InflightPhases = []string{"queued", "prefill", "decode"}

// HTTPPhases are the parts of an HTTP exchange.
var HTTPPhases = []string{"blocked", "dns", "connect", "tls", "send", "wait", "receive"}

// TokenTypes are the kinds of tokens that are counted. Reasoning is part of output; cached_input and cache_write are part of input.
var TokenTypes = []string{"input", "output", "reasoning", "cached_input", "cache_write"}

// BudgetKinds and BudgetPeriods are what a budget can limit, and over which calendar period.
var (
	BudgetKinds   = []string{"requests", "input_tokens", "output_tokens", "tokens", "usd"}
	BudgetPeriods = []string{"hour", "day"}
)

// LimitedResources are what servers limit and tell about.
var LimitedResources = []string{"requests", "tokens", "input_tokens", "output_tokens"}

// StampSources are where the arrival instants of a target come from.
var StampSources = []string{"kernel", "read"}

func words[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

var (
	labelOutcome   = Label{"outcome", words(Outcomes)}
	labelSLO       = Label{Name: "slo"}
	labelMetric    = Label{Name: "metric"}
	labelTokenType = Label{"token_type", TokenTypes}
	labelKind      = Label{Name: "kind"}
	labelPeriod    = Label{Name: "period"}
	labelCheck     = Label{Name: "check"}
)

// TargetState is what a target is doing.
type TargetState string

// The states.
const (
	StateStarting TargetState = "starting" // no arrival yet
	StateRunning  TargetState = "running"
	StatePaused   TargetState = "paused"
	StateBackoff  TargetState = "backoff" // arrivals are held back because of what the server said
	StateBudget   TargetState = "budget"  // arrivals are dropped because a budget is used up
	StateDraining TargetState = "draining"
	StateFailed   TargetState = "failed" // its goroutine panicked and waits for its next start
)

// TargetStates is the closed list.
var TargetStates = []TargetState{StateStarting, StateRunning, StatePaused, StateBackoff, StateBudget, StateDraining, StateFailed}

// wantsArrivals tells whether the load asks for arrivals in that state, whatever becomes of them.
func (s TargetState) wantsArrivals() bool {
	switch s {
	case StateStarting, StateRunning, StateBackoff, StateBudget:
		return true
	case StatePaused, StateDraining, StateFailed:
	}
	return false
}

// Component is a part of the program whose panics are counted.
type Component string

// The components.
const (
	ComponentTarget    Component = "target"
	ComponentRequest   Component = "request"
	ComponentCollector Component = "collector" // reads what servers or GPUs say of themselves
	ComponentDiscovery Component = "discovery"
	ComponentWeb       Component = "web"
	ComponentOTLP      Component = "otlp"
	ComponentReload    Component = "reload" // takes a changed configuration
)

// Components is the closed list.
var Components = []Component{ComponentTarget, ComponentRequest, ComponentCollector, ComponentDiscovery, ComponentWeb, ComponentOTLP, ComponentReload}
