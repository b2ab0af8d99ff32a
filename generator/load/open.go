package load

// stream is instants on which nothing that happens has an influence, in nanoseconds from the anchor.
type stream interface {
	// Next gives the next instant, never one before the last; ok is false if there are no more.
	Next() (at int64, ok bool)
}

// skipper is a stream that can pass over instants without drawing each of them.
type skipper interface {
	stream
	// skip passes over all instants below before and returns their number. The last one drawn lies below before.
	skip(before int64) int64
}

// horizon bounds what is drawn, 221 years: later than any clock of ours will tell, and far enough from the end of an int64.
const horizon = 7_000_000_000_000_000_000

// open is the process of a stream: an arrival at each of its instants, whatever becomes of the others.
type open struct {
	instants stream
	drawn    int64 // latest instant of the stream
	next     int64 // instant of the next arrival: drawn, or earlier
	more     bool
}

func newOpen(s stream) *open {
	o := &open{instants: s}
	o.draw()
	return o
}

func (o *open) draw() {
	o.drawn, o.more = o.instants.Next()
	o.next = o.drawn
}

// hasten implements hastener.
func (o *open) hasten(at int64) {
	if o.more {
		o.next = min(o.next, at)
	}
}

// Peek implements Process.
func (o *open) Peek() (ready int64, ok bool) { return o.next, o.more }

// Pop implements Process.
func (o *open) Pop() Arrival {
	a := Arrival{Sched: o.next, Ready: o.next}
	o.draw()
	return a
}

// Ended implements Process.
func (*open) Ended(Arrival, int64, int64) {}

// Skip implements Process.
func (o *open) Skip(now int64, _ bool) int64 {
	if !o.more || o.next >= now {
		return 0
	}
	skipped := int64(1)
	if s, ok := o.instants.(skipper); ok && o.drawn < now {
		skipped += s.skip(now)
		o.draw()
		return skipped
	}
	for o.draw(); o.more && o.next < now; o.draw() {
		skipped++
	}
	return skipped
}
