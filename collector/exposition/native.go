package exposition

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of io.prometheus.client.Histogram beyond those of a summary.
const (
	histogramCountFloat     = 4<<3 | doubleOf
	histogramSchema         = 5<<3 | varintOf
	histogramZeroThreshold  = 6<<3 | doubleOf
	histogramZeroCount      = 7<<3 | varintOf
	histogramZeroCountFloat = 8<<3 | doubleOf
	histogramNegativeSpan   = 9<<3 | bytesOf
	histogramNegativeDelta  = 10<<3 | varintOf
	histogramNegativeDeltas = 10<<3 | bytesOf // packed
	histogramNegativeCount  = 11<<3 | doubleOf
	histogramNegativeCounts = 11<<3 | bytesOf
	histogramPositiveSpan   = 12<<3 | bytesOf
	histogramPositiveDelta  = 13<<3 | varintOf
	histogramPositiveDeltas = 13<<3 | bytesOf
	histogramPositiveCount  = 14<<3 | doubleOf
	histogramPositiveCounts = 14<<3 | bytesOf
	histogramCreated        = 15<<3 | bytesOf

	spanOffset = 1<<3 | varintOf
	spanLength = 2<<3 | varintOf
)

// The schemas of native histograms: a bucket is 2^2^-schema times as wide as the one before.
const minSchema, maxSchema = -4, 8

func (p *Parser) parseHistogram(s *series, f fields) error {
	s.parts.restart()
	native := s.parts.emptyNative()
	isNative, isFloat := false, false
	for f.next() {
		switch f.tag {
		case histogramZeroCountFloat, histogramNegativeCount, histogramNegativeCounts, histogramPositiveCount, histogramPositiveCounts:
			isFloat = true
			continue
		}
		is, err := native.read(&f)
		if err == nil {
			err = p.readClassic(s, &f)
		}
		if err != nil {
			return err
		}
		isNative = isNative || is
	}
	switch {
	case isNative && !isFloat && native.valid(s.parts.count, s.parts.sum):
		s.parts.native = native
	case (isNative || isFloat) && len(s.parts.points) == 0:
		s.parts.broken = true
	}
	return f.err
}

// readClassic takes a field that every histogram may have.
func (p *Parser) readClassic(s *series, f *fields) error {
	switch f.tag {
	case observationsCount:
		s.parts.count = float64(f.value)
	case histogramCountFloat:
		s.parts.count = f.double()
	case observationsSum:
		s.parts.sum = f.double()
	case observationsPoint:
		return p.parsePoint(s.parts, f.bytes, bucketBound, bucketCountFloat, bucketCount)
	case histogramCreated:
		s.began(seconds(f.bytes), p.store.page)
	}
	return nil
}

// emptyNative is memory for a native histogram.
func (p *parts) emptyNative() *Native {
	n := &p.spare
	*n = Native{
		PositiveSpans: n.PositiveSpans[:0], NegativeSpans: n.NegativeSpans[:0],
		PositiveDeltas: n.PositiveDeltas[:0], NegativeDeltas: n.NegativeDeltas[:0],
	}
	return n
}

// read takes a field and tells whether only native histograms have such a one.
func (n *Native) read(f *fields) (is bool, err error) {
	switch f.tag {
	case histogramSchema: // stands on classic ones, too
		n.Schema = int32(f.signed())
	case histogramZeroThreshold:
		n.ZeroThreshold = f.double()
		return n.ZeroThreshold > 0, nil
	case histogramZeroCount:
		n.ZeroCount = float64(f.value)
		return f.value > 0, nil
	case histogramNegativeSpan:
		n.NegativeSpans, err = appendSpan(n.NegativeSpans, f.bytes)
		return true, err
	case histogramPositiveSpan:
		n.PositiveSpans, err = appendSpan(n.PositiveSpans, f.bytes)
		return true, err
	case histogramNegativeDelta:
		n.NegativeDeltas = append(n.NegativeDeltas, f.signed())
	case histogramPositiveDelta:
		n.PositiveDeltas = append(n.PositiveDeltas, f.signed())
	case histogramNegativeDeltas:
		n.NegativeDeltas, err = appendDeltas(n.NegativeDeltas, f.bytes)
	case histogramPositiveDeltas:
		n.PositiveDeltas, err = appendDeltas(n.PositiveDeltas, f.bytes)
	}
	return false, err
}

func appendSpan(spans []Span, message []byte) ([]Span, error) {
	var s Span
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case spanOffset:
			s.Offset = int32(f.signed())
		case spanLength:
			s.Length = uint32(f.value)
		}
	}
	return append(spans, s), f.err
}

func appendDeltas(deltas []int64, packed []byte) ([]int64, error) {
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		deltas, packed = append(deltas, protowire.DecodeZigZag(v)), packed[n:]
	}
	return deltas, nil
}

// valid tells whether Prometheus takes the histogram, so that one bad histogram of a server does not cost our whole page.
func (n *Native) valid(count, sum float64) bool {
	positive, ok := total(n.PositiveSpans, n.PositiveDeltas)
	negative, ok2 := total(n.NegativeSpans, n.NegativeDeltas)
	if !ok || !ok2 || n.Schema < minSchema || n.Schema > maxSchema || !(n.ZeroThreshold >= 0) {
		return false
	}
	all := positive + negative + n.ZeroCount
	return all == count || math.IsNaN(sum) && all <= count // NaN was observed, which is in no bucket
}

// total adds up the buckets of spans, as far as these can hold them.
func total(spans []Span, deltas []int64) (sum float64, ok bool) {
	buckets, index := uint64(0), int64(0)
	for i, s := range spans {
		index += int64(s.Offset) + int64(s.Length)
		if i > 0 && s.Offset < 0 || s.Offset == math.MinInt32 || index-1 > math.MaxInt32 {
			return 0, false
		}
		buckets += uint64(s.Length)
	}
	count := int64(0)
	for _, d := range deltas {
		if count += d; count < 0 {
			return 0, false
		}
		sum += float64(count)
	}
	return sum, buckets == uint64(len(deltas))
}
