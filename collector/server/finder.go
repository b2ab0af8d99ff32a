package server

import (
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

const (
	probeEvery = time.Minute // while no place has a page
	drainEvery = time.Hour   // where JSON was answered that nobody wants: asking may have taken it from somebody
	maxMisses  = 3           // of the known place, before others are asked as well
	restAfter  = time.Minute // before what is no page, or too large, is asked for again
)

// finder finds the page of a replica and remembers where it was. The place that gave the last page is asked at each look, whatever it answers, so
// that a server that comes back is seen at once; when it has failed three times in a row the others are asked as well, once a minute.
type finder struct {
	places []place
	home   int // index of the place that gave the last page; -1 = none has
	misses int // failures of it in a row
	// instants of the clock before which is not asked: any place but home, home, and each single one
	probe, rest int64
	waits       []int64
	first       scrape.Reason // why the first place failed when it was last asked
	asked       int           // places that were asked the last time
}

// newFinder makes one. A single place that is configured is at home from the start.
func newFinder(places []place, configured bool) *finder {
	f := &finder{places: places, home: -1, waits: make([]int64, len(places))}
	if configured {
		f.home = 0
	}
	return f
}

// find asks, and gives what the page's place answered or, if there is none, the failure that says most; nil = nobody was to be asked now.
func (f *finder) find(now int64, ask func(*place) *reading) *reading {
	f.asked = 0
	failure := f.askHome(now, ask)
	if failure != nil && failure.err == nil {
		return failure
	}
	if f.home >= 0 && (f.misses < maxMisses || len(f.places) == 1) || now < f.probe {
		return failure
	}
	f.probe = now + int64(probeEvery)
	for i := range f.places {
		if i == f.home || now < f.waits[i] || !f.worthAsking(i) {
			continue
		}
		r := f.at(i, now, ask)
		if r.err == nil {
			f.home, f.misses, f.rest = i, 0, 0
			return r
		}
		// Of places that are not there the first one's answer is told: it may say that metrics are switched off.
		if failure == nil || scrape.ReasonOf(failure.err) == scrape.NotFound && scrape.ReasonOf(r.err) != scrape.NotFound {
			failure = r
		}
	}
	return failure
}

// askHome asks the place that gave the last page; nil = there is none, or it rests.
func (f *finder) askHome(now int64, ask func(*place) *reading) *reading {
	if f.home < 0 || now < f.rest {
		return nil
	}
	r := f.at(f.home, now, ask)
	if r.err == nil {
		f.misses = 0
		return r
	}
	f.misses++
	if reason := scrape.ReasonOf(r.err); reason == scrape.Incompatible || reason == scrape.TooLarge {
		f.rest = now + int64(restAfter)
	}
	return r
}

// at asks one place.
func (f *finder) at(i int, now int64, ask func(*place) *reading) *reading {
	f.asked++
	r := ask(&f.places[i])
	if i == 0 {
		f.first = ""
		if r.err != nil {
			f.first = scrape.ReasonOf(r.err)
		}
	}
	if r.err != nil && r.json {
		f.waits[i] = now + int64(drainEvery)
	}
	return r
}

// worthAsking tells whether what the first place answered lets expect a page there.
func (f *finder) worthAsking(i int) bool {
	after := f.places[i].after
	return after == nil || slices.Contains(after, f.first)
}

// forget begins anew.
func (f *finder) forget() { f.home, f.misses, f.rest = -1, 0, 0 }
