package load

// Schedule is an arrival process on the caller's clock. It is anchored once and never again: however late it is asked, arrivals keep the
// instants that they always had. Not safe for concurrent use.
type Schedule struct {
	process    Process
	anchor     int64
	next       int64 // instant of the next arrival
	maxCatchup int64
}

// NewSchedule starts the arrivals of a validated c at o.
func NewSchedule(c *Config, o *Origin) *Schedule {
	s := &Schedule{process: processes[c.Mode](c, o), anchor: o.Anchor, maxCatchup: int64(c.MaxCatchup)}
	s.draw()
	return s
}

func (s *Schedule) draw() { s.next = s.anchor + s.process.Next() }

// Peek is the instant of the next arrival.
func (s *Schedule) Peek() int64 { return s.next }

// Pop takes the next arrival and returns its instant. Call SkipLate before.
func (s *Schedule) Pop() int64 {
	sched := s.next
	s.draw()
	return sched
}

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
