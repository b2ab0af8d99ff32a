package metrics

import "math"

// sweep integrates over time what the requests of one target do: how many are in prefill and in decode, and how many tokens per second
// they give. Nobody knows the rate of a prefill before its first token, so time is settled only up to a watermark, the start of the oldest
// interval that is still open; what lies before is added once and never touched again.
//
// It reads no clock: every instant is handed in, in nanoseconds since the process epoch. It is not safe for concurrent use; Target.mu
// guards it together with the counters, so that one scrape reads one state of all.
type sweep struct {
	accounting Accounting

	begun, watermark int64
	head, tail       *openRequest // by the start of what is open
	pending          steps        // not before the watermark
	due              int          // number of pending steps at which some are settled between scrapes

	now            levels // at the watermark
	phases         [3]phaseCurves
	tokenTime      area // of the tokens in flight
	tokenTimeSince int64

	ratio    eventRatio
	by       [3]int64   // tokens given to gaps, by index of attributions, millionths
	late     [2]int64   // tokens that no curve shows, prefill and decode, millionths
	debt     [2]int64   // tokens that curves show and that never were
	rounding [2]int64   // what the curves show too little because rates are rounded, 10^-15 tokens
	reported [2]float64 // the sum of all of it at the last scrape: it must not shrink
	forced   int64
}

const (
	// maxLag is how far the watermark may stay behind: what is open for longer is settled without tokens.
	maxLag = int64(30e9)
	// maxPending bounds the memory of a target. When so many changes wait, the lag is halved. 500 streams of 50 events a second reach it
	// when one request has been in prefill for 10 seconds.
	maxPending = 1 << 18
	// batch is the most changes that one event settles, about 0.1 ms of work: neither a chunk nor a scrape is to wait for the whole of a backlog.
	batch = 512
)

func newSweep(at int64, accounting Accounting) sweep {
	s := sweep{accounting: accounting, begun: at, watermark: at, tokenTimeSince: at, due: batch}
	for i := range s.phases {
		s.phases[i] = newPhaseCurves(at)
	}
	return s
}

// advance settles as far as can be known at the instant now, by at most so many changes.
func (s *sweep) advance(now int64, most int) {
	s.force(now - maxLag)
	if len(s.pending) > maxPending {
		s.force(s.watermark + (now-s.watermark)/2)
	}
	if s.head != nil {
		now = min(now, s.head.from)
	}
	if now > s.watermark {
		s.settle(now, most)
	}
}

// collect settles everything that can be known at the instant now, and closes all pieces there, so that the integrals may be read.
func (s *sweep) collect(now int64) {
	s.advance(now, math.MaxInt)
	for i := range s.phases {
		s.phases[i].settle(s.watermark)
	}
	s.settleTokens(s.watermark, s.now.tokens)
	s.rest()
}

// relieve settles a part of what waits, so that a scrape finds little to do.
func (s *sweep) relieve(now int64) {
	if len(s.pending) < s.due {
		return
	}
	s.advance(now, batch)
	s.rest()
}

// rest says when relieve is to work again: soon if it has not come to the end of what it may settle.
func (s *sweep) rest() {
	s.due = len(s.pending) + batch/2
	if s.head == nil || len(s.pending) > 0 && s.pending[0].at < s.head.from {
		s.due = min(s.due, max(len(s.pending), batch))
	}
	if len(s.pending) == 0 && cap(s.pending) > 8*batch {
		s.pending = nil // a burst is over, its memory is given back
	}
}

// settle applies at most so many changes, up to and including those at an instant that lies behind the watermark.
func (s *sweep) settle(to int64, most int) {
	for len(s.pending) > 0 && s.pending[0].at <= to {
		if most <= 0 {
			return
		}
		at := s.pending[0].at
		before := s.now
		for len(s.pending) > 0 && s.pending[0].at == at {
			change := s.pending.pop()
			s.now.apply(&change)
			most--
		}
		s.watermark = at
		s.change(at, &before)
	}
	s.watermark = to
}

// change closes the pieces of the curves that have a new value from an instant on.
func (s *sweep) change(at int64, before *levels) {
	if s.now.tokens != before.tokens {
		s.settleTokens(at, before.tokens)
	}
	for phase := range s.phases {
		s.phases[phase].change(at, s.now.rateOf(sweepPhase(phase)), s.now.requests[phase])
	}
}

func (s *sweep) settleTokens(at, tokens int64) {
	s.tokenTime.add(tokens, at-s.tokenTimeSince)
	s.tokenTimeSince = at
}

// push notes a change. Every open interval begins at the watermark or later, so none can come too late.
func (s *sweep) push(change step) {
	change.at = max(change.at, s.watermark)
	s.pending.push(change)
}

// force ends the wait for whatever has been open since before an instant: until there, the request was in its phase and gave no token.
func (s *sweep) force(limit int64) {
	for r := s.head; r != nil && r.from < limit; r = r.next {
		s.forceOne(r)
		r.from = limit
	}
}

func (s *sweep) forceOne(r *openRequest) {
	if r.stage == stageWhole {
		return // nothing about it is unknown but its end
	}
	if !r.counted || r.rate != 0 || r.arrived != 0 {
		s.push(r.entering(-r.rate))
		r.rate = 0
	}
	r.last = gap{}
	if !r.forced {
		r.forced = true
		s.forced++
	}
}

// insert puts a request into the list. Nearly always it belongs to the end or near it.
func (s *sweep) insert(r *openRequest) {
	before := s.tail
	for before != nil && before.from > r.from {
		before = before.prev
	}
	r.prev = before
	if before == nil {
		r.next, s.head = s.head, r
	} else {
		r.next, before.next = before.next, r
	}
	if r.next == nil {
		s.tail = r
	} else {
		r.next.prev = r
	}
}

func (s *sweep) remove(r *openRequest) {
	if r.prev == nil {
		s.head = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		s.tail = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.prev, r.next = nil, nil
}

// tokens are those of a phase so far: what the curves show up to the watermark, what came too late for them, less what they show too
// much. It is taken once for each scrape.
func (s *sweep) tokens(phase sweepPhase) float64 {
	c := &s.phases[phase]
	shown := c.throughput[0].sum.seconds() + c.throughput[1].sum.seconds()
	sum := shown + float64(s.rounding[phase])/micro/1e9 + float64(s.late[phase]-s.debt[phase])/micro
	s.reported[phase] = max(s.reported[phase], math.Round(sum*1e9)/1e9) // 4566, not 4565.999999999999
	return s.reported[phase]
}
