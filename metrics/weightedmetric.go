package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// nativeZeroThreshold lies below the smallest value that is not 0, a millionth, and is a boundary of buckets at every resolution.
const nativeZeroThreshold = 1. / (1 << 20)

// weightedChild is one time-weighted histogram of a target.
type weightedChild struct {
	desc    *prometheus.Desc
	labels  []*dto.LabelPair
	created *timestamppb.Timestamp
	of      *weighted
	since   *weighted // what it was when the series began; nil = nothing
}

func (b *board) addWeighted(name string, of *weighted, labels ...string) {
	if !b.of.store.named[name].of(&b.info.Features) {
		return
	}
	desc := b.of.store.descs[name]
	b.weighted = append(b.weighted, weightedChild{
		desc:    desc,
		labels:  slices.Clip(prometheus.MakeLabelPairs(desc, slices.Concat(b.of.base, labels))),
		created: b.created,
		of:      of,
	})
}

// microseconds is the weight of a cell as it is exported. Each cell is rounded down for itself and every bucket is a sum of cells: a
// difference of rounded sums could shrink, which Prometheus would take for a restart.
func (c *cell) microseconds() uint64 { return uint64(c.ns / 1000) }

// exposition gives the histogram in the forms that are wanted. Its sum is that of values times microseconds, so that sum over count is
// the mean.
func (w *weighted) exposition(kind HistogramKind) *dto.Histogram {
	out := &dto.Histogram{SampleSum: new(w.sum.millionthNanos() / micro / 1000)}
	var count uint64
	for i := range w.cells {
		count += w.cells[i].microseconds()
	}
	out.SampleCount = new(count)
	if kind != HistogramsNative {
		weights := make([]uint64, len(w.bounds)+1)
		for i := range w.cells {
			weights[w.cells[i].key.classic()] += w.cells[i].microseconds()
		}
		out.Bucket = showClassic(w.shown, weights)
	}
	if kind != HistogramsClassic {
		w.addNative(out)
	}
	return out
}

// addNative fills in the native buckets.
func (w *weighted) addNative(out *dto.Histogram) {
	out.ZeroThreshold, out.ZeroCount = new(nativeZeroThreshold), new(uint64(0))
	buckets := make([]nativeBucket, 0, maxNativeBuckets)
	for i := range w.cells {
		c := &w.cells[i]
		switch weight := c.microseconds(); {
		case weight == 0:
		case c.key.native() == zeroBucket:
			out.ZeroCount = new(weight)
		case len(buckets) > 0 && buckets[len(buckets)-1].key == c.key.native(): // a classic boundary lies in the bucket
			buckets[len(buckets)-1].weight += weight
		default:
			buckets = append(buckets, nativeBucket{c.key.native(), weight})
		}
	}
	showNative(out, buckets)
}
