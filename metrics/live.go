package metrics

import "slices"

// liveSlots are the places of what a target is asked for at each scrape.
type liveSlots struct {
	rate, paused, backoff     slot
	budgetUsed                []slot // in the order of Features.Budget
	exhausted                 slot
	sessions, passes, skipped slot
	ended                     map[SessionEnd]slot
}

func (b *board) addLive() {
	l := &b.at.live
	l.rate = b.add("aiperf_load_target_rate", Gauge)
	l.paused = b.add("aiperf_load_paused", Gauge)
	l.backoff = b.add("aiperf_backoff_active", Gauge)
	for _, limit := range b.info.Budget {
		l.budgetUsed = append(l.budgetUsed, b.add("aiperf_budget_used", Gauge, limit.Kind, limit.Period))
		b.configure(limit.Limit, "aiperf_budget_limit", limit.Kind, limit.Period)
	}
	l.exhausted = b.add("aiperf_budget_exhausted", Gauge)
	l.sessions = b.add("aiperf_sessions_active", Gauge)
	l.ended = addEach(b, "aiperf_sessions_total", Counter, SessionEnds)
	l.passes = b.add("aiperf_replay_passes_total", Counter)
	l.skipped = b.add("aiperf_dataset_rows_skipped_total", Counter)
}

// liveCounts is what the target has said of itself that it has counted: a series that begins later does not show what was before it.
type liveCounts struct {
	ended           map[SessionEnd]int64
	passes, skipped int64
}

// refresh asks the target what it says of itself now. Its lock is not held while it is asked.
func (t *Target) refresh() {
	t.asking.Lock()
	defer t.asking.Unlock()
	t.mu.Lock()
	ask, updates := t.info.Live, t.updates
	t.mu.Unlock()
	if ask == nil {
		return
	}
	live := ask()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.updates == updates { // else it tells of what the target was
		t.tell(&live)
	}
}

// tell shows what the target says of itself.
func (t *Target) tell(live *Live) {
	l := &t.at.live
	t.values[l.paused] = boolValue(live.Paused)
	t.values[l.backoff] = boolValue(live.BackoffActive)
	t.values[l.exhausted] = boolValue(live.BudgetExhausted)
	t.derive(live)
	t.values[l.rate] = 0
	if t.state.wantsArrivals() {
		t.values[l.rate] = live.RateHz
	}
	for i, at := range l.budgetUsed[:min(len(l.budgetUsed), len(live.BudgetUsed))] { // one of them may be about to change
		t.values[at] = live.BudgetUsed[i]
	}
	t.values[l.sessions] = float64(live.Sessions)
	for end, n := range live.EndedSessions {
		t.values[l.ended[end]] += float64(n - t.told.ended[end])
		t.told.ended[end] = n
	}
	t.values[l.passes] += float64(live.Passes - t.told.passes)
	t.values[l.skipped] += float64(live.SkippedRows - t.told.skipped)
	t.told.passes, t.told.skipped = live.Passes, live.SkippedRows
}

// derive finds the target's state in what it says of itself.
func (t *Target) derive(live *Live) {
	switch {
	case t.state == StateDraining || t.state == StateFailed:
	case live.Paused:
		t.state = StatePaused
	case live.BudgetExhausted:
		t.state = StateBudget
	case live.BackoffActive:
		t.state = StateBackoff
	case t.state != StateStarting:
		t.state = StateRunning
	}
}

// The series of a server's rate limits.
const (
	limitQuota     = "aiperf_rate_limit_quota"
	limitRemaining = "aiperf_rate_limit_remaining"
	limitReset     = "aiperf_rate_limit_reset_seconds"
)

// countLimits shows what a server says about its limits. The series exist from the first answer that tells them: before, nothing is known.
func (t *Target) countLimits(limits []RateLimit) {
	for i := range limits {
		l := &limits[i]
		t.countLimit(limitQuota, l.Resource, l.Limit)
		t.countLimit(limitRemaining, l.Resource, l.Remaining)
		t.countLimit(limitReset, l.Resource, l.Reset)
	}
}

func (t *Target) countLimit(name, resource string, value Value) {
	if value.Defined && slices.Contains(LimitedResources, resource) {
		at := t.addLimit(limitSeries{name, resource}) // may move the values
		t.values[at] = value.V
	}
}

// limitSeries is a series of a server's rate limits.
type limitSeries struct{ name, resource string }

// addLimit finds or makes the child of a limit.
func (b *board) addLimit(of limitSeries) slot {
	at, ok := b.limits[of]
	if !ok {
		at = b.add(of.name, Gauge, of.resource)
		b.limits[of] = at
	}
	return at
}
