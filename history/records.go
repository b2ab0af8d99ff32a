package history

import (
	"iter"
	"slices"
)

// maxFailures is how many failures are kept, however many successes came after them.
const maxFailures = 20

// records are what is kept of one target: the last ones, and failures that are older. Not safe for concurrent use.
type records struct {
	recent []*entry // oldest first
	older  []*entry // failures that are not among recent any more, oldest first
	bytes  int64    // of all
	failed int      // failures in recent
	spare  *entry   // for the next one
}

func (k *records) len() int { return len(k.recent) + len(k.older) }

// newestFirst gives recent, then older.
func (k *records) newestFirst() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for _, list := range [...][]*entry{k.recent, k.older} {
			for _, e := range slices.Backward(list) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// fresh is an empty entry, if possible one that was used before.
func (k *records) fresh() *entry {
	e := k.spare
	k.spare = nil
	if e == nil {
		return &entry{}
	}
	*e = entry{ticks: e.ticks[:0], missed: e.missed[:0]}
	return e
}

// add takes an entry, keeps n recent ones, and tells by how much the bytes have grown.
func (k *records) add(e *entry, n int) int64 {
	before := k.bytes
	e.bytes = e.size()
	k.bytes += e.bytes
	k.recent = append(k.recent, e)
	if e.failed() {
		k.failed++
	}
	k.trim(n)
	return k.bytes - before
}

// trim keeps n recent records and the last failures, and tells by how much the bytes have grown: not at all, or less than that.
func (k *records) trim(n int) int64 {
	before := k.bytes
	for len(k.recent) > n {
		k.age()
	}
	for len(k.older) > 0 && len(k.older)+k.failed > maxFailures {
		k.drop(popOldest(&k.older))
	}
	return k.bytes - before
}

// age takes the oldest of the recent ones away, but not if it is a failure.
func (k *records) age() {
	e := popOldest(&k.recent)
	if !e.failed() {
		k.drop(e)
		return
	}
	k.failed--
	k.older = append(k.older, e)
}

// evict lets go of one record, the oldest that is no failure if there is such, and tells how many bytes that gave back; 0 = there is none.
func (k *records) evict() int64 {
	before := k.bytes
	for k.bytes == before && len(k.recent) > 0 {
		k.age()
	}
	if k.bytes == before && len(k.older) > 0 {
		k.drop(popOldest(&k.older))
	}
	k.spare = nil
	return before - k.bytes
}

func (k *records) drop(e *entry) {
	k.bytes -= e.bytes
	e.prompt, e.answer, e.detail = "", "", ""
	k.spare = e
}

// dropBodies lets go of prompts and answers, and tells by how much the bytes have grown.
func (k *records) dropBodies() int64 {
	before := k.bytes
	for e := range k.newestFirst() {
		k.bytes -= e.bytes
		e.prompt, e.answer = "", ""
		e.bytes = e.size()
		k.bytes += e.bytes
	}
	return k.bytes - before
}

// popOldest keeps the array: there are as many afterwards as before, all the time.
func popOldest(list *[]*entry) *entry {
	oldest := (*list)[0]
	last := len(*list) - 1
	copy(*list, (*list)[1:])
	(*list)[last] = nil
	*list = (*list)[:last]
	return oldest
}
