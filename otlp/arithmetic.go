package otlp

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// sumPoints reckons with counters.
type sumPoints struct{}

type sumPoint = metricdata.DataPoint[float64]

func (sumPoints) newGroup(began time.Time) series { return newGroup(sumPoints{}, began) }

func (sumPoints) points(data metricdata.Aggregation) []sumPoint {
	return data.(metricdata.Sum[float64]).DataPoints
}

func (sumPoints) differences(points []sumPoint) metricdata.Aggregation {
	return metricdata.Sum[float64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true, DataPoints: points}
}

func (sumPoints) attributes(p *sumPoint) attribute.Set    { return p.Attributes }
func (sumPoints) times(p *sumPoint) (start, at time.Time) { return p.StartTime, p.Time }
func (sumPoints) empty(p *sumPoint) bool                  { return p.Value == 0 }
func (sumPoints) plus(a, b *sumPoint) sumPoint            { return withValue(b, a.Value+b.Value) }
func (sumPoints) minus(now, before *sumPoint) sumPoint    { return withValue(now, now.Value-before.Value) }

func (sumPoints) restarted(before, now *sumPoint) bool {
	return now.Value < before.Value || now.StartTime.After(before.StartTime)
}

func (sumPoints) over(p *sumPoint, from, to time.Time) sumPoint {
	out := *p
	out.StartTime, out.Time, out.Exemplars = from, later(to, from), after(from, p.Exemplars)
	return out
}

func withValue(p *sumPoint, value float64) sumPoint {
	out := *p
	out.Value = value
	return out
}

// histogramPoints reckons with explicit histograms. One with other bounds is another run.
type histogramPoints struct{}

type histogramPoint = metricdata.HistogramDataPoint[float64]

func (histogramPoints) newGroup(began time.Time) series { return newGroup(histogramPoints{}, began) }

func (histogramPoints) points(data metricdata.Aggregation) []histogramPoint {
	return data.(metricdata.Histogram[float64]).DataPoints
}

func (histogramPoints) differences(points []histogramPoint) metricdata.Aggregation {
	return metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: points}
}

func (histogramPoints) attributes(p *histogramPoint) attribute.Set    { return p.Attributes }
func (histogramPoints) times(p *histogramPoint) (start, at time.Time) { return p.StartTime, p.Time }
func (histogramPoints) empty(p *histogramPoint) bool                  { return p.Count == 0 }

func (histogramPoints) restarted(before, now *histogramPoint) bool {
	return now.StartTime.After(before.StartTime) || !slices.Equal(before.Bounds, now.Bounds) || fewer(now.BucketCounts, before.BucketCounts)
}

// plus leaves out what was counted with other bounds: a point can only have one list of them.
func (histogramPoints) plus(a, b *histogramPoint) histogramPoint {
	out := *b
	if !slices.Equal(a.Bounds, b.Bounds) {
		return out
	}
	out.Count, out.Sum = a.Count+b.Count, a.Sum+b.Sum
	out.BucketCounts = make([]uint64, len(b.BucketCounts))
	for i := range out.BucketCounts {
		out.BucketCounts[i] = a.BucketCounts[i] + b.BucketCounts[i]
	}
	return out
}

func (histogramPoints) minus(now, before *histogramPoint) histogramPoint {
	out := *now
	out.Count, out.Sum = now.Count-before.Count, now.Sum-before.Sum
	out.BucketCounts = make([]uint64, len(now.BucketCounts))
	for i := range out.BucketCounts {
		out.BucketCounts[i] = now.BucketCounts[i] - before.BucketCounts[i]
	}
	return out
}

// over leaves out the extremes, which are those of the whole run.
func (histogramPoints) over(p *histogramPoint, from, to time.Time) histogramPoint {
	out := *p
	out.StartTime, out.Time, out.Exemplars = from, later(to, from), after(from, p.Exemplars)
	out.Min, out.Max = metricdata.Extrema[float64]{}, metricdata.Extrema[float64]{}
	return out
}

// fewer tells whether a count has fallen.
func fewer(now, before []uint64) bool {
	for i := range now {
		if now[i] < before[i] {
			return true
		}
	}
	return false
}

// after are the exemplars of a time.
func after(from time.Time, exemplars []metricdata.Exemplar[float64]) []metricdata.Exemplar[float64] {
	var out []metricdata.Exemplar[float64]
	for _, e := range exemplars {
		if e.Time.IsZero() || e.Time.After(from) {
			out = append(out, e)
		}
	}
	return out
}
