package metrics

import (
	"math"
	"math/bits"
	"slices"
)

// weighted is a histogram of values that weigh as much as they lasted. Its classic and its native buckets are sums over the same cells, so
// that both have the same count, whatever is rounded.
type weighted struct {
	shown  []float64 // classic boundaries, ascending
	bounds []int64   // the same in millionths
	cells  []cell    // those that have a weight, ascending
	sum    area
	ns     int64 // sum of all weights
}

// cell is a range of values that lie in the same classic and the same native bucket.
type cell struct {
	key place
	ns  int64
}

// place tells the two buckets of a cell in one number, ascending with the values: the native one in front, the index of the classic
// boundary, which is their number above the last, in the low byte.
type place int32

func placeOf(native int32, classic int) place { return place(native<<8 | int32(classic)) }

func (p place) native() int32 { return int32(p) >> 8 }
func (p place) classic() int  { return int(p & 0xff) }

// zeroBucket is the index that stands for the native bucket of the value 0, below all others.
const zeroBucket = -1 << 12

// newWeighted makes an empty histogram with these classic boundaries.
func newWeighted(bounds []float64) weighted {
	w := weighted{shown: bounds, bounds: make([]int64, len(bounds))}
	for i, b := range bounds {
		w.bounds[i] = int64(math.Round(b * micro))
	}
	return w
}

// add notes that a value, in millionths and not negative, lasted ns nanoseconds.
func (w *weighted) add(value, ns int64) {
	if ns == 0 {
		return
	}
	w.ns += ns
	w.sum.add(value, ns)
	classic, _ := slices.BinarySearch(w.bounds, value)
	key := placeOf(nativeIndex(value), classic)
	low, high := 0, len(w.cells)
	for low < high {
		if middle := int(uint(low+high) >> 1); w.cells[middle].key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(w.cells) || w.cells[low].key != key {
		w.cells = slices.Insert(w.cells, low, cell{key: key})
	}
	w.cells[low].ns += ns
}

// clone is what the histogram is now.
func (w *weighted) clone() *weighted {
	out := *w
	out.cells = slices.Clone(w.cells)
	return &out
}

// less takes away what before, an earlier state of the same histogram, had.
func (w *weighted) less(before *weighted) {
	w.ns -= before.ns
	w.sum.less(before.sum)
	was := before.cells // none ever goes away, so all of them are among those of w, in the same order
	for i := range w.cells {
		if c := &w.cells[i]; len(was) > 0 && was[0].key == c.key {
			c.ns -= was[0].ns
			was = was[1:]
		}
	}
}

// nativeIndex is the native bucket of a value in millionths.
func nativeIndex(value int64) int32 {
	if value == 0 {
		return zeroBucket
	}
	return nativeKey(float64(value) / micro)
}

// area is the integral of a curve: millionths times nanoseconds, exact, so that it does not depend on how time was cut into pieces.
type area struct{ hi, lo uint64 }

// add notes that a value, not negative, lasted ns nanoseconds.
func (a *area) add(value, ns int64) {
	hi, lo := bits.Mul64(uint64(value), uint64(ns))
	var carry uint64
	a.lo, carry = bits.Add64(a.lo, lo, 0)
	a.hi, _ = bits.Add64(a.hi, hi, carry)
}

// less takes away an earlier state of the same integral.
func (a *area) less(before area) {
	var borrow uint64
	a.lo, borrow = bits.Sub64(a.lo, before.lo, 0)
	a.hi, _ = bits.Sub64(a.hi, before.hi, borrow)
}

// seconds gives the integral in units of the value times seconds.
func (a *area) seconds() float64 { return a.millionthNanos() / micro / 1e9 }

func (a *area) millionthNanos() float64 { return float64(a.hi)*(1<<64) + float64(a.lo) }
