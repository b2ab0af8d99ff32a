package generator

import (
	"slices"
	"sync"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

// totals are what the workloads and schedules of a target count, of which each change may bring new ones: counters never go back.
type totals struct {
	mu       sync.Mutex
	contents []*content // that are in use
	schedule *load.Schedule
	past     counts // of those that are gone
}

// counts are those of one moment.
type counts struct {
	sessions workload.Sessions
	passes   int64
	skipped  int64
}

// enter adds a content that comes into use, unless it is there already.
func (t *totals) enter(c *content) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.totals = t
	if !slices.Contains(t.contents, c) {
		t.contents = append(t.contents, c)
	}
}

// leave takes a content away that nobody uses any more.
func (t *totals) leave(c *content) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.contents = slices.DeleteFunc(t.contents, func(other *content) bool { return other == c })
	t.past.add(c)
	t.past.sessions.Active = 0 // those that have not ended never will
}

// follow takes the schedule of a load that takes over.
func (t *totals) follow(s *load.Schedule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.schedule != nil {
		t.past.passes += t.schedule.Passes()
	}
	t.schedule = s
}

// now is the sum of all, and the schedule of the last loop that ran, nil = none has.
func (t *totals) now() (counts, *load.Schedule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.past
	for _, c := range t.contents {
		sum.add(c)
	}
	if t.schedule != nil {
		sum.passes += t.schedule.Passes()
	}
	return sum, t.schedule
}

func (n *counts) add(c *content) {
	s := c.Sessions()
	n.sessions.Active += s.Active
	n.sessions.Completed += s.Completed
	n.sessions.Failed += s.Failed
	n.sessions.Truncated += s.Truncated
	n.skipped += c.SkippedRows()
}
