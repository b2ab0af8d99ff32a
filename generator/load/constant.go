package load

// newConstant has one arrival every period. With a rate that changes they lie evenly in operational time.
func newConstant(c *Config, o *Origin, _ Recording) Process {
	if c.varies() {
		return newVarying(c, o)
	}
	return newOpen(newPoints(c, o, o.Shard.Index, o.Shard.count()))
}

// points is every step-th point of a grid. Each instant is computed from the number of its point, so that no error adds up.
type points struct {
	grid grid
	n    uint64 // number of the next point
	step uint64
}

// newPoints takes the points of the target's grid whose number leaves the remainder index when divided by step, from the anchor on.
func newPoints(c *Config, o *Origin, index, step int) *points {
	g, first := c.grid(o)
	p := &points{grid: g, step: uint64(step)}
	p.n = p.ceil(first, uint64(index))
	return p
}

// ceil is the first number from n on that leaves the remainder index.
func (p *points) ceil(n, index uint64) uint64 { return n + (index+p.step-n%p.step)%p.step }

// Next implements stream.
func (p *points) Next() (at int64, ok bool) {
	at = p.grid.at(p.n)
	p.n += p.step
	return at, true
}

// skip implements skipper by arithmetic.
func (p *points) skip(before int64) int64 {
	n := p.ceil(p.grid.before(before), p.n%p.step)
	skipped := (n - p.n) / p.step
	p.n = n
	return int64(skipped)
}
