package server

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

// forgetAfter is how long a server may answer without a page before it is taken for one that has none.
const forgetAfter = 10 * time.Minute

// replica is one instance of a target's server. Only its source's goroutine uses it, but for the snapshot and the attempt.
type replica struct {
	deps    *Deps
	target  *target
	source  *source
	origin  string // scheme, host and port
	options mapping.Options
	// configured: somebody said that there is a page, so that its absence is a failure from the start.
	configured bool
	finder     *finder
	gate       *gate // nil = probing is allowed, or has been from some look on
	mapper     *mapping.Mapper
	history    *history
	logger     *slog.Logger

	told   map[string]bool // what has been logged since it last went up or down
	vacant int64           // since when the server has answered without a page; 0 = it does not

	snapshot atomic.Pointer[snapshot]
	attempt  atomic.Pointer[attempt] // nil = there was none
}

// snapshot is what a replica has to show. It does not change.
type snapshot struct {
	found  bool  // there is a page, or is said to be one: the state is shown
	up     bool  // the last attempt succeeded
	failed int64 // instant of the first failure after the last success
	read   bool  // a page has been read

	restarts float64
	mixed    bool
	dropped  int
	unmapped map[string]int
	// families of the last page, and those of them that a mix of replicas does not spoil
	all, gauges []*dto.MetricFamily
}

// fresh tells whether the families may be shown.
func (s *snapshot) fresh(now int64, staleAfter time.Duration) bool {
	return s.read && (s.up || now-s.failed < int64(staleAfter))
}

func (r *replica) reset() {
	r.mapper, r.history, r.vacant = mapping.New(r.options), &history{}, 0
	r.snapshot.Store(&snapshot{found: r.configured && r.gate == nil})
}

// scrape asks for the page once, if it is to be asked for.
func (r *replica) scrape(ctx context.Context, ask func(*place) *reading) {
	now := r.deps.Clock.Now()
	if r.gate != nil {
		if !r.gate.open(ctx, now, r.logger) {
			if r.gate.public {
				r.attempt.Store(&attempt{public: true, detail: "its address is public: to have it read, say server.kind or server.metrics_url"})
			}
			return
		}
		r.gate = nil
		r.reset()
	}
	answer := r.finder.find(now, ask)
	switch {
	case ctx.Err() != nil: // the program stops: whatever failed, it is not the server's fault
	case answer == nil:
	case answer.err != nil:
		r.fail(answer)
	default:
		r.take(answer)
	}
}

// take shows what was read.
func (r *replica) take(answer *reading) {
	var result *mapping.Result
	if answer.place.format == processes {
		result = mapModels(answer.models, &r.options)
	} else {
		result = r.mapper.Map(answer.page)
		keepModel(result.Normalised, r.options.Model)
		r.target.log.Duplicates(answer.page.Duplicates)
	}
	r.target.log.Succeeded(answer.took, answer.samples())
	r.attempt.Store(&attempt{
		success: r.deps.Clock.Wall(answer.at), took: answer.took, samples: answer.samples(), kinds: result.Kinds,
	})
	r.vacant = 0
	r.turn(true)
	r.tellPage(answer.place, result)
	r.tellVerdict(r.history.see(result))

	all := slices.Concat(result.Normalised, result.Passed)
	next := &snapshot{
		found: true, up: true, read: true,
		restarts: r.history.restarts, mixed: r.history.mixed, dropped: result.Dropped, unmapped: result.Unmapped,
		all: all, gauges: unspoilt(all),
	}
	r.snapshot.Store(next)
	if observe := r.deps.Observe; observe != nil {
		families := result.Normalised
		if r.target.mixed() {
			families = unspoilt(families)
		}
		observe(r.options.Target, r.options.Instance, answer.at, families)
	}
}

// fail shows that the server could not be read.
func (r *replica) fail(answer *reading) {
	r.turn(false)
	reason, old := scrape.ReasonOf(answer.err), r.snapshot.Load()
	r.target.log.Failed(answer.took, reason)
	r.attempt.Store(r.attempt.Load().failed(reason, answer))
	if !old.found && reason != scrape.Internal { // a credential that cannot be read is a fault, whatever would have been found
		if r.news(string(reason)) {
			r.logger.Info("no server metrics found", slog.Any("err", answer.err), slog.Int("places", r.finder.asked))
		}
		return
	}
	if r.news(string(reason)) {
		r.logger.Warn("server metrics cannot be read", slog.Any("err", answer.err), slog.Int("places", r.finder.asked))
	}
	if r.forgets(reason, answer.at) {
		return
	}
	next := *old
	next.found, next.up = true, false
	if old.up || old.failed == 0 {
		next.failed = answer.at
	}
	r.snapshot.Store(&next)
}

// forgets gives up a page that was found by looking for it, when the server has answered for ten minutes that it has none. A server that
// does not answer at all is not forgotten: that it is down is what somebody wants to know.
func (r *replica) forgets(reason scrape.Reason, now int64) bool {
	if r.configured || reason != scrape.NotFound && reason != scrape.Incompatible {
		r.vacant = 0
		return false
	}
	if r.vacant == 0 {
		r.vacant = now
	}
	if now-r.vacant < int64(forgetAfter) {
		return false
	}
	r.finder.forget()
	r.reset()
	r.target.log.Vacant()
	r.logger.Info("server has no metrics any more")
	return true
}

// broke begins anew after a panic, whose page nobody has seen whole.
func (r *replica) broke(now int64) {
	r.target.log.Panicked()
	old := r.snapshot.Load()
	r.reset()
	r.history.restarts = old.restarts
	r.snapshot.Store(&snapshot{found: old.found, failed: now, restarts: old.restarts})
}

// keepModel leaves, of each family that has series of the target's model, only those: on a server of several models a target is one of them. A
// family without any stays as it is, as that of the base model does for a target whose model is an adapter of it.
func keepModel(families []*dto.MetricFamily, model string) {
	for _, f := range families {
		if slices.ContainsFunc(f.Metric, func(m *dto.Metric) bool { return isOf(m, model) }) {
			f.Metric = slices.DeleteFunc(f.Metric, func(m *dto.Metric) bool { return !isOf(m, model) })
		}
	}
}

func isOf(m *dto.Metric, model string) bool {
	return slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == "model" && l.GetValue() == model })
}

// unspoilt are the families that each replica may tell for itself.
func unspoilt(families []*dto.MetricFamily) []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for _, f := range families {
		switch f.GetType() {
		case dto.MetricType_GAUGE, dto.MetricType_UNTYPED:
			out = append(out, f)
		case dto.MetricType_COUNTER, dto.MetricType_HISTOGRAM, dto.MetricType_SUMMARY, dto.MetricType_GAUGE_HISTOGRAM:
		}
	}
	return out
}
