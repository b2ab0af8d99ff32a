package workload

import (
	"container/heap"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

const (
	// maxIdle bounds the conversations that wait for their next turn, or for the agents that it joins.
	maxIdle = 10_000
	// maxHistory bounds the texts that idle conversations hold, in bytes.
	maxHistory = 256 << 20
)

// conversation is turns that are asked one after the other. While one of them is being asked it belongs to that request alone.
type conversation struct {
	id     string
	number uint64 // in the order of beginnings, from 0
	user   uint64 // whose it is; 0 = anybody's
	nonce  string // that stands at its beginning; "" = none
	turns  int    // it has
	asked  int    // turns taken so far
	system string

	history    []prompt.Message // what was said, as further turns repeat it
	asking     []prompt.Message // what the turn that is being asked adds to it
	bytes      int              // of system and history
	tokens     int              // of the prompt and the answer before
	previousID string
	due        int64         // when the next turn may be asked
	rows       []dataset.Row // of a dataset
	row        *dataset.Row  // the one that is being asked
	replay     sessionKey    // which recorded session it replays; zero = none
	family

	place int // in the heap of idle ones, -1 = not there
}

// sessions are the conversations that have begun and not ended.
type sessions struct {
	idle    idle
	users   map[uint64][]*conversation // of a user: one, and its agents
	replays map[sessionKey]*conversation
	waiting int   // for their agents
	bytes   int   // held by idle ones and those that wait
	now     int64 // latest instant that was told
	stats   counts
}

// Sessions counts the conversations of several turns.
type Sessions struct {
	// Active are those that have begun and not ended.
	Active int
	// Completed had all their turns and Failed ended with a failed turn. Truncated would have needed a longer context than is allowed, or were
	// given up because there were more than 10 000 or they held more than 256 MiB; then the one ends that has waited longest.
	Completed, Failed, Truncated int64
}

// counts are what Sessions tells, to be read without waiting for whoever holds the lock of the workload, maybe while a disk hangs.
type counts struct{ active, completed, failed, truncated atomic.Int64 }

func (c *counts) now() Sessions {
	return Sessions{Active: int(c.active.Load()), Completed: c.completed.Load(), Failed: c.failed.Load(), Truncated: c.truncated.Load()}
}

func newSessions() sessions {
	return sessions{users: map[uint64][]*conversation{}, replays: map[sessionKey]*conversation{}}
}

// begin makes a conversation of one turn.
func (s *sessions) begin(number, user uint64) *conversation {
	c := &conversation{id: uuid.NewString(), number: number, user: user, turns: 1, place: -1}
	if user != 0 {
		s.users[user] = append(s.users[user], c)
	}
	return c
}

// take gives the conversation whose turn it is, nil if a new one has to begin. The caller owns it until put or end.
func (s *sessions) take(now int64, user uint64) *conversation {
	var c *conversation
	switch {
	case user != 0:
		c = s.ofUser(user)
	case len(s.idle) > 0 && s.idle[0].due <= now:
		c = s.idle[0]
	}
	if c != nil {
		s.remove(c)
	}
	return c
}

// ofUser gives the conversation with which a user goes on, due or not: of its own and those of its agents the one that is due first.
func (s *sessions) ofUser(user uint64) *conversation {
	var first *conversation
	for _, c := range s.users[user] {
		if c.place >= 0 && (first == nil || c.before(first)) {
			first = c
		}
	}
	if first == nil { // the turn before is still being asked, the load should have waited
		for _, c := range s.users[user] {
			c.user = 0
		}
		delete(s.users, user)
	}
	return first
}

func (s *sessions) remove(c *conversation) {
	heap.Remove(&s.idle, c.place)
	s.bytes -= c.bytes
}

// put makes a conversation wait for its next turn, and for the agents that this one joins.
func (s *sessions) put(c *conversation) {
	s.bytes += c.bytes
	if c.waits() {
		s.waiting++
	} else {
		heap.Push(&s.idle, c)
	}
	for len(s.idle) > 1 && (len(s.idle)+s.waiting > maxIdle || s.bytes > maxHistory) {
		oldest := s.idle[0]
		s.remove(oldest)
		s.end(oldest, &s.stats.truncated)
	}
}

// end forgets a conversation that is not idle, and counts how it ended.
func (s *sessions) end(c *conversation, how *atomic.Int64) {
	if c.user != 0 {
		s.users[c.user] = slices.DeleteFunc(s.users[c.user], func(other *conversation) bool { return other == c })
		if len(s.users[c.user]) == 0 {
			delete(s.users, c.user)
		}
	}
	if s.replays[c.replay] == c {
		delete(s.replays, c.replay)
	}
	if c.several() {
		s.stats.active.Add(-1)
		how.Add(1)
	}
	s.leave(c)
}

// several tells whether a conversation counts as one: with a single turn it is a request like any other.
func (c *conversation) several() bool { return c.turns > 1 }

// before tells whether the next turn of a conversation comes before that of another.
func (c *conversation) before(other *conversation) bool {
	return c.due < other.due || (c.due == other.due && c.number < other.number)
}

// idle is a heap of conversations, the one first that is due first.
type idle []*conversation

func (h idle) Len() int { return len(h) }

func (h idle) Less(i, j int) bool { return h[i].before(h[j]) }

func (h idle) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *idle) Push(x any) {
	c := x.(*conversation) // container/heap gives what put gave
	c.place = len(*h)
	*h = append(*h, c)
}

func (h *idle) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	c.place = -1
	return c
}
