package load

import (
	"cmp"
	"container/heap"
	"errors"
	"io"
	"maps"
	"slices"
	"sync/atomic"
)

// replay asks the turns of a recording at their times. Turns of a session come one after the other: one whose time has come while the one
// before still runs waits for its end, and one without a time comes some time after it. A turn that joins sub-agents waits for their ends, too:
// of the turns that stand before it in the recording, so that no two turns can wait for each other.
//
// A recording may be longer than memory, so that it is read only until the next arrival is certain: until a turn that lies later. At most
// maxWaiting turns are known and not handed out, because they have to wait for the one before them in their session or for their time.
// Beyond, nothing is read until one of them is handed out; turns that are read too late because of this count as having waited for the
// server. Of about maxSessions sessions that are idle it is remembered when their last answer came. One that goes on after it was
// forgotten counts as a new one, which has just had an answer.
type replay struct {
	tape   *tape
	shard  Shard
	done   bool // there is nothing more to read
	err    error
	passes atomic.Int64 // begun after the first

	due      turns               // whose time is known
	active   map[uint64]*session // that have a turn that is due or runs, by number
	sessions map[uint64]*session // of this pass, by name
	sweep    int                 // size of sessions at which idle ones are forgotten
	numbered uint64              // sessions so far
	ordered  uint64              // turns so far
	held     int                 // turns that wait for the one before in their session
	played   int64               // turns of ours that this pass has had
	taken    uint64              // turns of sessions so far
	popped   int64               // latest instant handed out

	skipping int64 // what is ready before is being dropped; 0 = nothing is
	leapt    int64 // turns of passes that were dropped whole
}

const (
	maxWaiting  = 10_000
	maxSessions = 10_000
)

// session is a session of one pass.
type session struct {
	number uint64
	name   uint64 // in the recording
	active bool   // has a turn that is due, runs or waits for agents
	cut    bool   // its latest turn was left out, and those that follow without a time with it
	ended  int64  // when the latest turn ended
	held   []held

	front   uint64     // number of that turn, if active
	read    uint64     // number of the latest turn
	waits   bool       // the first of held waits for agents
	joiners []*session // that wait for a turn of this one, or have done so
}

func newReplay(c *Config, o *Origin, recording Recording) Process {
	return &replay{
		tape: newTape(c, recording), shard: o.Shard,
		active: map[uint64]*session{}, sessions: map[uint64]*session{}, sweep: maxSessions,
	}
}

// Peek implements Process.
func (r *replay) Peek() (ready int64, ok bool) {
	r.settle()
	if len(r.due) == 0 {
		return 0, false
	}
	return r.due[0].arrival.Ready, true
}

// settle reads until the next arrival is certain.
func (r *replay) settle() {
	for !r.done && len(r.due)+r.held < maxWaiting && (len(r.due) == 0 || r.due[0].arrival.Ready > r.tape.now) {
		recorded, err := r.tape.next()
		switch {
		case err == nil:
			if !r.take(&recorded) {
				r.tape.recording.Forget(recorded.Key)
			}
		case errors.Is(err, io.EOF):
			r.endPass()
		default:
			r.done, r.err = true, err
		}
	}
}

// take finds the place of a turn that was read; false: it is left out.
func (r *replay) take(recorded *Recorded) bool {
	s := r.sessions[recorded.Session]
	if recorded.HasAt && !r.tape.plays(recorded) {
		if s != nil {
			s.cut = true
		}
		return false
	}
	follows := s != nil && !s.cut
	if !r.ours(recorded) || !recorded.HasAt && !follows && !r.tape.isWhole() {
		return false
	}
	r.played++
	recorded.At = r.tape.now
	switch {
	case recorded.Session == 0:
		r.push(nil, recorded, recorded.At, recorded.At)
		return true
	case s == nil:
		s = r.begin(recorded.Session)
	}
	s.cut = false
	r.taken++
	s.read = r.taken
	s.held = append(s.held, held{Recorded: *recorded, number: s.read, joins: r.joins(recorded)})
	r.held++
	if !s.active {
		s.active = true
		r.active[s.number] = s
		r.advance(s)
	}
	return true
}

