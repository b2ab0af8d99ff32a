package exposition

import (
	"cmp"
	"math"
	"slices"
)

// unplaced is the index of a point without a bound that can be read.
const unplaced = -1

// parts are those of a histogram or a summary, as they come line by line.
type parts struct {
	count, sum       float64
	hasCount, hasSum bool
	broken           bool // there is a point whose place is not known
	points           []pointValue
	native           *Native // nil = none

	// What is shown, and memory for it.
	buckets   Buckets
	quantiles Quantiles
	spare     Native
}

// pointValue is a bucket, or a quantile, and what it was last.
type pointValue struct {
	at, value float64
	page      uint32
}

func (p *parts) begin() { p.hasCount, p.hasSum, p.broken, p.native = false, false, false, nil }

// restart empties the parts for those of one message, in which nothing that is zero need be told.
func (p *parts) restart() {
	p.begin()
	p.count, p.sum, p.hasCount, p.hasSum, p.points = 0, 0, true, true, p.points[:0]
}

// pointAt is the index of the point at a bound or quantile.
func (p *parts) pointAt(at float64) int {
	for i := range p.points {
		if p.points[i].at == at {
			return i
		}
	}
	p.points = append(p.points, pointValue{at: at})
	return len(p.points) - 1
}

// put takes one part and tells whether it is new on this page.
func (p *parts) put(at *sample, v float64, page uint32) (fresh bool) {
	switch {
	case at.part == count:
		fresh, p.count, p.hasCount = !p.hasCount, v, true
	case at.part == sum:
		fresh, p.sum, p.hasSum = !p.hasSum, v, true
	case at.point == unplaced:
		fresh, p.broken = true, true
	default:
		point := &p.points[at.point]
		fresh, point.value, point.page = point.page != page, v, page
	}
	return fresh
}

// histogram is what the parts of a page make, if they are whole: with a sum, with a count of all that the last bucket or _count tells, and with
// buckets that do not fall.
func (p *parts) histogram(page uint32) (*Buckets, bool) {
	h := &p.buckets
	h.Count, h.Sum, h.Native = p.count, p.sum, p.native
	h.Classic = slices.Grow(h.Classic[:0], len(p.points)+1)
	for i := range p.points {
		if p.points[i].page == page {
			h.Classic = append(h.Classic, Bucket{p.points[i].at, p.points[i].value})
		}
	}
	sortPoints(h.Classic, func(a, b Bucket) int { return cmp.Compare(a.Bound, b.Bound) })
	n := len(h.Classic)
	switch closed := n > 0 && math.IsInf(h.Classic[n-1].Bound, 1); {
	case closed && !p.hasCount:
		h.Count = h.Classic[n-1].Count
	case closed || h.Native != nil && n == 0:
	case p.hasCount:
		h.Classic = append(h.Classic, Bucket{math.Inf(1), p.count})
	default:
		return nil, false
	}
	if n = len(h.Classic); n > 0 && h.Classic[n-1].Count != h.Count {
		h.Native = nil // is not of the same observations, and was found whole for the count that is not shown
	}
	return h, p.hasSum && !p.broken && rising(h)
}

// rising tells whether the counts of buckets, and that of all, are such as counting gives, with each bound once.
func rising(h *Buckets) bool {
	before := Bucket{Bound: math.NaN()}
	for _, b := range h.Classic {
		if math.IsInf(b.Count, 0) || !(b.Count >= before.Count) || b.Bound == before.Bound {
			return false
		}
		before = b
	}
	return !math.IsInf(h.Count, 0) && h.Count >= 0
}

// summary is what the parts of a page make, if sum and count are there, and each quantile once.
func (p *parts) summary(page uint32) (*Quantiles, bool) {
	q := &p.quantiles
	q.Count, q.Sum, q.Values = p.count, p.sum, q.Values[:0]
	for i := range p.points {
		if p.points[i].page == page {
			q.Values = append(q.Values, Quantile{p.points[i].at, p.points[i].value})
		}
	}
	sortPoints(q.Values, func(a, b Quantile) int { return cmp.Compare(a.Quantile, b.Quantile) })
	once := true
	for i := 1; i < len(q.Values); i++ {
		once = once && q.Values[i].Quantile != q.Values[i-1].Quantile
	}
	return q, p.hasCount && p.hasSum && !p.broken && once
}

// sortPoints sorts what mostly comes sorted.
func sortPoints[T any](points []T, order func(a, b T) int) {
	if !slices.IsSortedFunc(points, order) {
		slices.SortStableFunc(points, order)
	}
}
