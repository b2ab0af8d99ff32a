package load

import "math"

// newGamma has independent intervals of the Gamma law with the shape k = smoothness and the mean 1/rate: their standard deviation is the
// mean divided by sqrt(k). Parts of it would not add up to it, so that one shard carries the whole of a target.
func newGamma(c *Config, o *Origin, _ Recording) Process {
	switch {
	case c.varies():
		return newVarying(c, o)
	case evenShare(c, o) == 0:
		return never{}
	}
	return newOpen(newSteady(c.Hz(), newGammaIntervals(c, o)))
}

// newGammaIntervals draws intervals with the mean 1 (Marsaglia and Tsang, A simple method for generating gamma variables, 2000).
func newGammaIntervals(c *Config, o *Origin) func() float64 {
	random := o.random("load.gamma")
	shape := c.shape()
	// The method needs a shape of at least 1. Below, a draw of shape+1 times U^(1/shape) has the law of shape.
	d := shape - 1.0/3
	if shape < 1 {
		d++
	}
	factor := 1 / math.Sqrt(9*d)
	return o.resume(func() float64 {
		for {
			x := random.NormFloat64()
			v := 1 + factor*x
			if v <= 0 {
				continue
			}
			v *= v * v
			if math.Log(1-random.Float64()) >= x*x/2+d*(1-v+math.Log(v)) {
				continue
			}
			draw := d * v / shape
			if shape < 1 {
				draw *= math.Pow(1-random.Float64(), 1/shape)
			}
			return draw
		}
	})
}

// shape is the shape of the intervals of gamma.
func (c *Config) shape() float64 {
	switch {
	case c.Smoothness != 0:
		return c.Smoothness
	case c.Burstiness != 0:
		return c.Burstiness
	}
	return 1
}
