package load

import "cmp"

// turn is a recorded turn that can be asked when it is ready.
type turn struct {
	arrival Arrival
	session *session // nil: it stands alone
	order   uint64   // in which turns were found
}

// turns is a heap of turns, the one that is ready first at the top.
type turns []*turn

// Len implements heap.Interface.
func (t turns) Len() int { return len(t) }

// Less implements heap.Interface.
func (t turns) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(t[i].arrival.Ready, t[j].arrival.Ready), cmp.Compare(t[i].order, t[j].order)) < 0
}

// Swap implements heap.Interface.
func (t turns) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *turns) Push(x any) { *t = append(*t, x.(*turn)) }

// Pop implements heap.Interface.
func (t *turns) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return x
}
