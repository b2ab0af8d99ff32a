package dataset

import (
	"cmp"
	"errors"
	"hash/fnv"
	"io"
	"slices"
)

// The look-ahead of tracelab: the rounds of a session, and an agent and its sub-agents, are found if their lines are not further apart than
// half of it.
const (
	tracelabBytes  = 64 << 20 // of lines
	tracelabRounds = 1 << 18
)

// tracelab reads lines of JSON with one round each of coding agents. Which session is the sub-agent of which is not recorded, so it is
// inferred: see adopt. Nor are the blocks of prompts, only how many of their tokens were in a cache: blocks are minted that share as much.
type tracelab struct {
	reader // of the lines; its entries have no rows, what they tell goes to rounds
	rounds *tracelabLines

	ready []*tracelabSession // in the order in which they begin in the file
	left  int                // lines that were left out and not yet told of
	ended bool
}

func openTraceLab(c *settings) (reader, error) {
	rounds := &tracelabLines{settings: c, ahead: tracelabBytes, sessions: map[string]*tracelabSession{}}
	lines, err := openLines(c, rounds)
	if err != nil {
		return nil, err
	}
	return &tracelab{reader: lines, rounds: rounds}, nil
}

func (t *tracelab) size() int64     { return -1 } // a session has no one place
func (t *tracelab) seek(mark) error { return errors.ErrUnsupported }

func (t *tracelab) rewind() error {
	t.ready, t.left, t.ended = nil, 0, false
	return t.reader.rewind()
}

func (t *tracelab) read() (entry, error) {
	for len(t.ready) == 0 {
		if t.ended {
			return entry{}, io.EOF
		}
		if err := t.fill(); err != nil {
			return entry{}, err
		}
	}
	out := t.rounds.entry(t.ready[0])
	out.left, t.left = t.left, 0
	t.ready[0] = nil
	t.ready = t.ready[1:]
	return out, nil
}

// fill reads on until the look-ahead is full or the file ends, and takes the sessions that seem to be over.
func (t *tracelab) fill() error {
	for t.rounds.bytes < t.rounds.ahead && t.rounds.count < tracelabRounds {
		e, err := t.reader.read()
		if errors.Is(err, io.EOF) {
			t.ended = true
			break
		}
		if err != nil {
			return err
		}
		t.left += e.left
	}
	t.ready = t.rounds.take(t.ended)
	return nil
}

// tracelabLines collects what the lines tell by session. It is their decoder.
type tracelabLines struct {
	settings *settings
	ahead    int64 // how many bytes of lines are looked at together
	file     string
	sessions map[string]*tracelabSession
	read     int64 // bytes of lines so far
	bytes    int64 // those of the look-ahead
	count    int   // rounds that wait
}

func (t *tracelabLines) reset() {
	clear(t.sessions)
	t.read, t.bytes, t.count = 0, 0, 0
}

func (t *tracelabLines) decode(r *record) (entry, error) {
	line, err := readTracelab(r.data)
	if err != nil {
		return entry{}, err
	}
	t.file = r.file
	t.read += int64(len(r.data))
	t.bytes += int64(len(r.data))
	s := t.sessions[line.session]
	if s == nil {
		s = &tracelabSession{id: line.session, user: line.user, project: line.project, codex: line.provider == codexProvider, first: t.read}
		t.sessions[s.id] = s
	}
	s.last = t.read
	s.add(&line)
	if !line.asked {
		return entry{left: 1}, nil
	}
	line.round.line = r.line
	s.rounds = append(s.rounds, line.round)
	t.count++
	return entry{}, nil
}

// take gives the sessions that seem to be over: no line of theirs stands in the later half of the look-ahead. Agents go with the session
// that began them.
func (t *tracelabLines) take(all bool) []*tracelabSession {
	all = all || t.count >= tracelabRounds
	sessions := make([]*tracelabSession, 0, len(t.sessions))
	for _, s := range t.sessions {
		sessions = append(sessions, s)
	}
	slices.SortFunc(sessions, func(a, b *tracelabSession) int { return cmp.Compare(a.first, b.first) })
	adopt(sessions)
	var out []*tracelabSession
	for _, s := range sessions {
		if s.parent != nil || !all && s.last > t.read-t.ahead/2 {
			continue
		}
		out = append(out, s)
		for _, gone := range append([]*tracelabSession{s}, s.agents...) {
			delete(t.sessions, gone.id)
			t.count -= len(gone.rounds)
		}
	}
	t.bytes = min(t.bytes, t.ahead/2)
	return out
}

// entry makes the rows of a session.
func (t *tracelabLines) entry(s *tracelabSession) entry {
	calls, ids := s.mint(t.settings.BlockSize)
	root := t.conversation(s, calls)
	out := entry{cost: len(calls)*rowBytes + ids*8}
	for _, agent := range s.agents {
		others, ids := agent.mint(t.settings.BlockSize)
		root.begin(t.conversation(agent, others), calls, agent.within.until, s.before(agent.within.from))
		out.cost += len(others)*rowBytes + ids*8
	}
	out.rows = root.Rows
	return out
}

func (t *tracelabLines) conversation(s *tracelabSession, calls []call) Conversation {
	return t.settings.conversation(s.id, t.file, calls, t.settings.BlockSize)
}

// mint makes the blocks of the session's prompts: each keeps as many of the one before as it had tokens in the cache, the others are new.
// New ids follow from the session's, so that they are the same in each pass and no other session's. What prompts share they share in memory
// too: held is how many ids that are.
func (s *tracelabSession) mint(size int) (out []call, held int) {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, s.id)
	next := mix(hash.Sum64())
	out = make([]call, len(s.rounds))
	var ids []uint64
	for i := range s.rounds {
		r := &s.rounds[i]
		blocks := r.input / size
		kept := min(r.prefix/size, len(ids), blocks)
		if kept < len(ids) {
			ids = slices.Clone(ids[:kept]) // the round before keeps the others
			held += kept
		}
		held += blocks - len(ids)
		for len(ids) < blocks {
			ids = append(ids, next)
			next++
		}
		out[i] = r.call
		out[i].ids = slices.Clip(ids)
	}
	return out, held
}
