package load

// probe has one arrival at each point of a grid that is fixed to the wall clock. The point at which the request before still runs is an
// overlap: a probe never meets itself.
type probe struct {
	*open
	running bool
}

func newProbe(c *Config, o *Origin, _ Recording) Process {
	return &probe{open: newOpen(newPoints(c, o, o.Shard.Index, o.Shard.count()))}
}

// Pop implements Process.
func (p *probe) Pop() Arrival {
	a := p.open.Pop()
	a.Overlap = p.running
	p.running = true
	return a
}

// Ended implements Process.
func (p *probe) Ended(Arrival, int64, int64) { p.running = false }
