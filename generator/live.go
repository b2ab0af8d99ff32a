package generator

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// live is what the target says of itself at a scrape.
func (t *Target) live() metrics.Live {
	now := t.deps.Clock.Now()
	wall := t.deps.Clock.Wall(now)
	counted, schedule := t.totals.now()
	live := metrics.Live{
		Paused:          t.paused(),
		BackoffActive:   t.current.Load().backoff.Active(now),
		BudgetExhausted: t.spent(wall),
		Sessions:        counted.sessions.Active,
		EndedSessions: map[metrics.SessionEnd]int64{
			metrics.SessionCompleted: counted.sessions.Completed, metrics.SessionFailed: counted.sessions.Failed,
			metrics.SessionTruncated: counted.sessions.Truncated,
		},
		Passes:      counted.passes,
		SkippedRows: counted.skipped,
	}
	if schedule != nil {
		live.RateHz, _ = schedule.Rate(now)
	}
	if account := t.account.Load(); account != nil {
		for _, use := range account.State(wall) {
			live.BudgetUsed = append(live.BudgetUsed, use.Used)
		}
	}
	return live
}

// spent tells whether a budget has refused the last arrival, and its hour or day is not over.
func (t *Target) spent(wall time.Time) bool {
	own, shared := t.account.Load(), t.deps.budgets()
	return own != nil && own.Exhausted(wall) || shared != nil && shared.Exhausted(wall)
}
