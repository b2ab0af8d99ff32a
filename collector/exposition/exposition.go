// Package exposition reads pages of metrics as servers really write them: the Prometheus text format, OpenMetrics and the protobuf form, with
// the faults that are seen in the wild. A page is read whole or not at all: half a histogram is worse than none.
package exposition

// Kind is the type of a family.
type Kind uint8

// The kinds. Info and state sets are gauges here; histograms of gauges are left out.
const (
	Untyped Kind = iota
	Counter
	Gauge
	Histogram
	Summary
)

// Family is all series of one name.
type Family struct {
	// Name is as samples have it on the wire: that of a counter with its _total, if it has one; that of a histogram or summary without
	// _bucket, _sum and _count.
	Name   string
	Help   string
	Kind   Kind
	Series []Series
}

// Series is one series as it was read. Which of the fields hold something is told by the kind of its family.
type Series struct {
	Labels    []Label // in the order of names, which are unique; none is empty, and that of a bucket or quantile is not among them
	Value     float64 // of a counter, a gauge or one without a type
	Histogram *Buckets
	Summary   *Quantiles
	Created   float64 // when counting began, in seconds of Unix time; 0 = not told
}

// Label is one label of a series.
type Label struct{ Name, Value string }

// Buckets is a histogram: classic, native or both.
type Buckets struct {
	Count, Sum float64
	// Classic are cumulative, with ascending bounds, the last of which is +Inf; empty if the histogram is native only.
	Classic []Bucket
	// Native is from the protobuf form only; nil = none.
	Native *Native
}

// Bucket counts the observations up to a bound.
type Bucket struct{ Bound, Count float64 }

// Native are the buckets of a native histogram, as protobuf has them.
type Native struct {
	Schema                         int32
	ZeroThreshold, ZeroCount       float64
	PositiveSpans, NegativeSpans   []Span
	PositiveDeltas, NegativeDeltas []int64
}

// Span is a run of buckets that follow each other.
type Span struct {
	Offset int32
	Length uint32
}

// Quantiles is a summary.
type Quantiles struct {
	Count, Sum float64
	Values     []Quantile
}

// Quantile is one of a summary.
type Quantile struct{ Quantile, Value float64 }

// Label gives the value of a label, "" if there is none.
func (s *Series) Label(name string) string {
	for i := range s.Labels {
		if s.Labels[i].Name == name {
			return s.Labels[i].Value
		}
	}
	return ""
}
