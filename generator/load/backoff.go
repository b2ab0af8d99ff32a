package load

import (
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
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
	firstPause     = time.Second      // doubles with each step
	maxDoublings   = 20               // more than any longest pause has
	maxAskedPause  = 15 * time.Minute // a server may ask for more, by mistake or not
	maxOutagePause = time.Minute
	refusedPause   = time.Minute // between the requests of a target whose configuration is refused
	refusalsInARow = 3           // from here on it is

	statusOverloaded = 529 // Anthropic and those who follow it
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
	if c.Max < firstPause || c.Max > maxAskedPause {
		errs = append(errs, invalid.Key(path+".max", "must be between %v and %v, got %v", firstPause, maxAskedPause, c.Max))
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
	mu            sync.Mutex
	mode          BackoffMode
	max           int64
	probeInterval int64

	random *rand.Rand
	pause  pause
	began  int64 // when the last pause did: what was sent before knows nothing of it
	// steps are the doublings since the last success, refusals the answers in a row by which the server refuses the configuration.
	steps, refusals int
	changed         int64 // when the configuration did that a server may refuse
}

// pause is a time in which arrivals are dropped, but for probes; the zero value is none.
type pause struct {
	until int64
	// probeEvery is the time between probes, 0 = there are none; nextProbe is the first instant at which one may be sent.
	probeEvery, nextProbe int64
}

// NewBackoff makes the backoff of a target with a validated c. The seed makes the lengths of its pauses reproducible.
func NewBackoff(c *BackoffConfig, seed [32]byte) *Backoff {
	return &Backoff{
		mode:          c.Mode,
		max:           int64(c.Max),
		probeInterval: int64(c.ProbeInterval),
		began:         math.MinInt64,
		changed:       math.MinInt64,
		random:        rand.New(rand.NewChaCha8(seed)),
	}
}

// Configure changes what the backoff does from now on to a validated c. A pause that is on stays: what a server has asked for holds whatever
// the configuration says, unless that wants no pauses at all.
func (b *Backoff) Configure(c *BackoffConfig) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mode, b.max, b.probeInterval = c.Mode, int64(c.Max), int64(c.ProbeInterval)
	if b.mode == BackoffOff {
		b.pause, b.steps, b.refusals = pause{}, 0, 0
	}
}

// Reconfigured tells that at now what a server may have refused was changed: the next request shows whether it still does.
func (b *Backoff) Reconfigured(now int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accepted()
	b.changed = now
}

// Admit tells whether an arrival at now may be sent. In a pause with probes a yes takes the probe of its interval: ask last.
func (b *Backoff) Admit(now int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now < b.pause.open() {
		return false
	}
	if now < b.pause.until {
		b.pause.nextProbe = now + b.pause.probeEvery
	}
	return true
}

// open is the first instant at which an arrival may be sent.
func (p *pause) open() int64 {
	if p.probeEvery > 0 {
		return min(p.until, p.nextProbe)
	}
	return p.until
}

// Active tells whether a pause is on at now. Probes do not end it.
func (b *Backoff) Active(now int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now < b.pause.until
}

// Refused tells whether a pause is on because the server refuses the configuration.
func (b *Backoff) Refused() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pause.until == forever
}

// Note takes in how a request ended at now. What we have ended ourselves, or could not even send, says nothing about the server.
func (b *Backoff) Note(o Observation, now int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mode == BackoffOff || o.Outcome == metrics.Cancelled || o.Class == metrics.ErrClientInternal {
		return
	}
	// Requests that ran when the pause began do not prolong it, however many fail too, and do not end it: the server let them in before.
	news := o.Start >= b.began
	switch {
	case o.Outcome == metrics.Success:
		if news {
			b.pause, b.steps, b.refusals = pause{}, 0, 0
		}
	case o.refused():
		if o.Start >= b.changed {
			b.refuse(news, now)
		}
	default:
		if news {
			b.accepted()
		}
		b.fail(&o, news, now)
	}
}

// fail takes in a failure that may pass by itself.
func (b *Backoff) fail(o *Observation, news bool, now int64) {
	switch {
	case o.asked():
		asked := int64(min(o.RetryAfter.V, maxAskedPause.Seconds()) * float64(time.Second))
		if news || now+asked > b.pause.until {
			b.begin(pause{until: now + asked}, now)
		}
	case !news:
	case o.limited():
		b.begin(pause{until: now + b.step(b.max)}, now)
	case b.mode == BackoffAll && o.outage():
		b.begin(pause{until: now + b.step(int64(maxOutagePause)), probeEvery: b.probeInterval, nextProbe: now + b.probeInterval}, now)
	}
}

func (b *Backoff) begin(p pause, now int64) { b.pause, b.began = p, now }

// step is the length of the next pause: between nothing and a bound that doubles, so that many who were refused together do not come back
// together.
func (b *Backoff) step(longest int64) int64 {
	bound := min(longest, int64(firstPause)<<min(b.steps, maxDoublings))
	b.steps++
	return b.random.Int64N(bound + 1)
}

// refuse takes in that the server refuses the configuration. Waiting does not help then, but a person may: it is asked now and then until
// it answers otherwise.
func (b *Backoff) refuse(news bool, now int64) {
	b.refusals++
	if b.refusals >= refusalsInARow && news {
		b.begin(pause{until: forever, probeEvery: int64(refusedPause), nextProbe: now + int64(refusedPause)}, now)
	}
}

// forever is the end of the pause of a configuration that is refused.
const forever = math.MaxInt64

// accepted takes in that the configuration is not refused any more, though the request failed otherwise.
func (b *Backoff) accepted() {
	b.refusals = 0
	if b.pause.until == forever {
		b.pause = pause{}
	}
}

// refused tells whether the credential, the model or the URL is not accepted.
func (o *Observation) refused() bool {
	return o.Status == http.StatusUnauthorized || o.Status == http.StatusForbidden || o.Status == http.StatusNotFound
}

// limited tells whether the target sends more than it may.
func (o *Observation) limited() bool {
	return o.Status == http.StatusTooManyRequests || o.Class == metrics.ErrHTTP429
}

// asked tells whether the server says how long it wants to be left alone. One that says 0, or whose clock is late, says nothing.
func (o *Observation) asked() bool {
	wants := o.limited() || o.Status == http.StatusServiceUnavailable || o.Status == statusOverloaded
	return wants && o.RetryAfter.Defined && o.RetryAfter.V > 0
}

// outage tells whether the server is down or broken.
func (o *Observation) outage() bool {
	return slices.Contains([]metrics.ErrorClass{
		metrics.ErrHTTP5xx, metrics.ErrDNS, metrics.ErrConnect, metrics.ErrTLS, metrics.ErrTimeoutConnect,
	}, o.Class)
}
