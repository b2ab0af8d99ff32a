package metrics

// levels are the values of all curves at one instant.
type levels struct {
	rate     [2]int64 // prefill and decode, millionths of a token per second
	requests [3]int64 // by phase
	tokens   int64    // in flight, millionths
}

func (l *levels) apply(s *step) {
	if s.phase != phaseTotal {
		l.rate[s.phase] += s.rate
	}
	for i, change := range s.requests {
		l.requests[i] += int64(change)
	}
	l.tokens += s.tokens
}

// rateOf is the throughput of a phase; that of the whole is the sum, so that total = prefill + decode at every instant.
func (l *levels) rateOf(phase sweepPhase) int64 {
	if phase == phaseTotal {
		return l.rate[phasePrefill] + l.rate[phaseDecode]
	}
	return l.rate[phase]
}

// sweepStates are the values of the label state: whether at least one request was in the phase.
var sweepStates = []string{"idle", "active"}

// phaseCurves are the curves of one phase and what has been settled of them. A curve is only touched when its value changes: a chunk of
// one stream among many leaves most of them as they are.
type phaseCurves struct {
	rate, perUser, requests                int64
	rateSince, perUserSince, requestsSince int64

	throughput, speed [2]weighted // by index of sweepStates; speed is the throughput of each user
	concurrency       weighted
}

func newPhaseCurves(at int64) phaseCurves {
	c := phaseCurves{rateSince: at, perUserSince: at, requestsSince: at, concurrency: newWeighted(boundsConcurrency)}
	for state := range sweepStates {
		c.throughput[state], c.speed[state] = newWeighted(boundsPhaseRate), newWeighted(boundsPhaseUserRate)
	}
	return c
}

// change gives the curves new values from an instant on.
func (c *phaseCurves) change(at, rate, requests int64) {
	if rate == c.rate && requests == c.requests {
		return
	}
	perUser := int64(0)
	if requests > 0 {
		perUser = (rate + requests/2) / requests
	}
	turned := (requests > 0) != (c.requests > 0)
	if rate != c.rate || turned {
		c.settleRate(at)
	}
	if perUser != c.perUser || turned {
		c.settlePerUser(at)
	}
	if requests != c.requests {
		c.settleRequests(at)
	}
	c.rate, c.perUser, c.requests = rate, perUser, requests
}

// settle closes all pieces at an instant.
func (c *phaseCurves) settle(at int64) {
	c.settleRate(at)
	c.settlePerUser(at)
	c.settleRequests(at)
}

func (c *phaseCurves) settleRate(at int64) {
	c.throughput[c.state()].add(c.rate, at-c.rateSince)
	c.rateSince = at
}

func (c *phaseCurves) settlePerUser(at int64) {
	c.speed[c.state()].add(c.perUser, at-c.perUserSince)
	c.perUserSince = at
}

func (c *phaseCurves) settleRequests(at int64) {
	c.concurrency.add(c.requests*micro, at-c.requestsSince)
	c.requestsSince = at
}

func (c *phaseCurves) state() int {
	if c.requests > 0 {
		return 1
	}
	return 0
}
