package capture

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// Deps are what a Ring needs from the process.
type Deps struct {
	Clock    *metrics.SystemClock
	Redactor Redactor
	Version  string // of the exporter
}

// Ring keeps the captures of all targets in memory. It sees every finished request as generator.Observer and shows what it has kept as web.Captures.
// Safe for concurrent use.
type Ring struct {
	deps Deps

	mu     sync.Mutex
	config Config
	kept   []*Capture // oldest first
	bytes  int64
	last   map[kind]int64 // instant at which the last request of a kind ended that was kept, as long as others have to wait for it
	taken  map[Reason]int64
	lost   map[loss]int64
}

// kind is what requests have in common that are alike: one that was kept tells about the others.
type kind struct {
	target string
	class  metrics.ErrorClass // "" = slow
}

func (c *Capture) kind() kind { return kind{c.Target, c.Class} }

// sameKindGap is the least time between two captures of a kind: a target that fails a hundred times a second fails in the same way.
const sameKindGap = time.Second

// New makes an empty one.
func New(config Config, deps Deps) *Ring {
	return &Ring{deps: deps, config: config, last: map[kind]int64{}, taken: map[Reason]int64{}, lost: map[loss]int64{}}
}

// Reconfigure brings other limits into effect; when it is turned off, what it has kept is gone.
func (r *Ring) Reconfigure(config Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.config = config
	if !config.Enabled {
		r.kept, r.bytes = nil, 0
		return
	}
	r.shrink()
}

// Tape tells how many bytes of the bodies of a target's exchanges are wanted, for generator.Deps.
func (r *Ring) Tape(string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.config.Enabled {
		return 0
	}
	return int(r.config.MaxStreamBytes)
}

// Dropped implements generator.Observer: what was not sent has no bytes.
func (*Ring) Dropped(string, metrics.DropReason, int64) {}

// Finished implements generator.Observer.
func (r *Ring) Finished(target string, record *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
	if record.Tape == nil || !record.ConnObtained {
		return
	}
	reason, maxBytes := r.reserve(target, record, m, verdicts)
	if reason == "" {
		return
	}
	c := newCapture(record, m, maxBytes)
	c.Target, c.Reason, c.Exporter = target, reason, r.deps.Version
	c.Sent = r.deps.Clock.Wall(origin(&record.Time))
	c.redact(r.deps.Redactor, record.Tape.RequestHeader, record.Tape.Header)

	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.config.Enabled {
		return
	}
	r.taken[reason]++
	r.kept = append(r.kept, c)
	r.bytes += c.size()
	r.shrink()
}

// reserve tells why a request is to be kept, "" = it is not, and how much of each body, and has others of its kind wait.
func (r *Ring) reserve(target string, record *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) (reason Reason, maxBytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.config.Enabled {
		return "", 0
	}
	switch {
	case record.Outcome == metrics.Failure:
		reason = Failed
	case record.Outcome == metrics.Success && !record.Warmup && r.config.slow(m, verdicts):
		reason = Slow
	default:
		return "", 0
	}
	k, now := kind{target, record.Class}, record.Time.End
	if last, ok := r.last[k]; ok && now-last < int64(sameKindGap) {
		r.lost[repeated]++
		return "", 0
	}
	// Targets come and go for months, each under a name of its own.
	maps.DeleteFunc(r.last, func(_ kind, last int64) bool { return now-last >= int64(sameKindGap) })
	r.last[k] = now
	return reason, int(r.config.MaxStreamBytes)
}

// slow tells whether a success is to be kept.
func (c *Config) slow(m *metrics.Measures, verdicts []metrics.Verdict) bool {
	missed := slices.ContainsFunc(verdicts, func(v metrics.Verdict) bool { return !v.Good })
	return missed || c.SlowerThan > 0 && m.Total.Defined && m.Total.V > c.SlowerThan.Seconds()
}

// shrink drops captures until the limits are kept: of the target that has most of what there is too much of, the oldest of the kind of which it has
// most. So neither a target that fails all the time nor a kind of failure pushes the others out.
func (r *Ring) shrink() {
	for {
		var weight func(*Capture) int64
		switch {
		case len(r.kept) > r.config.MaxStreams:
			weight = func(*Capture) int64 { return 1 }
		case r.bytes > r.config.MaxBytes:
			weight = (*Capture).size
		default:
			return
		}
		target := heaviest(r.kept, weight, func(c *Capture) string { return c.Target })
		ofTarget := slices.DeleteFunc(slices.Clone(r.kept), func(c *Capture) bool { return c.Target != target })
		victim := heaviest(ofTarget, weight, (*Capture).kind)
		i := slices.IndexFunc(r.kept, func(c *Capture) bool { return c.kind() == victim })
		r.bytes -= r.kept[i].size()
		r.kept = slices.Delete(r.kept, i, i+1)
		r.lost[evicted]++
	}
}

// heaviest is the key under which captures weigh most together; of equals the one that comes first.
func heaviest[K comparable](captures []*Capture, weight func(*Capture) int64, key func(*Capture) K) K {
	sums := map[K]int64{}
	for _, c := range captures {
		sums[key(c)] += weight(c)
	}
	most := slices.MaxFunc(captures, func(a, b *Capture) int { return cmp.Compare(sums[key(a)], sums[key(b)]) })
	return key(most)
}

// Has tells whether a request was kept and can be written.
func (r *Ring) Has(id string) bool { return r.find(id) != nil }

func (r *Ring) find(id string) *Capture {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.kept {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// List implements web.Captures.
func (r *Ring) List() []view.Capture {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]view.Capture, 0, len(r.kept))
	for _, c := range slices.Backward(r.kept) {
		out = append(out, view.Capture{
			ID: c.ID, Target: c.Target, At: c.Sent.UTC(), Outcome: string(c.Outcome), Class: string(c.Class), Reason: string(c.Reason), Bytes: int(c.size()),
		})
	}
	return out
}

// Write implements web.Captures.
func (r *Ring) Write(w io.Writer, id string) (found bool, err error) {
	c := r.find(id) // nobody changes it
	if c == nil {
		return false, nil
	}
	return true, c.Write(w)
}
