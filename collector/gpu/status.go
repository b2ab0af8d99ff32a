package gpu

import (
	"cmp"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
)

// Status is how the reading of one source goes.
type Status struct {
	Source      SourceName
	URL         string    // the page of an exporter, without credentials; "" = the driver
	State       string    // one of States, or collector.StateWaiting
	Detail      string    // what is wrong
	LastSuccess time.Time // zero = there was none
	Took        time.Duration
	Samples     int // of the last look, 0 if it failed
	Devices     int // that answered
}

// Status tells how it goes, by source.
func (c *Collector) Status() []Status {
	c.mu.RLock()
	defer c.mu.RUnlock()
	now := c.deps.Clock.Now()
	out := make([]Status, 0, len(c.feeds))
	for _, f := range c.feeds {
		shown, last := f.show(now), f.log.Last()
		out = append(out, Status{
			Source: f.name, URL: f.asked, State: string(cmp.Or(shown.state, collector.StateWaiting)), Detail: shown.message,
			LastSuccess: last.Success, Took: last.Took, Samples: last.Samples, Devices: len(shown.live),
		})
	}
	return out
}
