package load

import (
	"math/rand/v2"

	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
)

// newPoisson has independent exponential intervals with the mean 1/rate. Of several shards each draws its own part of the rate, with a
// seed of its own: the sum of independent Poisson processes is one.
func newPoisson(c *Config, o *Origin, _ Recording) Process {
	if c.varies() {
		return newVarying(c, o)
	}
	return newOpen(newSteady(c.Hz()*evenShare(c, o), newExponential(o)))
}

// newExponential draws exponential intervals with the mean 1.
func newExponential(o *Origin) func() float64 { return o.resume(o.random("load.poisson").ExpFloat64) }

// resume has intervals begin with what is left of the one of the load before.
func (o *Origin) resume(draw func() float64) func() float64 {
	if o.left == nil {
		return draw
	}
	return func() float64 {
		left := *o.left
		if *o.left = -1; left >= 0 {
			return left
		}
		return draw()
	}
}

// random is a generator for one purpose, of this target and shard.
func (o *Origin) random(identifier string) *rand.Rand {
	if o.Shard.Count > 1 {
		identifier += " " + o.Shard.String()
	}
	return rand.New(rand.NewChaCha8(seed.Derive(o.Seed, identifier, o.Target)))
}
