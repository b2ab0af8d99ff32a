package load

import "sync"

// Limiter bounds what all targets send together. It answers yes or no and never waits, so that no target can delay another; a no is a
// drop with the reason global_limit. Safe for concurrent use.
//
// The rate is limited by a token bucket that holds one second's worth, at least one token. Independent targets now and then want to send
// in the same millisecond; a smaller bucket would refuse them at a mean rate far below the limit. In any t seconds at most rate*(t+1)
// requests pass, or rate*t + 1 below 1/s.
type Limiter struct {
	maxInFlight int     // 0 = none
	rateHz      float64 // 0 = none
	burst       float64

	mu       sync.Mutex
	inFlight int
	tokens   float64
	filled   int64 // instant up to which tokens were added
}

// NewLimiter makes a limiter; a limit of 0 is none. maxRateHz is in requests per second.
func NewLimiter(maxInFlight int, maxRateHz float64) *Limiter {
	burst := max(1, maxRateHz)
	return &Limiter{maxInFlight: maxInFlight, rateHz: maxRateHz, burst: burst, tokens: burst}
}

// Acquire asks for permission to send at now, in nanoseconds of a clock that does not go back. After a yes, Release when the request has
// ended.
func (l *Limiter) Acquire(now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.maxInFlight > 0 && l.inFlight >= l.maxInFlight {
		return false
	}
	if l.rateHz > 0 {
		// Targets read the clock before they get the lock, so now may be a little older than filled.
		if now > l.filled {
			l.tokens = min(l.burst, l.tokens+float64(now-l.filled)*l.rateHz/1e9)
			l.filled = now
		}
		if l.tokens < 1 {
			return false
		}
		l.tokens--
	}
	l.inFlight++
	return true
}

// Release tells that a request which Acquire had allowed has ended.
func (l *Limiter) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight == 0 {
		panic("load: release of a permission that was not given")
	}
	l.inFlight--
}
