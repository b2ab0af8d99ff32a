package metrics

import (
	"cmp"
	"slices"
	"time"
)

const (
	// errorBarSpan is how far back the error bar looks: long enough for a percentile, short enough to show the state of the host now.
	errorBarSpan = time.Minute
	// maxErrors bounds the errors that are kept: 16 of each request of a null target that is asked twice a second, for a minute.
	maxErrors = 2048
)

// errorBar is the 99th percentile of the errors of the last minute. Instants and errors are in nanoseconds.
type errorBar struct {
	kept []timedError // in the order of their instants
}

type timedError struct{ at, size int64 }

// add takes the errors of a request that ended at an instant, which must not be before that of the call before.
func (b *errorBar) add(at int64, sizes []int64) {
	gone, _ := slices.BinarySearchFunc(b.kept, at-int64(errorBarSpan), func(e timedError, t int64) int { return cmp.Compare(e.at, t) })
	gone = max(gone, len(b.kept)+len(sizes)-maxErrors)
	b.kept = slices.Delete(b.kept, 0, min(gone, len(b.kept)))
	for _, size := range sizes {
		b.kept = append(b.kept, timedError{at, size})
	}
}

// value is the error bar at an instant; there is none if nothing was measured in the time before. Of less than a hundred errors the nearest
// to the percentile is the largest: that is left out, because a single one is an accident.
func (b *errorBar) value(now int64) (size int64, ok bool) {
	sizes := make([]int64, 0, len(b.kept))
	for _, e := range b.kept[len(b.kept)-b.count(now):] {
		sizes = append(sizes, e.size)
	}
	if len(sizes) == 0 {
		return 0, false
	}
	slices.Sort(sizes)
	rank := (len(sizes)*99 + 99) / 100 // nearest rank, from 1
	return sizes[max(0, min(rank, len(sizes)-1)-1)], true
}

// count is how many errors the bar of an instant rests on: the newest ones.
func (b *errorBar) count(now int64) int {
	from, _ := slices.BinarySearchFunc(b.kept, now-int64(errorBarSpan), func(e timedError, t int64) int { return cmp.Compare(e.at, t) })
	return len(b.kept) - from
}
