package metrics

import (
	"encoding/hex"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// layout is what all children of a histogram series share.
type layout struct {
	desc      *prometheus.Desc
	bounds    []float64 // ascending, without +Inf
	kind      HistogramKind
	exemplars bool
}

// histogram counts observations, classic and native in one. Values are finite and not negative. It never forgets. Not safe for concurrent
// use.
type histogram struct {
	layout  *layout
	labels  []*dto.LabelPair
	created *timestamppb.Timestamp

	count   uint64
	sum     float64
	buckets []uint64 // by classic bound and one beyond, not cumulative
	zero    uint64
	native  []uint64 // by key, that of the first is first
	first   int32

	exemplars []exemplar // the last of each classic bucket; empty if there are to be none
}

// exemplar points from a bucket to a request.
type exemplar struct {
	value     float64
	at        int64
	requestID string // "" = there is none
	trace     Trace
}

const (
	// nativeZero is the limit up to which values are in the bucket of zero.
	nativeZero         = 1e-6
	maxNativeExemplars = 10
	// maxExemplarRunes is how much the labels of an exemplar may hold, names and values together: OpenMetrics allows no more, and Prometheus
	// drops an exemplar that has more.
	maxExemplarRunes = 128
)

func newHistogram(l *layout, labels []*dto.LabelPair, created *timestamppb.Timestamp) histogram {
	h := histogram{layout: l, labels: labels, created: created, buckets: make([]uint64, len(l.bounds)+1)}
	if l.exemplars {
		h.exemplars = make([]exemplar, len(l.bounds)+1)
	}
	return h
}

// observe counts v and returns the index of its classic bucket.
func (h *histogram) observe(v float64) int {
	i, _ := slices.BinarySearch(h.layout.bounds, v)
	h.count++
	h.sum += v
	h.buckets[i]++
	if v <= nativeZero {
		h.zero++
	} else {
		*h.at(nativeKey(v))++
	}
	return i
}

// at is the native bucket with that key.
func (h *histogram) at(key int32) *uint64 {
	if key < h.first || key >= h.first+int32(len(h.native)) {
		h.reach(key)
	}
	return &h.native[key-h.first]
}

// reach makes room for a key, and for its neighbours.
func (h *histogram) reach(key int32) {
	const around = 8
	from, to := key-around, key+around
	if len(h.native) == 0 {
		h.native, h.first = make([]uint64, to-from), from
		return
	}
	from, to = min(from, h.first), max(to, h.first+int32(len(h.native)))
	native := make([]uint64, to-from)
	copy(native[h.first-from:], h.native)
	h.native, h.first = native, from
}

// merge counts what o, which has the same layout, has counted.
func (h *histogram) merge(o *histogram) {
	if o.count == 0 {
		return
	}
	h.count += o.count
	h.sum += o.sum
	h.zero += o.zero
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
	for i, n := range o.native {
		if n > 0 {
			*h.at(o.first + int32(i)) += n
		}
	}
}

// reset forgets all observations and keeps the memory.
func (h *histogram) reset() {
	h.count, h.sum, h.zero = 0, 0, 0
	clear(h.buckets)
	clear(h.native)
}

// show makes the form in which the histogram is exposed. Nothing of it is shared with the histogram but what never changes.
func (h *histogram) show(clock *SystemClock) *dto.Histogram {
	out := &dto.Histogram{SampleCount: new(h.count), SampleSum: new(h.sum), CreatedTimestamp: h.created}
	exemplars := h.showExemplars(clock)
	if h.layout.kind != HistogramsNative {
		out.Bucket = showClassic(h.layout.bounds, h.buckets)
		for i, e := range exemplars {
			switch {
			case e == nil:
			case i < len(out.Bucket):
				out.Bucket[i].Exemplar = e
			default: // the bucket of +Inf is only there for its exemplar
				out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: new(math.Inf(1)), CumulativeCount: out.SampleCount, Exemplar: e})
			}
		}
	}
	if h.layout.kind != HistogramsClassic {
		h.showNative(out)
		out.Exemplars = newest(exemplars)
	}
	return out
}

func (h *histogram) showNative(out *dto.Histogram) {
	out.ZeroCount, out.ZeroThreshold = new(h.zero), new(nativeZero)
	buckets := make([]nativeBucket, 0, maxNativeBuckets)
	for i, n := range h.native {
		if n > 0 {
			buckets = append(buckets, nativeBucket{h.first + int32(i), n})
		}
	}
	showNative(out, buckets)
}

// showExemplars gives the exemplars by classic bucket, nil where there is none.
func (h *histogram) showExemplars(clock *SystemClock) []*dto.Exemplar {
	out := make([]*dto.Exemplar, len(h.exemplars))
	for i, e := range h.exemplars {
		if e.requestID != "" {
			out[i] = &dto.Exemplar{Label: e.labels(), Value: new(e.value), Timestamp: timestamppb.New(clock.Wall(e.at))}
		}
	}
	return out
}

// labels name the request, and the trace if its span is sent: an id that leads nowhere helps nobody. What is too long is left out.
func (e *exemplar) labels() []*dto.LabelPair {
	out := make([]*dto.LabelPair, 0, 2)
	room := maxExemplarRunes
	add := func(name, value string) {
		if runes := utf8.RuneCountInString(name) + utf8.RuneCountInString(value); runes <= room {
			room -= runes
			out = append(out, &dto.LabelPair{Name: new(name), Value: new(value)})
		}
	}
	add("request_id", e.requestID)
	if e.trace.Sampled {
		add("trace_id", hex.EncodeToString(e.trace.ID[:]))
	}
	return out
}

// newest are those that a native histogram shows.
func newest(all []*dto.Exemplar) (out []*dto.Exemplar) {
	for _, e := range all {
		if e != nil {
			out = append(out, e)
		}
	}
	for len(out) > maxNativeExemplars {
		oldest := slices.MinFunc(out, func(a, b *dto.Exemplar) int { return a.Timestamp.AsTime().Compare(b.Timestamp.AsTime()) })
		out = slices.DeleteFunc(out, func(e *dto.Exemplar) bool { return e == oldest })
	}
	return out
}
