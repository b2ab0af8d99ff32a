package metrics

// stage is what a sweep knows about a request that has not ended.
type stage uint8

const (
	stageClosed  stage = iota // not in the sweep
	stagePrefill              // no content event yet
	stageDecode               // there has been one
	stageWhole                // no stream was asked for: there is no boundary between prefill and decode
)

// openRequest is a request that has not ended, as its sweep sees it. It is a member of a list; the zero value is in none.
type openRequest struct {
	prev, next *openRequest
	stage      stage

	// What is open: the prefill, or the gap after the last content event. It began at begun; the part before from has been forced.
	begun, from int64
	forced      bool

	counted bool  // in the concurrency of its phase
	rate    int64 // what it adds to the throughput of its phase
	last    gap   // the gap before what is open, as long as tokens may be added to it
	carried int64 // tokens of gaps without a length, for the next one

	input    int64 // tokens of the prompt as far as known, millionths
	seen     int64 // output tokens so far, those of the first event included
	arrived  int64 // output tokens that came at begun: not in the curve of tokens in flight yet
	inFlight int64 // tokens that the request adds to that curve

	told   bool // the last content event that could tell its count has
	spread bool // its gaps are settled when it has ended
}

// gap is a settled or pending piece of a request's decode: so many tokens, from an instant on, in length nanoseconds.
type gap struct{ from, length, tokens int64 }

// entering is the step in which the request takes its place in the curves of its phase, with a change of its rate.
func (r *openRequest) entering(rate int64) step {
	change := step{at: r.from, rate: rate, tokens: r.arrived, phase: phasePrefill}
	if r.stage == stageDecode {
		change.phase = phaseDecode
	}
	if !r.counted {
		r.counted = true
		change.requests[change.phase] = 1
	}
	r.inFlight += r.arrived
	r.arrived = 0
	return change
}

// start opens a request that leaves at an instant. streamed: a stream is asked for.
func (s *sweep) start(r *openRequest, at, inputTokens int64, streamed bool) {
	if r.stage != stageClosed {
		return // a request leaves once
	}
	at = max(at, s.watermark)
	*r = openRequest{stage: stagePrefill, begun: at, from: at, input: microTokens(inputTokens)}
	if !streamed {
		r.stage = stageWhole
	}
	r.inFlight = r.input
	s.push(step{at: at, phase: phaseTotal, tokens: r.input, requests: [3]int8{phaseTotal: 1}})
	s.insert(r)
	s.relieve(at)
}

// content takes a content event. told is the number of output tokens so far, if the event says it.
func (s *sweep) content(r *openRequest, at int64, told Count) {
	at = max(at, r.begun)
	switch r.stage {
	case stagePrefill:
		s.firstEvent(r, at, told)
	case stageDecode:
		if !r.spread {
			s.laterEvent(r, at, told)
		}
	case stageWhole, stageClosed:
		return
	}
	s.relieve(at)
}

// firstEvent ends the prefill.
func (s *sweep) firstEvent(r *openRequest, at int64, told Count) {
	if at > r.from {
		r.rate = rateOf(r.input, at-r.begun)
		s.account(phasePrefill, r, r.input, at)
		s.push(r.entering(r.rate))
		s.push(step{at: at, phase: phasePrefill, rate: -r.rate, requests: [3]int8{phasePrefill: -1}})
	} else {
		s.late[phasePrefill] += r.input
		s.leavePrefill(r)
	}
	r.stage, r.counted, r.rate, r.forced = stageDecode, false, 0, false
	r.begun, r.from = at, max(at, r.from)
	r.told = told.Known && told.N > 0
	r.seen = micro
	if r.told {
		r.seen = microTokens(told.N)
	}
	r.arrived = r.seen
	r.spread = s.accounting == EvenSpread && !r.told
	s.moved(r)
}

// leavePrefill takes a request out of the curves of prefill if it had been forced into them.
func (s *sweep) leavePrefill(r *openRequest) {
	if r.counted {
		s.push(step{at: r.from, phase: phasePrefill, requests: [3]int8{phasePrefill: -1}})
	}
}

// laterEvent ends a gap, with the number of tokens that the event told or that are usual.
func (s *sweep) laterEvent(r *openRequest, at int64, told Count) {
	tokens := s.ratio.perEvent()
	if told.Known && r.told {
		tokens = max(0, microTokens(told.N)-r.seen)
		s.by[byUsage] += tokens
	} else {
		s.by[byEstimate] += tokens
	}
	r.told = r.told || told.Known
	s.endGap(r, at, tokens)
}

// endGap ends the open gap at an instant, with the tokens that came then.
func (s *sweep) endGap(r *openRequest, at, tokens int64) {
	tokens = min(tokens, maxMicroTokens-r.seen)
	r.seen += tokens
	switch {
	case at == r.begun:
		s.addToLast(r, tokens)
	case at <= r.from: // all of it has been forced
		s.late[phaseDecode] += tokens + r.carried
		r.carried, r.begun = 0, at
	default:
		all := tokens + r.carried
		before := r.rate
		r.carried, r.rate = 0, rateOf(all, at-r.begun)
		s.account(phaseDecode, r, all, at)
		r.last = gap{from: r.from, length: at - r.from, tokens: all}
		if r.forced {
			r.last, r.forced = gap{}, false
		}
		s.push(r.entering(r.rate - before))
		r.begun, r.from = at, at
		s.moved(r)
	}
	r.arrived += tokens
}

// addToLast gives the tokens of a gap without a length to the gap before it, or to the next if that is settled or there is none.
func (s *sweep) addToLast(r *openRequest, tokens int64) {
	if r.last.length == 0 || s.watermark > r.last.from {
		r.carried += tokens
		return
	}
	rate := rateOf(r.last.tokens+tokens, r.last.length)
	if rate == maxRate {
		r.carried += tokens
		return
	}
	s.round(phaseDecode, tokens, rate-r.rate, r.last.length)
	s.push(step{at: r.last.from, phase: phaseDecode, rate: rate - r.rate})
	r.last.tokens += tokens
	r.rate = rate
}

// account counts what the curves will not show of the tokens of an interval that ends at an instant: what belongs to its forced part,
// what is above the highest rate, and what is lost by rounding.
func (s *sweep) account(phase sweepPhase, r *openRequest, tokens, at int64) {
	if r.from > r.begun || r.rate == maxRate {
		late := max(0, tokens-tokensAt(r.rate, at-r.from))
		s.late[phase] += late
		tokens -= late
	}
	s.round(phase, tokens, r.rate, at-r.from)
}

// round notes by how much so many tokens are more than a rate gives in ns nanoseconds. Either product may overflow, their small difference
// does not.
func (s *sweep) round(phase sweepPhase, tokens, rate, ns int64) {
	s.rounding[phase] += tokens*1e9 - rate*ns
}

// moved puts a request whose open interval has begun anew where it belongs.
func (s *sweep) moved(r *openRequest) {
	s.remove(r)
	s.insert(r)
}
