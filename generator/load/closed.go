package load

import (
	"slices"
	"time"
)

// closed is workers, each of which asks again as soon as it has its answer, but not sooner than minInterval after it asked before. What
// is wanted so depends on the server: one that stalls is not asked, and the stall is seen once per worker.
type closed struct {
	ready       []int64 // instants at which idle workers ask, ascending
	minInterval int64
	popped      int64 // latest instant handed out
	surplus     int   // requests that an earlier load has begun beyond the number of workers: their ends bring none back
}

// defaultMinInterval holds where min_interval is not set.
const defaultMinInterval = time.Second

func newClosed(c *Config, o *Origin, _ Recording) Process {
	interval := c.MinInterval
	if interval == 0 {
		interval = defaultMinInterval
	}
	return &closed{ready: make([]int64, o.Shard.Share(max(c.Concurrency, 1))), minInterval: int64(interval)}
}

// Peek implements Process.
func (c *closed) Peek() (ready int64, ok bool) {
	if len(c.ready) == 0 {
		return 0, false
	}
	return c.ready[0], true
}

// Pop implements Process.
func (c *closed) Pop() Arrival {
	c.popped = c.ready[0]
	c.ready = slices.Delete(c.ready, 0, 1)
	return Arrival{Sched: c.popped, Ready: c.popped}
}

// Ended implements Process.
func (c *closed) Ended(_ Arrival, began, ended int64) {
	at := max(ended, began+c.minInterval, c.popped)
	i, _ := slices.BinarySearch(c.ready, at)
	c.ready = slices.Insert(c.ready, i, at)
}

// Skip implements Process. Workers are never late: each waits for its own answer, however long. After a pause they ask at once.
func (c *closed) Skip(now int64, all bool) int64 {
	if all {
		for i := range c.ready {
			c.ready[i] = max(c.ready[i], now)
		}
	}
	return 0
}

// succeed implements heir: requests that still run are workers at work, and those that idled go on doing so.
func (c *closed) succeed(before Process, shift int64, open int) {
	workers := len(c.ready)
	c.surplus = max(0, open-workers)
	c.ready = c.ready[:max(0, workers-open)]
	if b, ok := before.(*closed); ok {
		for i := range min(len(c.ready), len(b.ready)) {
			c.ready[i] = max(0, b.ready[i]-shift)
		}
		slices.Sort(c.ready)
	}
}

// inheritedEnded implements heir.
func (c *closed) inheritedEnded(a Arrival, began, ended int64) {
	if c.surplus > 0 {
		c.surplus--
		return
	}
	c.Ended(a, began, ended)
}
