package main

import "math"

// findings are all measurements.
type findings struct {
	idle []idle
	busy []busy
}

// prices are what things cost, as the measurements tell.
type prices struct {
	base, target, stream float64 // bytes
	trickle              float64 // processor seconds of a target and second, at a request every 30 seconds
	request, chunk       float64 // processor seconds
	scrape               float64 // processor seconds of a target and scrape
	samples, native      float64 // of a target
}

// plain tells whether a measurement is of the default form of histograms, and without the metrics of servers.
func (i *idle) plain() bool { return i.histograms == both && !i.servers }

// prices are taken from the largest fleets, beside the smallest where there is something that does not grow.
func (f *findings) prices() prices {
	var first, last *idle
	for i := range f.idle {
		if one := &f.idle[i]; one.plain() {
			if first == nil {
				first = one
			}
			last = one
		}
	}
	more := float64(last.targets - first.targets)
	p := prices{
		target:  (last.memory - first.memory) / more,
		trickle: (last.cpu - first.cpu) / more,
		scrape:  (last.scrape - first.scrape) / more,
		samples: float64(last.samples-first.samples) / more,
		native:  float64(last.native-first.native) / more,
	}
	p.base = first.memory - float64(first.targets)*p.target
	p.request, p.chunk = f.perRequest()
	p.stream = f.perStream(&p)
	return p
}

// perRequest solves for what a request and a chunk cost, of short answers and of those with the most chunks.
func (f *findings) perRequest() (request, chunk float64) {
	short, long := &f.busy[0], &f.busy[0]
	for i := range f.busy {
		if f.busy[i].chunks > long.chunks {
			long = &f.busy[i]
		}
	}
	// cpu = request * requests + chunk * chunks, twice.
	determinant := short.requests*long.chunks - long.requests*short.chunks
	request = (short.cpu*long.chunks - long.cpu*short.chunks) / determinant
	chunk = (short.requests*long.cpu - long.requests*short.cpu) / determinant
	return request, chunk
}

// perStream is how much more is held for each stream that is open.
func (f *findings) perStream(p *prices) float64 {
	most := &f.busy[0]
	for i := range f.busy {
		if f.busy[i].streams > most.streams {
			most = &f.busy[i]
		}
	}
	return max(0, most.most-p.base-p.target) / most.streams
}

// fleet is something that is wanted.
type fleet struct {
	name    string
	targets int
	rate    float64 // requests a second of each target
	tokens  float64 // of an answer
	seconds float64 // that an answer takes
	scrape  float64 // seconds between two
	native  bool    // whether histograms are
}

// need is what a fleet needs.
type need struct {
	processors, memory float64
	streams, chunks    float64 // at a time; a second
	samples            float64
	exporters          int // of two processors, each of which is kept busy for half of the time
}

// half of two processors is what an exporter may use: the rest is for what comes at the same time.
const half = 1.0

func (p *prices) need(f *fleet) need {
	n := float64(f.targets)
	requests := n * f.rate
	out := need{streams: requests * f.seconds, chunks: requests * f.tokens, samples: n * p.samples}
	if f.native {
		out.samples = n * p.native
	}
	out.processors = requests*p.request + out.chunks*p.chunk + n*p.scrape/f.scrape
	out.memory = p.base + n*p.target + out.streams*p.stream
	out.exporters = max(1, int(math.Ceil(out.processors/half)))
	return out
}

// fleets are examples. Those of more than 150 targets need native histograms.
var fleets = []fleet{
	{"a canary of 20 targets, a request every 10 s, 100 tokens", 20, 0.1, 100, 3, 15, false},
	{"500 targets, a request every 30 s, 100 tokens, native histograms", 500, 1. / 30, 100, 3, 15, true},
	{"200 targets, a request a second, 500 tokens, native histograms", 200, 1, 500, 15, 15, true},
	{"1 target, 2000 streams of 50 tokens a second", 1, 200, 500, 10, 15, false},
}
