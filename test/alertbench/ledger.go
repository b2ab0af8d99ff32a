package main

import (
	"math"
	"slices"
	"time"
)

// ledger is when alerts fired: for each alert and canary the episodes, one after the other.
type ledger map[string][][]episode

// episode is the first and the last evaluation at which an alert fired without a pause, in milliseconds.
type episode struct{ from, to int64 }

// pause is what ends an episode: no group of rules is evaluated less often, but those of regressions.
const pause = 150 * time.Second

// fires notes that an alert fires for a canary of so many.
func (l ledger) fires(alert string, number, of int, at int64) { l.goesOn(alert, number, of, at, pause) }

// goesOn is fires with another pause.
func (l ledger) goesOn(alert string, number, of int, at int64, pause time.Duration) {
	if l[alert] == nil {
		l[alert] = make([][]episode, of)
	}
	all := l[alert][number]
	if last := len(all) - 1; last >= 0 && at-all[last].to <= pause.Milliseconds() {
		all[last].to = at
		return
	}
	l[alert][number] = append(all, episode{at, at})
}

// first is how long after an instant one of the alerts first fired for a canary.
func (l ledger) first(number int, instant int64, alerts ...string) (time.Duration, bool) {
	var least int64 = -1
	for _, alert := range alerts {
		if l[alert] == nil {
			continue
		}
		for _, e := range l[alert][number] {
			if e.to >= instant {
				if at := max(e.from, instant); least < 0 || at < least {
					least = at
				}
				break
			}
		}
	}
	return time.Duration(least-instant) * time.Millisecond, least >= 0
}

// count is the number of episodes that began in a time.
func (l ledger) count(from, to int64, alerts ...string) int {
	n := 0
	for _, alert := range alerts {
		for _, canary := range l[alert] {
			for _, e := range canary {
				if e.from >= from && e.from < to {
					n++
				}
			}
		}
	}
	return n
}

// delays are how long alerts took for several incidents, and how many were never seen.
type delays struct {
	seen   []time.Duration // sorted
	missed int
}

func (d *delays) add(delay time.Duration, seen bool) {
	if !seen {
		d.missed++
		return
	}
	at, _ := slices.BinarySearch(d.seen, delay)
	d.seen = slices.Insert(d.seen, at, delay)
}

// quantile is that of all incidents, those that were not seen being the longest.
func (d *delays) quantile(q float64) (time.Duration, bool) {
	at := int(q * float64(len(d.seen)+d.missed))
	if at >= len(d.seen) {
		return 0, false
	}
	return d.seen[at], true
}

// verdict is whether alerts are no slower than they should be, the best first.
type verdict int

const (
	yes verdict = iota
	chance
	no
)

func (v verdict) String() string { return [...]string{"yes", "within chance", "**no**"}[v] }

// slower tells whether the median is above another one by more than an evaluation and a scrape take, and if so by more than chance.
func (d *delays) slower(before, evaluation time.Duration) verdict {
	above := func(q float64) bool {
		delay, seen := d.quantile(q)
		return !seen || delay > before+evaluation
	}
	// The median of all such incidents lies above this quantile of the ones that there were, 39 times in 40; of a handful nothing can be said.
	low := 0.5 - 0.98/math.Sqrt(float64(len(d.seen)+d.missed))
	switch {
	case !above(0.5):
		return yes
	case low <= 0, !above(low):
		return chance
	}
	return no
}
