package load

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Limiter bounds what all targets send together, and shares it fairly. It answers yes or no and never waits, so that no target can delay
// another; a no is a drop with the reason global_limit. Safe for concurrent use.
//
// The rate is limited by a token bucket that holds one second's worth, at least four tokens. Independent targets now and then want to send
// in the same millisecond; a smaller bucket would refuse them at a mean rate far below the limit. In any t seconds at most rate*(t+1)
// requests pass, or rate*t + 4 below 4/s.
//
// All targets have equal shares of the rate and of the slots, and what one does not use is left to the others. The limiter keeps for each
// target how far it is ahead: what it has had beyond what its share has paid off since. A target that is ahead may only take what leaves
// something for those who are behind it: up to half of the bucket; a twentieth of the slots, at least one, and up to a quarter more while
// such a target was refused lately. So it cannot drain what another one asks for now and then, and no queue is needed for that. A single
// slot cannot be kept free: first come, first served, but for the ten seconds after one that is behind was refused.
type Limiter struct {
	mu          sync.Mutex
	maxInFlight int     // 0 = none
	kept        int     // slots that are left for those who are behind
	slotsPaid   float64 // of the slots; less than can be used, so that who uses all that others leave stays ahead
	rateHz      float64 // 0 = none
	burst       float64

	shares   []*Share
	inFlight int
	tokens   float64
	now      int64 // instant up to which tokens were added and shares paid
}

// Share is the part of one target in a limiter.
type Share struct {
	limiter *Limiter
	held    int
	claim   int64 // until then a slot is kept from those who are ahead of it
	ahead   [resources]float64
}

// resource is what is shared.
type resource int

const (
	rate      resource = iota // in requests
	slots                     // in seconds of one slot
	resources = 2
)

const (
	keptParts = 20 // of the slots
	// memory bounds how far ahead a target can be, in seconds of all slots: so long it takes until a hog is forgiven.
	memory = 10
	// claimTime is how long a target that was refused may take to ask again.
	claimTime = int64(10 * time.Second)
)

// NewLimiter makes a limiter; a limit of 0 is none. maxRateHz is in requests per second.
func NewLimiter(maxInFlight int, maxRateHz float64) *Limiter {
	l := &Limiter{}
	l.set(maxInFlight, maxRateHz)
	return l
}

// Configure changes the limits; 0 is none. Requests that run beyond a lower limit run on, and what targets are ahead of others stays.
func (l *Limiter) Configure(maxInFlight int, maxRateHz float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if maxInFlight != l.maxInFlight || maxRateHz != l.rateHz {
		l.set(maxInFlight, maxRateHz)
	}
}

func (l *Limiter) set(maxInFlight int, maxRateHz float64) {
	unlimited := l.rateHz == 0
	l.maxInFlight, l.rateHz, l.burst, l.kept = maxInFlight, maxRateHz, max(4, maxRateHz), 0
	if maxInFlight > 1 {
		l.kept = max(1, maxInFlight/keptParts)
	}
	l.slotsPaid = max(float64(maxInFlight-2*l.kept), float64(maxInFlight)/2)
	l.tokens = min(l.tokens, l.burst)
	if unlimited {
		l.tokens = l.burst
	}
	for _, s := range l.shares {
		s.ahead[rate] = min(s.ahead[rate], l.burst)
		s.ahead[slots] = min(s.ahead[slots], memory*float64(maxInFlight))
	}
}

// Join adds a target. It has to Leave when it sends no more.
func (l *Limiter) Join() *Share {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &Share{limiter: l}
	l.shares = append(l.shares, s)
	return s
}

// Leave removes the target. Its requests that still run count until they are released.
func (s *Share) Leave() {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shares = slices.DeleteFunc(l.shares, func(other *Share) bool { return other == s })
}

