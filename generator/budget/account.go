package budget

import (
	"math"
	"time"
)

// Account is the budget of one target, or of all together. It belongs to a ledger, whose lock guards it.
type Account struct {
	ledger  *Ledger
	config  Config
	zone    *time.Location
	price   price
	windows [periods]window
	// refusedUntil is when the period ends for which a request was refused last, in Unix seconds; 0 = the last one was not refused.
	refusedUntil int64
}

// window is the running period of an account.
type window struct {
	end   int64   // Unix seconds
	limit amounts // MaxInt64 = none
	used  amounts // settled, and reserved
	// opening is what a crashed process may have used of the period after the recorded one.
	opening amounts
	// left is the period that a clock which went far back has left, and what was used of it.
	left struct {
		end  int64
		used amounts
	}
	// largest is the most that a request has needed, awaited the sum of what those need that wait for the file.
	largest, awaited amounts
	recorded         record
}

// Use is what is used of one limit in the running period, reserved included. Money is in dollars.
type Use struct {
	Kind        Kind
	Period      Period
	Used, Limit float64
}

// State gives the limits that are set and what is used of them.
func (a *Account) State(wall time.Time) []Use {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.roll(wall)
	return a.uses()
}

func (a *Account) uses() []Use {
	var uses []Use
	for p := range a.windows {
		w := &a.windows[p]
		for k := range kinds {
			if w.limited(k) {
				uses = append(uses, Use{Kind: Kinds[k], Period: Periods[p], Used: k.units(w.used[k]), Limit: k.units(w.limit[k])})
			}
		}
	}
	return uses
}

// Exhausted tells whether the last request was refused and the period for which it was still runs.
func (a *Account) Exhausted(wall time.Time) bool {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	return wall.Unix() < a.refusedUntil
}

// roll makes the windows those that wall lies in.
func (a *Account) roll(wall time.Time) {
	for p := range a.windows {
		a.windows[p].roll(period(p), wall, a.zone)
	}
}

// roll begins a new period when the old one is over. A clock that goes back does not: the period goes on until the clock reaches its end
// again. Only where that would be more than a period ahead was the clock wrong before, or is now, and what is used counts for the period
// that it shows; should it come back, what was used before counts again.
func (w *window) roll(p period, wall time.Time, zone *time.Location) {
	now := wall.Unix()
	switch {
	case now >= w.end:
		w.end, w.used = p.end(wall, zone), w.opening
		if w.end == w.left.end {
			w.used = w.left.used
		}
	case now < w.end-2*p.length():
		w.left.end, w.left.used = w.end, w.used
		w.end = p.end(wall, zone)
	}
	w.opening = amounts{}
}

func (w *window) limited(k kind) bool { return w.limit[k] != math.MaxInt64 }

// fits tells whether so much more keeps all limits.
func (w *window) fits(n *amounts) bool {
	for k := range kinds {
		if w.limited(k) && w.used[k]+n[k] > w.limit[k] {
			return false
		}
	}
	return true
}

// add changes what is used; sign is 1 or -1.
func (w *window) add(n *amounts, sign int64) {
	for k := range kinds {
		w.used[k] = add(w.used[k], sign*n[k])
	}
}

// take reserves n.
func (w *window) take(n *amounts) {
	w.add(n, 1)
	for k := range kinds {
		w.largest[k] = max(w.largest[k], n[k])
	}
}

// await changes what is needed by those that wait for the file; sign is 1 or -1.
func (w *window) await(n *amounts, sign int64) {
	for k := range kinds {
		w.awaited[k] = add(w.awaited[k], sign*n[k])
		w.largest[k] = max(w.largest[k], n[k])
	}
}
