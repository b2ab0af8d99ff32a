package load

import (
	"cmp"
	"slices"
)

// users has evenly spaced arrivals, each of which belongs to the next of a fixed number of users: a user asks once a round. What is due
// while the user still waits for an answer is held until it has come; what is due while one is held already is an overlap.
//
// The load starts in the middle of life, as if it had run for ever. A session of T turns would be asked in T rounds, and the sessions of
// the users are of all ages: of those that began in this round, in the round before, and so on, equally many. With life L = T-1, at least
// 1, user i of U is (U-i)*L/U rounds old at the start. The whole part is the number of turns that the user has had, TurnsLeft tells how
// many remain; the rest is the part of a round since the last one, hence the place in the round at which the next one is due. The places of
// all users are different if U and L have no common divisor; if they have one, the users are dealt to them by a step that has none with U.
// User 0 has just had the last turn: the new user U+1 took that place, has the first turn of the load, and begins a session. With U = 5
// and T = 3 the users ask in the order 6, 4, 2, 5, 3, where users are counted from 1.
//
// A user whose session is over begins another one and keeps the number: lengths of sessions differ, and only the workload knows them.
type users struct {
	ticks skipper
	drawn int64 // latest instant of ticks
	tick  int64 // the next instant at which a user is due: drawn, or earlier
	more  bool
	place int    // of that user in the round
	round []user // in the order in which they ask

	places map[uint64]int // in the round, by number; of those that are ours
	freed  []*user        // whose turn waited and can be handed out, by ready
	popped int64          // latest instant handed out
}

// user is what is known of one.
type user struct {
	number  uint64
	ours    bool  // and not another shard's
	running bool  // waits for an answer
	waits   bool  // has a turn that was due and was not handed out
	sched   int64 // of that turn
	ready   int64 // of that turn, once the answer before has come
	ended   int64 // when the latest answer came

	inherited bool // the request that runs was begun by an earlier load
}

func newUsers(c *Config, o *Origin, _ Recording) Process {
	u := &users{round: make([]user, c.Users), places: make(map[uint64]int)}
	for place, number := range startOrder(c.Users, o.Turns) {
		u.round[place] = user{number: number, ours: o.Shard.has(number)}
		if u.round[place].ours {
			u.places[number] = place
		}
	}
	if len(u.places) == 0 {
		return never{}
	}
	if c.varies() {
		u.ticks = &evenly{newOperational(c, o, 1, o.phase())}
	} else {
		grid := newPoints(c, o, 0, 1)
		if o.Shard.Count > 1 { // all shards have to agree on whose turn it is, whenever they started
			u.place = int(grid.n % uint64(c.Users))
		}
		u.ticks = grid
	}
	u.next()
	return u
}

// usersShare is the share of the users that are ours.
func usersShare(c *Config, o *Origin) float64 {
	ours := 0
	for _, number := range startOrder(c.Users, o.Turns) {
		if o.Shard.has(number) {
			ours++
		}
	}
	return float64(ours) / float64(c.Users)
}

// Peek implements Process.
func (u *users) Peek() (ready int64, ok bool) {
	u.settle()
	if u.freedIsNext() {
		return u.freed[0].ready, true
	}
	return u.tick, u.more
}

// freedIsNext tells whether a turn that has waited comes before the next tick.
func (u *users) freedIsNext() bool {
	return len(u.freed) > 0 && (!u.more || u.freed[0].ready <= u.tick)
}

// settle passes the ticks of others, and those at which a turn has to wait for the one before, until the next tick is certain to become an
// arrival unless a request ends before.
func (u *users) settle() {
	for u.more {
		if next := &u.round[u.place]; next.ours && !u.hold(next) {
			return
		}
		u.draw()
	}
}

// hold lets the turn of this tick wait for the one before, if that still runs or has ended later; false: it need not or cannot wait.
func (u *users) hold(who *user) bool {
	if who.waits || !who.running && who.ended <= u.tick {
		return false
	}
	who.waits, who.sched = true, u.tick
	if !who.running {
		u.free(who)
	}
	return true
}

