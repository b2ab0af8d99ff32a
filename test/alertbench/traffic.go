package main

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// traffic is what a canary sends and how it fares: requests evenly spaced, each of them bad by chance with half of the error budget, or all
// of them in bursts that cost half of the budget.
type traffic struct {
	rate     float64       // requests per second
	budget   float64       // share of the requests that may be bad
	bursty   bool          // bad requests come in outages of a minute, instead of one by one
	length   time.Duration // of the series, from the first scrape
	incident incident
}

// incident is what goes wrong, until the end of the series.
type incident struct {
	at     time.Duration // from the first scrape
	times  float64       // bad requests, as a multiple of the budget; 0: no incident
	outage bool          // all requests fail, none is slow
}

// burst is how long an outage of a bursty canary takes.
const burst = time.Minute

// spell is a time in which requests are bad with one probability.
type spell struct {
	end    float64 // seconds from the start
	bad    float64
	failed bool // bad requests are errors, which have no latency
}

// spells are what becomes of the requests, one after the other, to the end of the series.
func (t *traffic) spells(random *rand.Rand) iter.Seq[spell] {
	return func(yield func(spell) bool) {
		end, quiet := t.length.Seconds(), t.length.Seconds()
		if t.incident.times > 0 || t.incident.outage {
			quiet = t.incident.at.Seconds()
		}
		if t.bursty {
			// Gaps are such that bursts take half of the budget.
			gap := burst.Seconds() * (2/t.budget - 1)
			for at := random.ExpFloat64() * gap; at < quiet; at += burst.Seconds() + random.ExpFloat64()*gap {
				if !yield(spell{end: at}) || !yield(spell{end: min(at+burst.Seconds(), quiet), bad: 1}) {
					return
				}
			}
			if !yield(spell{end: quiet}) {
				return
			}
		} else if !yield(spell{end: quiet, bad: t.budget / 2}) {
			return
		}
		if quiet < end {
			bad := min(1, t.incident.times*t.budget)
			if t.incident.outage {
				bad = 1
			}
			yield(spell{end: end, bad: bad, failed: t.incident.outage})
		}
	}
}

// canary is what was scraped of one SLO of one target.
type canary struct {
	start int64   // time of the first scrape, milliseconds
	every int64   // from scrape to scrape, milliseconds
	phase float64 // seconds from the start of the traffic to the first scrape
	first float64 // seconds from the start of the traffic to the first request
	rate  float64
	// At each scrape: bad requests so far, those of them without a latency, and how many were bad one after the other.
	bad, failed, run []uint32
}

// observe makes the traffic, requests and scrapes at a random phase, and keeps what is scraped.
func (t *traffic) observe(start time.Time, every time.Duration, random *rand.Rand) *canary {
	scrapes := int(t.length / every)
	c := &canary{
		every: every.Milliseconds(), rate: t.rate, phase: float64(random.Int64N(every.Milliseconds())) / 1000, first: random.Float64() / t.rate,
		bad: make([]uint32, scrapes), failed: make([]uint32, scrapes), run: make([]uint32, scrapes),
	}
	c.start = start.UnixMilli() + int64(math.Round(c.phase*1000))
	var bad, failed, run uint32
	scrape, last := 0, int64(-2)
	upTo := func(request int64) { // scrapes before the answer of this request
		for ; scrape < scrapes && c.requests(scrape) <= request; scrape++ {
			c.bad[scrape], c.failed[scrape] = bad, failed
			if last == c.requests(scrape)-1 {
				c.run[scrape] = run
			}
		}
	}
	request := int64(0)
	for s := range t.spells(random) {
		end := c.before(s.end)
		for request += skip(s.bad, random); request < end; request += 1 + skip(s.bad, random) {
			upTo(request)
			if request != last+1 {
				run = 0
			}
			run, last = run+1, request
			bad++
			if s.failed {
				failed++
			}
		}
		request = end
	}
	upTo(math.MaxInt64)
	return c
}

// skip is the number of good requests before the next bad one.
func skip(bad float64, random *rand.Rand) int64 {
	switch {
	case bad >= 1:
		return 0
	case bad <= 0:
		return math.MaxInt32
	}
	return int64(math.Log(1-random.Float64()) / math.Log1p(-bad))
}

// requests is the number of requests that a scrape sees.
func (c *canary) requests(scrape int) int64 {
	return c.before(c.phase + float64(scrape)*float64(c.every)/1000)
}

// before is the number of requests until a time in seconds from the start.
func (c *canary) before(seconds float64) int64 {
	return max(0, int64(math.Floor((seconds-c.first)*c.rate))+1)
}

// at is the time of a scrape in milliseconds.
func (c *canary) at(scrape int) int64 { return c.start + int64(scrape)*c.every }
