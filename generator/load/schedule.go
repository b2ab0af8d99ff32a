package load

// Schedule is an arrival process on the caller's clock. It is anchored once and never again: however late it is asked, arrivals keep the
// instants that they always had. Not safe for concurrent use.
type Schedule struct {
	process    Process
	anchor     int64
	next       int64 // instant of the next arrival
	maxCatchup int64
	hz         float64
}

// NewSchedule starts the arrivals of a validated c at o.
func NewSchedule(c *Config, o *Origin, _ Recording) *Schedule {
	s := &Schedule{process: processes[c.Mode](c, o), anchor: o.Anchor, maxCatchup: int64(c.MaxCatchup), hz: c.Hz()}
	s.draw()
	return s
}

func (s *Schedule) draw() { s.next = s.anchor + s.process.Next() }

// Peek is the instant at which the next arrival is ready; ok is false if there will be none before a request ends.
func (s *Schedule) Peek() (at int64, ok bool) { return s.next, true }

// Pop takes the next arrival. Call SkipLate before.
func (s *Schedule) Pop() Arrival {
	sched := s.next
	s.draw()
	return Arrival{Sched: sched, Ready: sched}
}

// Ended tells that an arrival has come to its end: its request, sent at began, has ended at ended, or it was dropped, both 0.
func (s *Schedule) Ended(Arrival, int64, int64) {}

// Skip passes over all arrivals before now as if they had never been wanted: the load was paused.
func (s *Schedule) Skip(now int64) {
	for s.next < now {
		s.draw()
	}
}

// Rate is the mean rate of arrivals that is wanted at now, per second; ok is false where it depends on the server (closed loop). Safe for
// concurrent use with everything else.
func (s *Schedule) Rate(int64) (hz float64, ok bool) { return s.hz, true }

// Err says why there are no more arrivals: the recording broke.
func (s *Schedule) Err() error { return nil }

// Passes is the number of passes of a recording begun after the first. Safe for concurrent use with everything else.
func (s *Schedule) Passes() int64 { return 0 }

// SkipLate takes all arrivals that were missed, if the next one's instant is more than max_catchup ago, and returns their number, at once
// where the process allows it. They are to be dropped as scheduler_late: this process was stopped, and a burst would measure that and
// not the server. A host that slept for hours has missed millions.
func (s *Schedule) SkipLate(now int64) int64 {
	if now-s.next <= s.maxCatchup {
		return 0
	}
	skipped := int64(1)
	if p, ok := s.process.(skipper); ok {
		skipped += p.skip(now - s.anchor)
		s.draw()
		return skipped
	}
	for s.draw(); s.next < now; s.draw() {
		skipped++
	}
	return skipped
}
