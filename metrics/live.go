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

func (t *Target) addLive() {
	l := &t.at.live
	l.rate = t.add("aiperf_load_target_rate", Gauge)
	l.paused = t.add("aiperf_load_paused", Gauge)
	l.backoff = t.add("aiperf_backoff_active", Gauge)
	for _, limit := range t.info.Budget {
		l.budgetUsed = append(l.budgetUsed, t.add("aiperf_budget_used", Gauge, limit.Kind, limit.Period))
		t.values[t.add("aiperf_budget_limit", Gauge, limit.Kind, limit.Period)] = limit.Limit
	}
	l.exhausted = t.add("aiperf_budget_exhausted", Gauge)
	l.sessions = t.add("aiperf_sessions_active", Gauge)
	l.ended = addEach(t, "aiperf_sessions_total", Counter, SessionEnds)
	l.passes = t.add("aiperf_replay_passes_total", Counter)
	l.skipped = t.add("aiperf_dataset_rows_skipped_total", Counter)
}

// refresh asks the target what it says of itself now. The lock is not held while it is asked.
func (t *Target) refresh() {
	if t.info.Live == nil {
		return
	}
	live := t.info.Live()
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.at.live
	t.values[l.paused] = boolValue(live.Paused)
	t.values[l.backoff] = boolValue(live.BackoffActive)
	t.values[l.exhausted] = boolValue(live.BudgetExhausted)
	t.values[l.rate] = 0
	if t.running(&live) == StateRunning {
		t.values[l.rate] = live.RateHz
	}
	for i, used := range live.BudgetUsed {
		t.values[l.budgetUsed[i]] = used
	}
	t.values[l.sessions] = float64(live.Sessions)
	for end, n := range live.EndedSessions {
		t.values[l.ended[end]] = float64(n)
	}
	t.values[l.passes] = float64(live.Passes)
	t.values[l.skipped] = float64(live.SkippedRows)
}

// running is the target's state, with what it says of itself.
func (t *Target) running(live *Live) TargetState {
	if t.state == StateRunning || t.state == StatePaused {
		t.state = StateRunning
		if live.Paused {
			t.state = StatePaused
		}
	}
	return t.state
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
	if !value.Defined || !slices.Contains(LimitedResources, resource) {
		return
	}
	at, ok := t.limits[name+resource]
	if !ok {
		at = t.add(name, Gauge, resource)
		t.limits[name+resource] = at
	}
	t.values[at] = value.V
}