// ours tells whether a turn belongs to the shard: sessions stay together, and with their agents.
func (r *replay) ours(recorded *Recorded) bool {
	return r.shard.has(mix(cmp.Or(recorded.Parent, recorded.Session, recorded.Key)))
}

// mix spreads numbers that may follow each other (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// begin makes a session of this pass.
func (r *replay) begin(name uint64) *session {
	if len(r.sessions) >= r.sweep {
		maps.DeleteFunc(r.sessions, func(_ uint64, s *session) bool { return !s.active })
		r.sweep = max(maxSessions, 2*len(r.sessions))
	}
	r.numbered++
	s := &session{number: r.numbered, name: name, ended: r.tape.now}
	r.sessions[name] = s
	return s
}

// push makes a turn due, whose predecessor in the session, if any, has ended, and so have the agents that it joins. The time of recorded is
// an instant of the schedule: its own, or that of the turn before it in the file.
func (r *replay) push(s *session, recorded *Recorded, ended, joined int64) {
	a := Arrival{Sched: recorded.At, Entry: recorded.Key}
	if !recorded.HasAt {
		a.Sched = max(recorded.At, ended+recorded.Delay)
	}
	a.Ready = max(a.Sched, ended, joined, r.popped)
	if s != nil {
		a.User = s.number
	}
	r.ordered++
	heap.Push(&r.due, &turn{a, s, r.ordered})
}

// Pop implements Process.
func (r *replay) Pop() Arrival {
	r.settle()
	a := heap.Pop(&r.due).(*turn).arrival
	r.popped = a.Ready
	return a
}

// Ended implements Process.
func (r *replay) Ended(a Arrival, _, ended int64) {
	if a.User != 0 {
		r.end(r.active[a.User], ended)
	}
}

// end lets the session go on after a turn, and those that have waited for it.
func (r *replay) end(s *session, ended int64) {
	s.ended = ended
	r.goOn(s)
}

// endPass begins the next pass, if there is to be one.
func (r *replay) endPass() {
	switch {
	case !r.tape.begun:
		r.err = r.tape.errTimeless()
		r.done = true
		return
	case !r.tape.loop || r.played == 0: // no turn belongs to this shard, nor will one in the next pass
		r.done = true
		return
	}
	r.tape.rewind()
	if r.skipping > 0 {
		r.leapt += r.tape.leap(r.skipping) * r.played
	}
	r.passes.Store(r.tape.pass)
	r.sessions, r.sweep, r.played = map[uint64]*session{}, maxSessions, 0
}

// Skip implements Process.
func (r *replay) Skip(now int64, all bool) (skipped int64) {
	r.skipping = now
	var kept []*turn
	for {
		dropped := int64(0)
		for r.settle(); len(r.due) > 0 && r.due[0].arrival.Ready < now; r.settle() {
			t := heap.Pop(&r.due).(*turn)
			if !all && t.arrival.Ready > t.arrival.Sched {
				kept = append(kept, t)
				continue
			}
			dropped++
			r.tape.recording.Forget(t.arrival.Entry)
			if t.session != nil {
				r.end(t.session, t.arrival.Ready)
			}
		}
		if all {
			dropped += r.skipHeld(now)
		}
		if dropped == 0 { // nothing has made room to read on
			break
		}
		skipped += dropped
	}
	for _, t := range kept {
		heap.Push(&r.due, t)
	}
	skipped += r.leapt
	r.skipping, r.leapt = 0, 0
	return skipped
}

// skipHeld drops the turns whose time has come, but which wait for the one before or for agents.
func (r *replay) skipHeld(now int64) (dropped int64) {
	for _, number := range slices.Sorted(maps.Keys(r.active)) {
		s := r.active[number]
		before := len(s.held)
		s.held = slices.DeleteFunc(s.held, func(h held) bool {
			gone := h.HasAt && h.At < now
			if gone {
				r.tape.recording.Forget(h.Key)
			}
			return gone
		})
		gone := before - len(s.held)
		r.held -= gone
		dropped += int64(gone)
		if s.waits && gone > 0 {
			r.goOn(s)
		}
	}
	return dropped
}
