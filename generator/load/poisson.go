package load

import (
	"math/rand/v2"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
)

// poisson has independent exponential intervals with the mean 1/rate. The sum of the intervals is kept as whole nanoseconds and a
// fraction below one, because a float64 of nanoseconds loses them after a hundred days.
type poisson struct {
	random   *rand.Rand
	mean     float64 // nanoseconds
	sum      int64
	fraction float64 // [0, 1)
}

func newPoisson(c *Config, o *Origin) Process {
	return &poisson{
		random: rand.New(rand.NewChaCha8(seed.Derive(o.Seed, "load.poisson", o.Target))),
		mean:   float64(time.Second) / c.Hz(),
	}
}

// Next implements Process. The first arrival is one interval after the anchor, which spreads targets by itself.
func (p *poisson) Next() int64 {
	interval := p.random.ExpFloat64()*p.mean + p.fraction
	whole := int64(interval)
	p.sum += whole
	p.fraction = interval - float64(whole)
	return p.sum
}