// Acquire asks for permission to send at now, in nanoseconds of a clock that does not go back. After a yes, Release when the request has
// ended.
func (s *Share) Acquire(now int64) bool {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(now)
	if l.maxInFlight > 0 && float64(l.maxInFlight-l.inFlight-1) < s.leavesSlots() || l.rateHz > 0 && l.tokens-1 < s.leavesTokens() {
		s.claim = now + claimTime
		return false
	}
	if l.rateHz > 0 {
		l.tokens--
		s.ahead[rate] = min(s.ahead[rate]+1, l.burst)
	}
	s.claim = 0
	s.held++
	l.inFlight++
	return true
}

// Release tells that a request which Acquire had allowed ended at now.
func (s *Share) Release(now int64) {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.release(now)
}

// Cancel gives back at now what Acquire had allowed and was not sent: it counts for no rate, and others may have it.
func (s *Share) Cancel(now int64) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	s.release(now)
	if l.rateHz > 0 {
		l.tokens = min(l.burst, l.tokens+1)
		s.ahead[rate] = max(0, s.ahead[rate]-1)
	}
}

func (s *Share) release(now int64) {
	l := s.limiter
	if s.held == 0 {
		panic("load: release of a permission that was not given")
	}
	l.advance(now)
	s.held--
	l.inFlight--
}

// leavesTokens is how many tokens the target has to leave for others: as many as it is ahead, at most half of the bucket.
func (s *Share) leavesTokens() float64 {
	l := s.limiter
	if len(l.shares) == 1 {
		return 0
	}
	return min(s.ahead[rate]+s.claims(rate), l.burst/2)
}

// leavesSlots is how many slots the target has to leave for others: one as soon as it has any itself, all that are kept if it is ahead, and
// up to a quarter of all besides if others behind it were refused.
func (s *Share) leavesSlots() float64 {
	l := s.limiter
	if len(l.shares) == 1 {
		return 0
	}
	leaves := min(max(s.ahead[slots], float64(min(s.held, 1))), float64(l.kept))
	return leaves + min(s.claims(slots), float64(l.maxInFlight+3)/4)
}

// claims is how many targets that this one is ahead of were refused lately.
func (s *Share) claims(r resource) float64 {
	var n float64
	for _, other := range s.limiter.shares {
		if other.claim > s.limiter.now && other.ahead[r] < s.ahead[r] {
			n++
		}
	}
	return n
}

// advance brings tokens and shares to the instant now. Targets read the clock before they get the lock, so now may be a little older than
// what was seen before.
func (l *Limiter) advance(now int64) {
	if now <= l.now {
		return
	}
	seconds := float64(now-l.now) / 1e9
	l.now = now
	if l.rateHz > 0 {
		// While the bucket is empty nobody's share pays off: those who are behind cannot use theirs either.
		paying := seconds - max(0, 1-l.tokens)/l.rateHz
		l.tokens = min(l.burst, l.tokens+seconds*l.rateHz)
		l.pay(rate, paying*l.rateHz)
	}
	if l.maxInFlight > 0 {
		for _, s := range l.shares {
			s.ahead[slots] = min(s.ahead[slots]+float64(s.held)*seconds, memory*float64(l.maxInFlight))
		}
		l.pay(slots, seconds*l.slotsPaid)
		l.level()
	}
}

// pay pays an amount in equal parts to the targets that are ahead; what one does not need is left to the others.
func (l *Limiter) pay(r resource, amount float64) {
	for amount > 0 {
		var ahead int
		for _, s := range l.shares {
			if s.ahead[r] > 0 {
				ahead++
			}
		}
		if ahead == 0 {
			return
		}
		part := amount / float64(ahead)
		amount = 0
		for _, s := range l.shares {
			if s.ahead[r] > 0 {
				amount += max(0, part-s.ahead[r])
				s.ahead[r] = max(0, s.ahead[r]-part)
			}
		}
	}
}

// level lets the target that has had least of the slots be ahead of nobody. If all want more than there is, only the differences count.
func (l *Limiter) level() {
	if len(l.shares) == 0 {
		return
	}
	least := slices.MinFunc(l.shares, func(a, b *Share) int { return cmp.Compare(a.ahead[slots], b.ahead[slots]) }).ahead[slots]
	for _, s := range l.shares {
		s.ahead[slots] -= least
	}
}
