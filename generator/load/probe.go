package load

// probe has one arrival at each point of a grid that is fixed to the wall clock. The point at which the request before still runs is an
// overlap: a probe never meets itself.
type probe struct {
	*open
	running   bool
	inherited int // requests that an earlier load has begun and that still run
}

func newProbe(c *Config, o *Origin, _ Recording) Process {
	return &probe{open: newOpen(newPoints(c, o, o.Shard.Index, o.Shard.count()))}
}

// Pop implements Process.
func (p *probe) Pop() Arrival {
	a := p.open.Pop()
	a.Overlap = p.running || p.inherited > 0
	p.running = p.running || !a.Overlap
	return a
}

// Ended implements Process.
func (p *probe) Ended(Arrival, int64, int64) { p.running = false }

// succeed implements heir.
func (p *probe) succeed(_ Process, _ int64, open int) { p.inherited = open }

// inheritedEnded implements heir.
func (p *probe) inheritedEnded(Arrival, int64, int64) { p.inherited-- }
