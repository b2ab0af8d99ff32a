package mapping

import (
	"math"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// cell is one series of ours while it is joined of those of a page.
type cell struct {
	values    []string // of all labels, in their order
	n         int      // how many were joined
	value     float64
	histogram exposition.Buckets
	created   float64 // when the first of them began to count; 0 = not told by all
	// broken: a part is not a number, and the rest of a sum would be a lie.
	broken bool
}

// join puts a value to what there is.
func (c *cell) join(how join, value float64) {
	c.n++
	switch {
	case !finite(value):
		c.broken = true
	case c.n == 1:
		c.value = value
	case how == add || how == mean:
		c.value += value
	default:
		c.value = max(c.value, value)
	}
}

// result is the joined value.
func (c *cell) result(how join) float64 {
	if how == mean {
		return c.value / float64(c.n)
	}
	return c.value
}

// began joins when counting began.
func (c *cell) began(created float64) {
	if c.n == 0 || created == 0 {
		c.created = created
	} else {
		c.created = min(c.created, created)
	}
}

// joinHistogram puts a histogram to what there is. Where bounds differ, those that both have are kept, and what they count is exact.
func (c *cell) joinHistogram(h *exposition.Buckets, s scale) {
	c.n++
	if h == nil {
		c.broken = true
		return
	}
	scaled := rescale(h, s)
	switch {
	case !showable(&scaled):
		c.broken = true
	case c.n == 1:
		c.histogram = scaled
	case len(c.histogram.Classic) == 0 || len(scaled.Classic) == 0:
		c.broken = true // native ones are not joined
	default:
		c.histogram = exposition.Buckets{Sum: c.histogram.Sum + scaled.Sum, Classic: shared(c.histogram.Classic, scaled.Classic)}
	}
}

func rescale(h *exposition.Buckets, s scale) exposition.Buckets {
	if s.one() {
		return *h
	}
	out := exposition.Buckets{Count: h.Count, Sum: s.of(h.Sum), Classic: slices.Clone(h.Classic)} // bounds of native buckets are powers of two
	for i := range out.Classic {
		out.Classic[i].Bound = s.of(out.Classic[i].Bound)
	}
	return out
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// shared adds the counts of two histograms at the bounds that both have.
func shared(a, b []exposition.Bucket) []exposition.Bucket {
	out := make([]exposition.Bucket, 0, min(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Bound < b[0].Bound:
			a = a[1:]
		case a[0].Bound > b[0].Bound:
			b = b[1:]
		default:
			out = append(out, exposition.Bucket{Bound: a[0].Bound, Count: a[0].Count + b[0].Count})
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// maxCount is beyond what a server counts and within what is exact.
const maxCount = 1 << 53

// showable tells whether a histogram can be shown: counts that are numbers and do not fall, bounds that rise, the last of which is +Inf.
func showable(h *exposition.Buckets) bool {
	if !finite(h.Sum) || !(h.Count >= 0 && h.Count < maxCount) {
		return false
	}
	if len(h.Classic) == 0 {
		return h.Native != nil
	}
	count, bound := 0., math.Inf(-1)
	for _, b := range h.Classic {
		if !(b.Count >= count && b.Count < maxCount && b.Bound > bound) {
			return false
		}
		count, bound = b.Count, b.Bound
	}
	return math.IsInf(bound, 1)
}
