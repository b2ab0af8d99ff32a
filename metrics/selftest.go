package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// SelfTest takes what becomes of requests to the null target, a stream of known timing that this program makes and measures itself. Safe
// for concurrent use.
type SelfTest struct {
	store  *Store
	limit  time.Duration
	errors prometheus.Histogram

	mu       sync.Mutex // guards the two below
	requests map[Outcome]int64
	bar      errorBar
}

// SelfTest begins the series of the self-test, all of them at zero. Requests that live while the error bar is above limit are suspect.
func (s *Store) SelfTest(limit time.Duration) *SelfTest {
	t := &SelfTest{store: s, limit: limit, errors: s.histogram("aiperf_selftest_error_seconds"), requests: map[Outcome]int64{}}
	s.process.mu.Lock()
	defer s.process.mu.Unlock()
	s.process.selfTest = t
	return t
}

// Finished takes a request that ended at an instant. errors, in nanoseconds, are how far the instants of its content events lie from those
// at which they should have been; they count if it succeeded. One that failed is a fault of this host: there is no other that could be.
func (t *SelfTest) Finished(at int64, outcome Outcome, errors []int64) {
	t.mu.Lock()
	t.requests[outcome]++
	suspect := outcome == Failure
	if outcome == Success {
		t.bar.add(at, errors)
		bar, ok := t.bar.value(at)
		suspect = ok && bar > int64(t.limit)
	}
	t.mu.Unlock()

	if outcome == Success {
		for _, e := range errors {
			t.errors.Observe(Seconds(e))
		}
	}
	if suspect {
		t.store.Suspect(SuspectSelfTest, at)
	}
}

func (t *SelfTest) collect(ch chan<- prometheus.Metric, now int64) {
	t.errors.Collect(ch)
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.store
	for _, outcome := range Outcomes {
		s.emit(ch, "aiperf_selftest_requests_total", Counter, s.start, float64(t.requests[outcome]), string(outcome))
	}
	// A bar of 0 would claim an instrument without error; where nothing was measured there is none.
	if bar, ok := t.bar.value(now); ok {
		s.emit(ch, "aiperf_selftest_error_bar_seconds", Gauge, s.start, Seconds(bar))
	}
}
