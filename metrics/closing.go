package metrics

// instant is the length in nanoseconds that is given to a decode without any: the smallest weight that is exported.
const instant = 1000

// finish closes a request. What is open of one that failed or was cancelled counts for nothing but the total: nobody knows what it would
// have become.
func (s *sweep) finish(r *openRequest, record *Record) {
	if r.stage == stageClosed {
		return
	}
	end := max(record.Time.End, r.from)
	switch r.stage {
	case stagePrefill:
		s.leavePrefill(r)
	case stageDecode:
		if record.Outcome == Success {
			if r.spread {
				s.spreadEvenly(r, record)
			}
			s.reconcile(r, record)
		}
		end = max(end, s.endDecode(r))
	case stageWhole, stageClosed:
	}
	s.push(step{at: end, phase: phaseTotal, tokens: -r.inFlight, requests: [3]int8{phaseTotal: -1}})
	s.remove(r)
	r.stage = stageClosed
	s.relieve(end)
}

// endDecode takes a request out of the curves of decode at its last content event, and gives the instant at which it has left them.
func (s *sweep) endDecode(r *openRequest) int64 {
	at := r.from
	if r.carried > 0 && !r.counted {
		// All events came at once. Their tokens get a length, so that none is lost.
		r.rate = rateOf(r.carried, instant)
		s.account(phaseDecode, r, r.carried, at+instant)
		s.push(r.entering(r.rate))
		r.carried = 0
		at += instant
	}
	s.late[phaseDecode] += r.carried
	leaving := step{at: at, phase: phaseDecode, rate: -r.rate, tokens: r.arrived}
	if r.counted {
		leaving.requests[phaseDecode] = -1
	}
	r.inFlight += r.arrived
	s.push(leaving)
	return at
}

// spreadEvenly gives each gap that has a length the same number of tokens. They are known only now, and so are the gaps: none of them has
// been settled but what was forced.
func (s *sweep) spreadEvenly(r *openRequest, record *Record) {
	gaps, at := int64(0), r.begun
	for _, event := range record.Content {
		if event > at {
			gaps++
			at = event
		}
	}
	after := int64(len(record.Content)-1) * micro
	if record.Usage.Output.Known {
		after = max(0, microTokens(record.Usage.Output.N)-r.seen)
	}
	s.by[bySpread] += after
	if gaps == 0 {
		s.endGap(r, r.begun, after)
		return
	}
	for _, event := range record.Content {
		if event > r.begun {
			share := after / gaps // of what is left, so that the sum is exact
			s.endGap(r, event, share)
			after -= share
			gaps--
		}
	}
}

// reconcile compares what was taken for the tokens of a success with what the server tells at its end, and learns from it.
func (s *sweep) reconcile(r *openRequest, record *Record) {
	if record.InputSource.Exact() && record.Usage.Input.Known {
		s.correct(phasePrefill, microTokens(record.Usage.Input.N)-r.input)
	}
	if !record.OutputSource.Exact() || !record.Usage.Output.Known {
		return
	}
	output := microTokens(record.Usage.Output.N)
	s.correct(phaseDecode, output-r.seen)
	if n := len(record.Content); n > 1 {
		first := int64(micro)
		if k := record.FirstTokens; k.Known && k.N > 0 {
			first = microTokens(k.N)
		}
		s.ratio.learn(max(0, output-first), int64(n-1))
	}
}

// correct adds tokens that came too late for the curves, or notes those that they show too much.
func (s *sweep) correct(phase sweepPhase, tokens int64) {
	if tokens > 0 {
		s.late[phase] += tokens
	} else {
		s.debt[phase] -= tokens
	}
}
