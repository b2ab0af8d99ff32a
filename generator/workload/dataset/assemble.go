package dataset

import (
	"errors"
	"io"
	"slices"
)

// The window in which rows of one session are found, and rows of a recording are put in order. Where a row would make it larger, what
// stands longest in it leaves.
const (
	windowRows  = 16384
	windowBytes = 16 << 20
)

// assembler makes conversations of entries, in the order in which they begin. A session whose rows lie further apart than the window
// begins anew, as another conversation.
type assembler struct {
	source *source
	spread bool

	waiting []*pending          // from head on, in the order of their first rows
	head    int                 // index of the first one
	open    map[string]*pending // the waiting ones by session
	rows    int
	cost    int
	ended   bool // the end of the files was reached; what waits is the rest
	past    *recent[string, struct{}]
}

// pending is a conversation that may still grow.
type pending struct {
	session string
	entries []entry
}

// pastSessions is how many sessions are remembered that have left the window, to tell those that begin anew.
const pastSessions = 1 << 16

func newAssembler(s *source, spread bool) *assembler {
	return &assembler{source: s, spread: spread, open: map[string]*pending{}, past: newRecent[string, struct{}](pastSessions)}
}

// next gives the next conversation that is within the bounds, io.EOF at the end of the files and then begins anew.
func (a *assembler) next() (*Conversation, error) {
	for {
		p, err := a.pending()
		if err != nil {
			return nil, err
		}
		c := p.conversation()
		if err := c.consistent(); err != nil {
			a.source.skip(err)
			continue
		}
		if a.source.fits(c) {
			return c, nil
		}
	}
}

// pending gives the next conversation with all its entries of the window.
func (a *assembler) pending() (*pending, error) {
	for !a.ended && !a.full() {
		e, err := a.source.next()
		if errors.Is(err, io.EOF) {
			a.ended = true
			break
		}
		if err != nil {
			return nil, err
		}
		a.add(e)
	}
	if a.head == len(a.waiting) {
		a.ended = false
		a.source.passes++
		a.past.clear()
		return nil, io.EOF
	}
	return a.pop(), nil
}

// full tells whether the oldest conversation is as complete as it gets.
func (a *assembler) full() bool {
	if a.head == len(a.waiting) {
		return false
	}
	return !a.spread || a.waiting[a.head].session == "" || a.rows >= windowRows || a.cost >= windowBytes
}

func (a *assembler) add(e entry) {
	session := e.session()
	a.rows += len(e.rows)
	a.cost += e.cost
	if p := a.open[session]; p != nil {
		p.entries = append(p.entries, e)
		return
	}
	p := &pending{session: session, entries: []entry{e}}
	a.waiting = append(a.waiting, p)
	if session == "" || !a.spread {
		return
	}
	a.open[session] = p
	if _, ok := a.past.get(session); ok {
		a.source.notes.split.Add(1)
	}
}

func (a *assembler) pop() *pending {
	p := a.waiting[a.head]
	a.waiting[a.head] = nil
	if a.head++; a.head == len(a.waiting) || a.head > windowRows {
		a.waiting = slices.Delete(a.waiting, 0, a.head)
		a.head = 0
	}
	for i := range p.entries {
		a.rows -= len(p.entries[i].rows)
		a.cost -= p.entries[i].cost
	}
	if a.open[p.session] == p {
		delete(a.open, p.session)
		a.past.put(p.session, struct{}{})
	}
	return p
}

// conversation joins the entries in the order of the session.
func (p *pending) conversation() *Conversation {
	slices.SortStableFunc(p.entries, func(a, b entry) int { return a.order - b.order })
	out := &Conversation{Session: p.session, Rows: p.entries[0].rows}
	for i := range p.entries[1:] {
		out.Rows = append(out.Rows, p.entries[i+1].rows...)
	}
	out.Rows[0].Delay = 0 // there is no answer before it
	return out
}

// manner is how a row says what is asked. The rows of a session agree on it: what is sent as it was recorded knows nothing of what is made.
type manner int

const (
	made manner = iota // from a text or a length
	listed
	verbatim
)

func (r *Row) manner() manner {
	switch {
	case r.Prompt.Payload != nil:
		return verbatim
	case len(r.Prompt.Messages) > 0 && r.Prompt.Messages[0].Raw != nil:
		return listed
	}
	return made
}

var errMixed = errors.New("the session has rows that are sent as they were recorded, messages or whole bodies, and rows of another kind")

// consistent tells whether all rows are of one manner.
func (c *Conversation) consistent() error {
	for i := range c.Rows {
		if r := &c.Rows[i]; r.manner() != c.Rows[0].manner() {
			return &Error{File: r.File, Line: r.Line, Err: errMixed}
		}
	}
	return nil
}

// context is the longest context that a conversation needs by its recorded lengths, in tokens; 0 if it has none.
func (c *Conversation) context() int {
	longest, history := 0, 0
	for i := range c.Rows {
		r := &c.Rows[i]
		need := r.InputTokens + r.OutputTokens
		if !r.SelfContained {
			need += history
			history = need
		}
		longest = max(longest, need)
		for j := range r.Agents {
			longest = max(longest, r.Agents[j].context())
		}
	}
	return longest
}
