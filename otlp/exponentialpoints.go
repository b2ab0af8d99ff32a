package otlp

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// exponentialPoints reckons with exponential histograms, at the lower resolution of two and with the wider bucket of zero.
type exponentialPoints struct{}

type exponentialPoint = metricdata.ExponentialHistogramDataPoint[float64]

func (exponentialPoints) newGroup(began time.Time) series {
	return newGroup(exponentialPoints{}, began)
}

func (exponentialPoints) points(data metricdata.Aggregation) []exponentialPoint {
	return data.(metricdata.ExponentialHistogram[float64]).DataPoints
}

func (exponentialPoints) differences(points []exponentialPoint) metricdata.Aggregation {
	return metricdata.ExponentialHistogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: points}
}

func (exponentialPoints) attributes(p *exponentialPoint) attribute.Set    { return p.Attributes }
func (exponentialPoints) times(p *exponentialPoint) (start, at time.Time) { return p.StartTime, p.Time }
func (exponentialPoints) empty(p *exponentialPoint) bool                  { return p.Count == 0 }

func (exponentialPoints) restarted(before, now *exponentialPoint) bool {
	if now.StartTime.After(before.StartTime) || now.Count < before.Count || now.Scale > before.Scale || now.ZeroThreshold < before.ZeroThreshold {
		return true // a run never gets finer
	}
	was := alike(before, now)
	return now.ZeroCount < was.ZeroCount || bucketsFell(now.PositiveBucket, was.PositiveBucket) ||
		bucketsFell(now.NegativeBucket, was.NegativeBucket)
}

func (exponentialPoints) minus(now, before *exponentialPoint) exponentialPoint {
	was := alike(before, now)
	out := *now
	out.Count, out.Sum, out.ZeroCount = now.Count-was.Count, now.Sum-was.Sum, now.ZeroCount-was.ZeroCount
	out.PositiveBucket = combined(now.PositiveBucket, was.PositiveBucket, func(a, b uint64) uint64 { return a - b })
	out.NegativeBucket = combined(now.NegativeBucket, was.NegativeBucket, func(a, b uint64) uint64 { return a - b })
	return out
}

func (exponentialPoints) plus(a, b *exponentialPoint) exponentialPoint {
	first, second := alike(a, b), alike(b, a)
	out := second
	out.Count, out.Sum, out.ZeroCount = first.Count+second.Count, first.Sum+second.Sum, first.ZeroCount+second.ZeroCount
	add := func(a, b uint64) uint64 { return a + b }
	out.PositiveBucket = combined(second.PositiveBucket, first.PositiveBucket, add)
	out.NegativeBucket = combined(second.NegativeBucket, first.NegativeBucket, add)
	by := max(excess(ends(out.PositiveBucket)), excess(ends(out.NegativeBucket)))
	return coarser(&out, out.Scale-int32(by))
}

func (exponentialPoints) over(p *exponentialPoint, from, to time.Time) exponentialPoint {
	out := *p
	out.StartTime, out.Time, out.Exemplars = from, later(to, from), after(from, p.Exemplars)
	out.Min, out.Max = metricdata.Extrema[float64]{}, metricdata.Extrema[float64]{}
	return out
}

// alike is p at no higher resolution, and with no narrower bucket of zero, than another point.
func alike(p, other *exponentialPoint) exponentialPoint {
	out := coarser(p, min(p.Scale, other.Scale))
	if out.ZeroThreshold < other.ZeroThreshold {
		out.ZeroThreshold = other.ZeroThreshold
		out.ZeroCount += swallowed(&out.PositiveBucket, out.Scale, out.ZeroThreshold) + swallowed(&out.NegativeBucket, out.Scale, out.ZeroThreshold)
	}
	return out
}

// coarser is p at a resolution that is not higher than its own.
func coarser(p *exponentialPoint, scale int32) exponentialPoint {
	out := *p
	by := int(p.Scale - scale)
	if by <= 0 {
		return out
	}
	out.Scale, out.PositiveBucket, out.NegativeBucket = scale, merged(p.PositiveBucket, by), merged(p.NegativeBucket, by)
	return out
}

// merged makes 2^by neighbours one.
func merged(b metricdata.ExponentialBucket, by int) metricdata.ExponentialBucket {
	if len(b.Counts) == 0 {
		return b
	}
	first, last := ends(b)
	out := metricdata.ExponentialBucket{Offset: first >> by, Counts: make([]uint64, last>>by-first>>by+1)}
	for i, n := range b.Counts {
		out.Counts[(b.Offset+int32(i))>>by-out.Offset] += n
	}
	return out
}

// ends are the first bucket and the last.
func ends(b metricdata.ExponentialBucket) (first, last int32) {
	return b.Offset, b.Offset + int32(len(b.Counts)) - 1
}

// swallowed takes out the buckets that lie within the bucket of zero, and gives how much was in them.
func swallowed(b *metricdata.ExponentialBucket, scale int32, threshold float64) (n uint64) {
	counts := make([]uint64, len(b.Counts))
	for i, count := range b.Counts {
		upper := math.Exp2(math.Ldexp(float64(b.Offset)+float64(i)+1, -int(scale)))
		if upper <= threshold*(1+1e-9) { // the threshold lies on a bound, up to how both are rounded
			n += count
		} else {
			counts[i] = count
		}
	}
	b.Counts = counts
	return n
}

// bucketsFell tells whether a bucket has less than it had.
func bucketsFell(now, before metricdata.ExponentialBucket) bool {
	for i, n := range before.Counts {
		at := int(before.Offset) + i - int(now.Offset)
		if n > 0 && (at < 0 || at >= len(now.Counts) || now.Counts[at] < n) {
			return true
		}
	}
	return false
}

// combined reckons bucket by bucket, over all that either has.
func combined(a, b metricdata.ExponentialBucket, reckon func(a, b uint64) uint64) metricdata.ExponentialBucket {
	switch {
	case len(b.Counts) == 0:
		return a
	case len(a.Counts) == 0:
		a.Offset = b.Offset
	}
	first := min(a.Offset, b.Offset)
	last := max(a.Offset+int32(len(a.Counts)), b.Offset+int32(len(b.Counts)))
	out := metricdata.ExponentialBucket{Offset: first, Counts: make([]uint64, last-first)}
	copy(out.Counts[a.Offset-first:], a.Counts)
	for i, n := range b.Counts {
		at := b.Offset - first + int32(i)
		out.Counts[at] = reckon(out.Counts[at], n)
	}
	return out
}
