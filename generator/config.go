package generator

import (
	"net/url"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
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
	MaxInFlight int     `koanf:"max_in_flight" yaml:"max_in_flight"`
	MaxRate     float64 `koanf:"max_rate" yaml:"max_rate,omitempty"` // requests per second
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
	SLOs         []metrics.SLO
	Accounting   metrics.Accounting
	Client       transport.Config
	// Seed makes arrivals and prompts reproducible; the config fills in a random one when the file has none.
	Seed   uint64
	Labels map[string]string // only on aiperf_target_info and where metrics.extra_labels says so
}

// info is what the target's series say about it.
func (c *TargetConfig) info(codec endpoint.Codec) metrics.TargetInfo {
	return metrics.TargetInfo{
		Name:            c.Name,
		Model:           c.Model,
		Workload:        c.WorkloadName,
		URL:             c.PublicURL(),
		EndpointType:    string(c.Endpoint.Type),
		Streaming:       c.streams(codec),
		Load:            c.LoadName,
		LoadMode:        string(c.Load.Mode),
		RateHz:          c.Load.Hz(),
		Paused:          c.Load.Paused,
		HTTPVersion:     string(c.Client.Version),
		ConnectionReuse: string(c.Client.Reuse),
		Accounting:      c.Accounting,
		SLOs:            c.SLOs,
		Labels:          c.Labels,
	}
}

// streams tells whether the target's requests ask for streams.
func (c *TargetConfig) streams(codec endpoint.Codec) bool {
	return codec.Streams(&endpoint.Turn{Stream: c.Workload.Stream, Extra: c.Workload.Extra})
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
