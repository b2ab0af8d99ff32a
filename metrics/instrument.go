package metrics

// Instrument tells how far what is measured now is to be trusted.
type Instrument struct {
	Suspect []SuspectCause // that hold; none = nothing is known against it
	// ErrorBar is the p99 error of the null target in seconds, which rests on so many Samples. Undefined without a null target.
	ErrorBar Value
	Samples  int
}

// Instrument looks at the faults and the error bar of this moment, as a scrape shows them.
func (s *Store) Instrument() Instrument {
	out, now := Instrument{}, s.options.Clock.Now()
	for _, cause := range SuspectCauses {
		if s.process.suspicion.Holds(cause, now) {
			out.Suspect = append(out.Suspect, cause)
		}
	}
	s.process.mu.Lock()
	selfTest := s.process.selfTest
	s.process.mu.Unlock()
	if selfTest == nil {
		return out
	}
	selfTest.mu.Lock()
	defer selfTest.mu.Unlock()
	if bar, ok := selfTest.bar.value(now); ok {
		out.ErrorBar = Value{V: Seconds(bar), Defined: true}
		out.Samples = selfTest.bar.count(now)
	}
	return out
}
