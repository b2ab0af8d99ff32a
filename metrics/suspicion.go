package metrics

import (
	"sync"
	"time"
)

// SuspectCause is a fault of this program or of its host, for which its own figures are to be doubted and no server is to be blamed.
type SuspectCause string

// The causes. What a slow server brings about, full slots and late starts among it, is never one.
const (
	SuspectWakeup       SuspectCause = "wakeup"        // a load scheduler woke up too late
	SuspectDrops        SuspectCause = "drops"         // arrivals were dropped as scheduler_late or global_limit
	SuspectCPUThrottled SuspectCause = "cpu_throttled" // the container was denied the processor
	SuspectSelfTest     SuspectCause = "selftest"      // a stream of known timing was measured wrong, or not at all
	SuspectGoScheduler  SuspectCause = "go_scheduler"  // goroutines that were ready had to wait
)

// SuspectCauses is the closed list.
var SuspectCauses = []SuspectCause{SuspectWakeup, SuspectDrops, SuspectCPUThrottled, SuspectSelfTest, SuspectGoScheduler}

const (
	// suspectFor is how long a fault is held against what is measured. Faults come in bursts of which only samples are seen: a sparse load
	// wakes up every 30 s, so a host that is still busy shows it again within that time.
	suspectFor = 30 * time.Second
	// lateWakeup is the delay of a scheduler from which the host must have stood still.
	lateWakeup = 100 * time.Millisecond
)

// Suspicion remembers faults of the instrument and tells which requests lived while one held. Instants, in nanoseconds since the process
// epoch, are handed in. The zero value knows of no fault. Safe for concurrent use.
type Suspicion struct {
	mu    sync.Mutex
	until map[SuspectCause]int64
}

// Note takes a fault that was found at an instant. It holds from whenever it began until suspectFor later.
func (s *Suspicion) Note(cause SuspectCause, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[SuspectCause]int64{}
	}
	s.until[cause] = max(s.until[cause], at+int64(suspectFor))
}

// Holds tells whether a fault of that cause holds at an instant.
func (s *Suspicion) Holds(cause SuspectCause, at int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.until[cause]
	return ok && at <= until
}

// Touches tells whether a request that began at an instant and ends now lived while a fault held. All known faults were found before now, so
// its beginning decides.
func (s *Suspicion) Touches(begin int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, until := range s.until {
		if begin <= until {
			return true
		}
	}
	return false
}
