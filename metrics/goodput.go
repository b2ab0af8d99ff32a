package metrics

// Verdict is what an SLO says about one request.
type Verdict struct {
	SLO  string // its name
	Good bool
	// Violated holds the measures over (or, for rates, under) their limits, or undefined where that counts as bad.
	Violated []SLOMetric
}

// Evaluate tells whether a finished request was good: a success that keeps every limit. An undefined ITL or per-user rate of an answer
// with fewer than two tokens is ignored (AIPerf calls such a request bad); any other undefined measure counts as a violation. Cancelled
// requests must not be evaluated.
func (s *SLO) Evaluate(r *Record, m *Measures) Verdict {
	if r.Outcome != Success {
		return Verdict{SLO: s.Name}
	}
	verdict := Verdict{SLO: s.Name, Good: true}
	for _, t := range s.Thresholds {
		if !t.keeps(r, m) {
			verdict.Good = false
			verdict.Violated = append(verdict.Violated, t.Metric)
		}
	}
	return verdict
}

// display is the limit in the unit in which it is shown: seconds or tokens per second.
func (t *Threshold) display() float64 {
	if t.Metric.Rate() {
		return t.Limit
	}
	return t.Limit / 1e9
}

func (t *Threshold) keeps(r *Record, m *Measures) bool {
	measure := t.Metric.measure()
	value := measure.of(m)
	switch {
	case !value.Defined:
		short := r.Usage.Output.Known && r.Usage.Output.N < 2
		// All tokens in one read: the rate is without bound, not absent.
		instant := measure.rate && m.ITL.Defined
		return measure.perToken && (short || instant)
	case measure.rate:
		return value.V >= t.Limit
	}
	// Both are whole nanoseconds divided by 1e9, which keeps their order, so that equal passes.
	return value.V <= t.display()
}
