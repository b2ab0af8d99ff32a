package load

import "slices"

// held is a turn of a session that waits for the one before it, or for agents.
type held struct {
	Recorded
	number uint64 // turns are numbered as they are read
	joins  []join // what it waits for beside its session
	joined int64  // when the last of those has ended that have
}

// join is a session of which all turns up to one must have ended.
type join struct {
	session *session
	last    uint64
}

// ended tells whether they have.
func (j *join) ended() bool { return !j.session.active || j.session.front > j.last }

// joins are what a turn that has just been read waits for beside its session. A session of which nothing is known has ended.
func (r *replay) joins(recorded *Recorded) []join {
	var out []join
	for _, name := range recorded.Joins {
		if s := r.sessions[name]; s != nil && name != recorded.Session {
			out = append(out, join{s, s.read})
		}
	}
	return out
}

// advance makes the next turn of a session due, unless it has to wait for agents. The turn before it has ended.
func (r *replay) advance(s *session) {
	s.waits = false
	if len(s.held) == 0 {
		s.active = false
		delete(r.active, s.number)
		return
	}
	next := &s.held[0]
	s.front = next.number
	for ; len(next.joins) > 0; next.joins = next.joins[1:] {
		j := &next.joins[0]
		if !j.ended() {
			s.waits = true
			j.session.joiners = append(j.session.joiners, s)
			return
		}
		next.joined = max(next.joined, j.session.ended)
	}
	turn := *next
	s.held = slices.Delete(s.held, 0, 1)
	r.held--
	r.push(s, &turn.Recorded, s.ended, turn.joined)
}

// goOn makes the next turn of a session due, whose turn before has ended or is not asked any more, and has those look again that wait for
// the session.
func (r *replay) goOn(s *session) {
	r.advance(s)
	joiners := s.joiners
	s.joiners = nil
	for _, j := range joiners {
		if j.waits {
			r.advance(j)
		}
	}
}