// draw goes on to the next tick.
func (u *users) draw() {
	u.place = (u.place + 1) % len(u.round)
	u.next()
}

func (u *users) next() {
	u.drawn, u.more = u.ticks.Next()
	u.tick = u.drawn
}

// hasten implements hastener.
func (u *users) hasten(at int64) {
	if u.more {
		u.tick = min(u.tick, at)
	}
}

// succeed implements heir: users who still wait for an answer do so.
func (u *users) succeed(before Process, shift int64, _ int) {
	b, ok := before.(*users)
	if !ok {
		return
	}
	for i := range b.round {
		was := &b.round[i]
		if place, ours := u.places[was.number]; ours {
			is := &u.round[place]
			is.running, is.inherited, is.ended = was.running, was.running, was.ended-shift
		}
	}
}

// inheritedEnded implements heir.
func (u *users) inheritedEnded(a Arrival, began, ended int64) {
	if place, ours := u.places[a.User]; ours && u.round[place].inherited {
		u.round[place].inherited = false
		u.Ended(a, began, ended)
	}
}

// Pop implements Process.
func (u *users) Pop() Arrival {
	u.settle()
	if u.freedIsNext() {
		next := u.freed[0]
		u.freed = slices.Delete(u.freed, 0, 1)
		next.running, next.waits = true, false
		u.popped = next.ready
		return Arrival{Sched: next.sched, Ready: next.ready, User: next.number}
	}
	next := &u.round[u.place]
	a := Arrival{Sched: u.tick, Ready: u.tick, User: next.number, Overlap: next.waits}
	next.running = true
	u.popped = u.tick
	u.draw()
	return a
}

// Ended implements Process.
func (u *users) Ended(a Arrival, _, ended int64) {
	user := &u.round[u.places[a.User]]
	user.running, user.ended = false, ended
	if user.waits {
		u.free(user)
	}
}

// free makes the turn of a user that waited ready.
func (u *users) free(who *user) {
	who.ready = max(who.sched, who.ended, u.popped)
	i, _ := slices.BinarySearchFunc(u.freed, who.ready, func(w *user, ready int64) int { return cmp.Compare(w.ready, ready) })
	u.freed = slices.Insert(u.freed, i, who)
}

// Skip implements Process.
func (u *users) Skip(now int64, all bool) int64 {
	skipped := u.skipWaiting(now, all)
	for passed := 0; u.more && u.tick < now; passed++ {
		if all || passed > 2*len(u.round) { // from here on, no turn can begin to wait
			return skipped + u.skipTicks(now)
		}
		if next := &u.round[u.place]; next.ours && !u.hold(next) {
			skipped++
		}
		u.draw()
	}
	return skipped
}

// skipWaiting drops the turns that were due before now and have not been handed out: those that did not have to wait, or all.
func (u *users) skipWaiting(now int64, all bool) (skipped int64) {
	u.freed = slices.DeleteFunc(u.freed, func(w *user) bool {
		gone := w.ready < now && (all || w.ready == w.sched)
		if gone {
			w.waits = false
			skipped++
		}
		return gone
	})
	for i := range u.round {
		if w := &u.round[i]; all && w.waits && w.running && w.sched < now {
			w.waits = false
			skipped++
		}
	}
	return skipped
}

// skipTicks drops all ticks below now, of which there is at least one.
func (u *users) skipTicks(now int64) (skipped int64) {
	ticks := int64(1)
	if u.drawn < now {
		ticks += u.ticks.skip(now)
	}
	round := int64(len(u.round))
	skipped = ticks / round * int64(len(u.places))
	for range ticks % round {
		if u.round[u.place].ours {
			skipped++
		}
		u.place = (u.place + 1) % len(u.round)
	}
	u.next()
	return skipped
}
