package main

import (
	"math"
	"slices"
	"time"
)

// measures are what is told of one trial. Times are in seconds, memory in bytes; NaN where there is no such number.
type measures struct {
	cpu      float64 // of the whole run, start included
	perChunk float64 // CPU for each chunk beyond those of the start
	reached  float64 // chunks per second
	offered  float64 // share of the offered load that was reached
	perCPU   float64 // chunks per second of CPU
	peak     float64
	stream   float64 // memory per open stream, above the peak of the start
	begun    float64 // from the start of the program until its first request was at the server
}

// measure derives them from a trial and what the tool took with next to no load.
func measure(s *scenario, t, start *trial) measures {
	chunks := float64(t.known.chunks() - start.known.chunks())
	m := measures{
		cpu:      t.used.CPU,
		perChunk: (t.used.CPU - start.used.CPU) / chunks,
		reached:  t.known.reached(s.answer()),
		offered:  math.NaN(),
		peak:     float64(t.used.Peak),
		stream:   float64(t.used.Peak-start.used.Peak) / float64(t.known.PeakOpen),
		begun:    time.Duration(t.known.First - t.used.Started).Seconds(),
	}
	m.perCPU = 1 / m.perChunk
	if m.stream <= 0 { // a tool whose start takes more than its streams
		m.stream = math.NaN()
	}
	if !s.unpaced() {
		m.offered = m.reached / s.offered()
	}
	return m
}

// result is a contest with its measures, one for each round.
type result struct {
	contest
	measures []measures
}

func newResult(s *scenario, c *contest) result {
	r := result{contest: *c}
	for i := range c.rounds {
		r.measures = append(r.measures, measure(s, &c.rounds[i], &c.start))
	}
	return r
}

// spread sums up one number of all rounds.
func (r *result) spread(of func(*measures) float64) spread {
	values := make([]float64, len(r.measures))
	for i := range r.measures {
		values[i] = of(&r.measures[i])
	}
	return newSpread(values)
}

// times is how many times the CPU per chunk of another tool it takes, round by round.
func (r *result) times(other *result) spread {
	ratios := make([]float64, min(len(r.measures), len(other.measures)))
	for i := range ratios {
		ratios[i] = r.measures[i].perChunk / other.measures[i].perChunk
	}
	return newSpread(ratios)
}

// spread is the median of the values that are numbers with the least and the greatest of them; NaN of none.
type spread struct{ median, least, most float64 }

func newSpread(values []float64) spread {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(v) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(v)
	return spread{median: (v[(len(v)-1)/2] + v[len(v)/2]) / 2, least: v[0], most: v[len(v)-1]}
}
