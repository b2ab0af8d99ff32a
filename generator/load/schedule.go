package load

// Schedule is an arrival process on the caller's clock. It is anchored once and never again: however late it is asked, arrivals keep the
// instants that they always had. A load that changes gets another one, see Follow. Not safe for concurrent use, except where it is said.
type Schedule struct {
	process    Process
	anchor     int64
	maxCatchup int64
	seen       int64 // latest instant that was handed in
	rates      *rates
	share      float64 // of rates; 0 with rates nil
	epoch      int
	open       int // arrivals that were handed out and have not ended, those of earlier epochs included
}

// NewSchedule starts the arrivals of a validated c at o. The recording is that of mode replay, nil for all others.
func NewSchedule(c *Config, o *Origin, recording Recording) *Schedule {
	p := processes[c.Mode]
	s := &Schedule{process: p.start(c, o, recording), anchor: o.Anchor, maxCatchup: int64(c.MaxCatchup), seen: o.Anchor}
	if p.share != nil {
		s.rates, s.share = newRates(c, o), p.share(c, o)
	}
	return s
}

// Follow gives the arrivals of a load that takes over at the anchor of o, with a validated c. What is left of the running interval is not drawn
// anew but stretched to the new rate, and evenly spaced arrivals that would come sooner do: so however often loads follow each other, there
// is no gap. Requests that the old load has begun count for the new one, which is to be told of their ends.
func (s *Schedule) Follow(c *Config, o *Origin, recording Recording) *Schedule {
	origin := *o
	origin.Seed += uint64(s.epoch) + 1 // not the same intervals over and over
	left, known := s.left(o.Anchor)
	if known {
		origin.left = &left
	}
	next := NewSchedule(c, &origin, recording)
	next.epoch, next.open = s.epoch+1, s.open
	if h, ok := next.process.(heir); ok {
		h.succeed(s.process, next.anchor-s.anchor, s.open)
	}
	if h, ok := next.process.(hastener); ok && known && (c.isEven() || c.Mode == Probe) {
		if hz, _ := next.Rate(next.anchor); hz > 0 {
			h.hasten(int64(min(left/hz*1e9, horizon)))
		}
	}
	return next
}

// left is how many arrivals are expected between an instant and the next one: the part of the interval that is left, in units of the mean. It
// is only known where rates are.
func (s *Schedule) left(now int64) (part float64, known bool) {
	at, ok := s.Peek()
	if s.rates == nil || !ok {
		return 0, false
	}
	return s.rates.expected(max(0, now-s.anchor), at-s.anchor) * s.share, true
}

// Configure changes how late arrivals may be to that of a validated c, which wants the same arrivals.
func (s *Schedule) Configure(c *Config) { s.maxCatchup = int64(c.MaxCatchup) }

// Peek is the instant at which the next arrival is ready; ok is false if there will be none before a request ends.
func (s *Schedule) Peek() (at int64, ok bool) {
	at, ok = s.process.Peek()
	return s.anchor + at, ok
}

// Pop takes the next arrival. Call SkipLate before.
func (s *Schedule) Pop() Arrival {
	a := s.process.Pop()
	a.Sched += s.anchor
	a.Ready += s.anchor
	a.Epoch = s.epoch
	if !a.Overlap {
		s.open++
	}
	return a
}

// Ended tells that an arrival has come to its end: its request, sent at began, has ended at ended, or it was dropped, both 0.
func (s *Schedule) Ended(a Arrival, began, ended int64) {
	if a.Overlap {
		return
	}
	s.open--
	if began == 0 && ended == 0 {
		began = max(a.Ready, s.seen)
		ended = began
	}
	a.Sched -= s.anchor
	a.Ready -= s.anchor
	began -= s.anchor
	ended -= s.anchor
	if a.Epoch == s.epoch {
		s.process.Ended(a, began, ended)
	} else if h, ok := s.process.(heir); ok {
		h.inheritedEnded(a, began, ended)
	}
}

// Skip passes over all arrivals before now as if they had never been wanted: the load was paused.
func (s *Schedule) Skip(now int64) {
	s.seen = max(s.seen, now)
	s.process.Skip(now-s.anchor, true)
}

// SkipLate takes all arrivals that were missed, if the next one was ready more than max_catchup ago, and returns their number, at once
// where the process allows it. They are to be dropped as scheduler_late: this process was stopped, and a burst would measure that and
// not the server. A host that slept for hours has missed millions. What had to wait for the answer to its user's request before is not
// missed: the server has delayed it.
func (s *Schedule) SkipLate(now int64) int64 {
	s.seen = max(s.seen, now)
	if at, ok := s.Peek(); !ok || now-at <= s.maxCatchup {
		return 0
	}
	return s.process.Skip(now-s.anchor, false)
}

// Rate is the mean rate of arrivals that is wanted at now, per second; ok is false where it depends on the server (closed loop) or on a
// recording. Safe for concurrent use with everything else.
func (s *Schedule) Rate(now int64) (hz float64, ok bool) {
	if s.rates == nil {
		return 0, false
	}
	return s.rates.at(max(0, now-s.anchor)) * s.share, true
}

// Err says why there are no more arrivals: the recording broke.
func (s *Schedule) Err() error {
	if r, ok := s.process.(*replay); ok {
		return r.err
	}
	return nil
}

// Passes is the number of passes of a recording begun after the first. Safe for concurrent use with everything else.
func (s *Schedule) Passes() int64 {
	if r, ok := s.process.(*replay); ok {
		return r.passes.Load()
	}
	return 0
}
