package metrics

import (
	"math"

	dto "github.com/prometheus/client_model/go"
)

const (
	// nativeSchema is the resolution of native buckets: 2^3 of them for each power of two, so that one is 9 % wide.
	nativeSchema = 3
	// maxNativeBuckets is how many buckets a native histogram shows; it shows fewer and wider ones if it has more. The histograms of
	// client_golang start anew then, which loses their count.
	maxNativeBuckets = 160
)

// octave are the upper bounds of the native buckets of one power of two, 2^(i/8-1).
var octave = [1 << nativeSchema]float64{
	.5, .5452538663326288, .5946035575013605, .6484197773255048, .7071067811865476, .7711054127039704, .8408964152537144, .9170040432046712,
}

// nativeKey is the index of the native bucket of a value above 0: the least k with value <= 2^(k/8).
func nativeKey(value float64) int32 {
	const fractionBits, bias, half = 52, 1022, 1022 << 52
	word := math.Float64bits(value)
	exponent := int(word>>fractionBits) - bias // value = fraction × 2^exponent, as math.Frexp would split it
	fraction := math.Float64frombits(word&(1<<fractionBits-1) | half)
	i := 0
	if fraction > octave[3] {
		i = 4
	}
	for i < len(octave) && octave[i] < fraction {
		i++
	}
	return int32((exponent-1)*len(octave) + i)
}

// nativeBucket is a bucket that is not empty.
type nativeBucket struct {
	key    int32
	weight uint64
}

// showNative fills in the native buckets, given in ascending order, at the highest resolution that needs no more than maxNativeBuckets of
// them. It works in the memory of the list.
func showNative(out *dto.Histogram, buckets []nativeBucket) {
	schema := int32(nativeSchema)
	for ; len(buckets) > maxNativeBuckets; schema-- {
		buckets = halved(buckets)
	}
	out.Schema = &schema
	spans, room := spansOf(buckets)
	type span struct {
		span   dto.BucketSpan
		offset int32
		length uint32
	}
	list := make([]span, spans)
	out.PositiveSpan, out.PositiveDelta = make([]*dto.BucketSpan, 0, spans), make([]int64, 0, room)
	next, before := int32(0), int64(0)
	for _, b := range buckets {
		gap := b.key - next
		next = b.key + 1
		n := len(out.PositiveSpan)
		if n == 0 || gap > maxSpanGap {
			in := &list[n]
			in.offset, in.span.Offset, in.span.Length = gap, &in.offset, &in.length
			out.PositiveSpan = append(out.PositiveSpan, &in.span)
			n, gap = n+1, 0
		}
		list[n-1].length += uint32(gap) + 1
		for range gap {
			out.PositiveDelta = append(out.PositiveDelta, -before)
			before = 0
		}
		out.PositiveDelta = append(out.PositiveDelta, int64(b.weight)-before)
		before = int64(b.weight)
	}
}

// maxSpanGap: so many empty buckets are shorter than another span.
const maxSpanGap = 2

// spansOf is how many spans the buckets need, and how many buckets there are in them with the empty ones.
func spansOf(buckets []nativeBucket) (spans, room int) {
	next := int32(0)
	for i, b := range buckets {
		gap := b.key - next
		next = b.key + 1
		if i == 0 || gap > maxSpanGap {
			spans++
			gap = 0
		}
		room += int(gap) + 1
	}
	return spans, room
}

// halved makes two neighbours one.
func halved(buckets []nativeBucket) []nativeBucket {
	out := buckets[:0]
	for _, b := range buckets {
		key := (b.key + 1) >> 1
		if n := len(out); n > 0 && out[n-1].key == key {
			out[n-1].weight += b.weight
		} else {
			out = append(out, nativeBucket{key, b.weight})
		}
	}
	return out
}

// showClassic makes the cumulative buckets of the classic form, given the weight of each. All lie in one piece of memory: a scrape of many
// targets makes many.
func showClassic(bounds []float64, weights []uint64) []*dto.Bucket {
	type bucket struct {
		bucket dto.Bucket
		weight uint64
	}
	list, out := make([]bucket, len(bounds)), make([]*dto.Bucket, len(bounds))
	below := uint64(0)
	for i := range out {
		b := &list[i]
		below += weights[i]
		b.weight = below
		b.bucket.UpperBound, b.bucket.CumulativeCount = &bounds[i], &b.weight
		out[i] = &b.bucket
	}
	return out
}
