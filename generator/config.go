package generator

import (
	"net/url"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Config is what the generator runs: targets with all references resolved, and the limits that they share.
type Config struct {
	Targets []TargetConfig
	Limits  Limits
}

// Limits hold for all targets together; 0 = none.
type Limits struct {
	MaxInFlight int
	MaxRate     float64 // requests per second
	// MaxStartRate is how many targets begin per second when all of them begin.
	MaxStartRate float64
	Budget       budget.Config
	// Linger is how long the series of a removed target stay after its last request has ended.
	Linger time.Duration
}

// TargetConfig is one target with everything it refers to.
type TargetConfig struct {
	Name         string
	URL          string // with scheme, no endpoint path
	Model        string
	Endpoint     endpoint.Config
	WorkloadName string
	Workload     workload.Config
	LoadName     string
	Load         load.Config
	Budget       budget.Config
	Expect       []answer.Expect
	Fingerprint  answer.FingerprintConfig
	MachineCost  metrics.CostConfig
	Provider     string // of the model, as OpenTelemetry calls it; "" = by the endpoint's protocol
	SLOs         []metrics.SLO
	Paused       bool
	Accounting   metrics.Accounting
	Client       transport.Config
	// Seed makes arrivals and prompts reproducible; the config fills in a random one when the file has none.
	Seed   uint64
	Labels map[string]string // only on aiperf_target_info and where metrics.extra_labels says so
}

// Features are what decides which series the target has. The endpoint must be a valid one.
func (c *TargetConfig) Features() metrics.Features {
	features := metrics.Features{
		ClosedLoop: c.Load.Mode == load.Closed || c.Load.Mode == load.Replay,
		Sessions:   c.Workload.Converses(),
		Dataset:    c.Workload.Dataset.Enabled(),
		Replay:     c.Load.Mode == load.Replay,
		Budget:     BudgetLimits(&c.Budget),
		SLOs:       c.SLOs,
		Checks:     c.checks(),

		Fingerprint: c.Fingerprint.Enabled,
		Cost:        c.MachineCost,
		Prices:      metrics.Prices{Input: c.Budget.USDPerMillionInput, Output: c.Budget.USDPerMillionOutput},
	}
	if codec, err := endpoint.New(c.Endpoint); err == nil {
		features.Product = codec.Traits().Product
		features.Streaming = c.streams(codec)
	}
	return features
}

// pausedByFile tells whether the target begins without arrivals.
func (c *TargetConfig) pausedByFile() bool { return c.Paused || c.Load.Paused }

// checks are the kinds of checks that answers may have to pass. The rows of a dataset may ask for any.
func (c *TargetConfig) checks() []string {
	kinds := answer.Kinds(c.Expect)
	if c.Workload.Dataset.Enabled() {
		kinds = answer.AllChecks
	}
	out := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		out = append(out, string(kind))
	}
	return out
}

// BudgetLimits are the limits of a budget, in the order in which its account tells what is used.
func BudgetLimits(c *budget.Config) []metrics.BudgetLimit {
	limits := c.Limits()
	out := make([]metrics.BudgetLimit, 0, len(limits))
	for _, limit := range limits {
		out = append(out, metrics.BudgetLimit{Kind: string(limit.Kind), Period: string(limit.Period), Limit: limit.Limit})
	}
	return out
}

// info is what the target's series say about it.
func (c *TargetConfig) info() metrics.TargetInfo {
	return metrics.TargetInfo{
		Features:        c.Features(),
		Name:            c.Name,
		Model:           c.Model,
		Workload:        c.WorkloadName,
		URL:             c.PublicURL(),
		EndpointType:    string(c.Endpoint.Type),
		Load:            c.LoadName,
		LoadMode:        string(c.Load.Mode),
		HTTPVersion:     string(c.Client.Version),
		ConnectionReuse: string(c.Client.Reuse),
		Accounting:      c.Accounting,
		Labels:          c.Labels,
	}
}

// streams tells whether the target's requests ask for streams.
func (c *TargetConfig) streams(codec endpoint.Codec) bool {
	return codec.Streams(&endpoint.Turn{Stream: c.Workload.Stream, Extra: c.Workload.Extra, Prompt: &prompt.Prompt{}})
}

// PublicURL is the URL without user and query, which may hold credentials.
func (c *TargetConfig) PublicURL() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
