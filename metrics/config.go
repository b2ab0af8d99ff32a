package metrics

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// HistogramKind selects the forms in which histograms are exposed.
type HistogramKind string

// The choices. Native histograms only travel in the protobuf exposition, hence both.
const (
	HistogramsBoth    HistogramKind = "both"    // each histogram has both forms, and the scraper takes those that it can
	HistogramsClassic HistogramKind = "classic" // fixed boundaries only
	HistogramsNative  HistogramKind = "native"  // fewer series, but a scrape in a text format only sees sums and counts
)

// Config is the block `metrics:`.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	Histograms HistogramKind `koanf:"histograms" yaml:"histograms"` // forms of histograms
	// Labels of targets that all series of their traffic carry; other labels of targets are only on `aiperf_target_info`.
	ExtraLabels []string `koanf:"extra_labels" yaml:"extra_labels"`
	// Most classic series that a target may have, by an estimate when the configuration is loaded. Nothing is dropped at run time.
	MaxSeriesPerTarget int `koanf:"max_series_per_target" yaml:"max_series_per_target"`
	// How long the series of a target that was taken out stay after its last request has ended, so that they are scraped once more.
	RemovedTargetLinger time.Duration `koanf:"removed_target_linger" yaml:"removed_target_linger"`
}

// DefaultConfig is what an absent block means.
func DefaultConfig() Config {
	return Config{Histograms: HistogramsBoth, MaxSeriesPerTarget: 3000}
}

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	var errs []error
	switch c.Histograms {
	case HistogramsBoth, HistogramsClassic, HistogramsNative:
	default:
		errs = append(errs, invalid.Key(path+".histograms", "must be one of both, classic, native, got %q", c.Histograms))
	}
	if c.MaxSeriesPerTarget <= 0 {
		errs = append(errs, invalid.Key(path+".max_series_per_target", "must be > 0, got %d", c.MaxSeriesPerTarget))
	}
	if c.RemovedTargetLinger < 0 {
		errs = append(errs, invalid.Key(path+".removed_target_linger", "must be >= 0, got %v", c.RemovedTargetLinger))
	}
	return errs
}
