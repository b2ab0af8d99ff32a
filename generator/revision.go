package generator

import (
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// revision is a change of one target, prepared and not made.
type revision struct {
	target *Target
	config *TargetConfig
	next   *generation // nil = the present one goes on
	// follows: the schedule ends, and one of the new load takes over.
	follows bool
}

// newRevision prepares a change beside what runs.
func newRevision(t *Target, config *TargetConfig, deps *Deps) (*revision, error) {
	old := t.config.Load()
	r := &revision{target: t, config: config, follows: t.leaving.Load() || !config.sameArrivals(old)}
	// A recording begins anew with its target: how far the schedule before has read in it, another cannot know.
	anew := t.leaving.Load() && config.replays()
	if config.sameGeneration(old) && !t.newest.stale() && !anew {
		return r, nil
	}
	var err error
	r.next, err = newGeneration(config, deps, t.newest, anew)
	return r, err
}

// stale tells that a generation has to be replaced though the configuration is the same.
func (g *generation) stale() bool { return g.fingerprint != nil && g.fingerprint.Dismissed() }

// discard undoes the preparation.
func (r *revision) discard() {
	if r.next != nil {
		r.next.release()
	}
}

// revise makes a change. Limits hold at once; the loop takes the rest between two arrivals.
func (t *Target) revise(r *revision) {
	old, c := t.config.Load(), r.config
	t.revisions.Add(1)
	if r.next != nil {
		t.totals.enter(r.next.content)
		t.newest = r.next
	}
	if !sameBudget(&old.Budget, &c.Budget) {
		t.fund(&c.Budget)
	}
	now := t.deps.Clock.Now()
	t.newest.backoff.Configure(&c.Load.Backoff)
	if r.next != nil && (!c.sameServer(old) || !c.Client.Same(&old.Client)) {
		t.newest.backoff.Reconfigured(now)
	}
	if old.pausedByFile() != c.pausedByFile() {
		t.pause(c.pausedByFile())
	}
	t.gate.Configure(&c.Load, now)
	info := t.info(c)
	info.UsageRefused = t.newest.usageRefused.Load()
	t.series.Update(info)
	t.hand(r)
	t.nudge()
}

// hand gives a revision to the loop. Without one it is taken at once: a loop begins with the configuration of what it finds, or is handed both.
func (t *Target) hand(r *revision) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.config.Store(r.config)
	if t.looping {
		t.pending = append(t.pending, r)
		return
	}
	t.adopt(r)
}

// adopt begins a new generation.
func (t *Target) adopt(r *revision) {
	if r.next != nil {
		t.current.Swap(r.next).release()
	}
}

// takeRevisions makes the changes that were handed to the loop; false: there are none. sends: the old schedule still wants what is due.
func (l *loop) takeRevisions(sends bool) bool {
	t := l.target
	t.mu.Lock()
	taken := t.pending
	t.pending = nil
	t.mu.Unlock()
	if len(taken) == 0 {
		return false
	}
	l.takeEnded()
	if now := t.deps.Clock.Now(); sends {
		l.takeQueued(now)
		l.arrive(now)
	}
	for _, r := range taken {
		l.take(r)
	}
	return true
}

// take makes one change.
func (l *loop) take(r *revision) {
	before, old := l.target.current.Load(), l.config
	l.config = r.config
	if r.next != nil {
		if old.replays() && r.next.content != before.content {
			l.pin(before)
		}
		l.target.adopt(r)
		if r.next.content != before.content || r.next.url != before.url {
			l.calibrate(r.next, 0)
		}
	}
	c, content := &r.config.Load, l.target.current.Load().content
	content.startUsers(r.config)
	if r.follows {
		l.schedule = l.schedule.Follow(c, l.origin(), content.recording(c))
		l.target.totals.follow(l.schedule)
	} else {
		l.schedule.Configure(c)
	}
	if old.Load.Cancel != c.Cancel || old.Seed != r.config.Seed {
		l.cancellation = load.NewCancellation(&c.Cancel, r.config.Seed, r.config.Name)
	}
}

// pin is a generation by which arrivals are asked that were queued before the present one: they are turns of its recording, of which no
// other knows.
type pin struct {
	generation *generation
	queued     int
}

// pin keeps a generation for what is queued and not kept for an earlier one.
func (l *loop) pin(g *generation) {
	queued := l.gate.Queued()
	for _, p := range l.pins {
		queued -= p.queued
	}
	if queued > 0 && g.acquire() {
		l.pins = append(l.pins, pin{g, queued})
	}
}

// unpin notes that the oldest of the arrivals has left the queue for which a generation is kept.
func (l *loop) unpin() {
	if l.pins[0].queued--; l.pins[0].queued == 0 {
		l.pins[0].generation.release()
		l.pins = l.pins[1:]
	}
}
