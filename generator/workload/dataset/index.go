package dataset

import (
	"bytes"
	"errors"
	"io"
	mathrand "math/rand/v2"
)

// indexed is a random order over all conversations: it knows where each stands and reads it when it is its turn. What cannot be read then,
// or is not within the limits, leaves the index.
type indexed struct {
	source *source
	random *mathrand.Rand
	again  bool // with replacement

	places []place
	order  []uint32 // the first places of the conversations; those before asked were asked in this pass
	asked  int
}

// place is where an entry stands, in files of less than 4 GiB.
type place struct {
	offset, line uint32
	next         uint32 // the place of the next entry of the session, 0 = there is none: it never is the first of all
}

// begun is a session that may go on.
type begun struct {
	mark        mark // of its first entry
	first, last uint32
}

// newIndexed reads s once. What is in a row is read only as far as it is needed to know its session.
func newIndexed(s *source, random *mathrand.Rand, again bool) (*indexed, error) {
	x := &indexed{source: s, random: random, again: again}
	sessions := newRecent[string, begun](windowRows)
	for {
		session, at, err := x.scan()
		var positioned *Error
		switch {
		case errors.Is(err, io.EOF):
			x.asked = len(x.order)
			return x, s.rewind()
		case errors.As(err, &positioned):
			s.skip(err)
			continue
		case err != nil:
			return nil, err
		}
		if len(x.places) == maxEntries {
			return nil, errors.Join(errTooMany, s.rewind())
		}
		x.add(session, at, sessions)
	}
}

// errTooMany: there are more entries than an index may have.
var errTooMany = errors.New("too many entries for an index")

// errChanged: what was read at this place before is no longer there.
var errChanged = errors.New("has changed since it was opened")

// scan finds the next entry and its session.
func (x *indexed) scan() (session string, at mark, err error) {
	d, byRecords := x.source.reader.(*decoded)
	if scan := x.source.config.format.scan; byRecords && scan != nil {
		r, err := d.next()
		if err != nil {
			return "", mark{}, err
		}
		if len(x.places) == 0 { // decoders learn from the first record how to read the others
			_, _ = d.decode(&r)
		}
		return scan(r.data), r.mark, nil
	}
	for {
		e, err := x.source.read()
		if err != nil || len(e.rows) > 0 {
			return sessionOf(&e), e.mark, err
		}
	}
}

func sessionOf(e *entry) string {
	if len(e.rows) == 0 {
		return ""
	}
	return e.session()
}

// alone is the scan of formats of which each record is a conversation.
func alone([]byte) string { return "" }

// bySessionID is the scan of formats of JSON objects that may have a session_id.
func bySessionID(line []byte) (session string) {
	if !bytes.Contains(line, []byte(`"session_id"`)) || valid(line) != nil {
		return "" // it can be found out later what is wrong
	}
	_ = members(line, func(key, value []byte) error {
		if string(key) == "session_id" {
			session, _ = sessionName(value)
		}
		return nil
	})
	return session
}

// add notes the place of an entry, in the conversation of its session if that is within the window.
func (x *indexed) add(session string, at mark, sessions *recent[string, begun]) {
	n := uint32(len(x.places))
	x.places = append(x.places, place{offset: uint32(at.offset), line: uint32(at.line)})
	if session == "" || !x.source.config.format.spread {
		x.order = append(x.order, n)
		return
	}
	b, known := sessions.get(session)
	if known && n-b.first < windowRows && at.offset-b.mark.offset < windowBytes {
		x.places[b.last].next = n
		b.last = n
	} else {
		x.order = append(x.order, n)
		b = begun{at, n, n}
		if known {
			x.source.notes.split.Add(1)
		}
	}
	sessions.put(session, b)
}

func (x *indexed) next() (*Conversation, error) {
	for len(x.order) > 0 {
		i := x.pick()
		c, err := x.read(i)
		if _, positioned := errors.AsType[*Error](err); positioned {
			x.source.skip(err)
			err = nil
		}
		if c != nil || err != nil {
			return c, err
		}
		x.drop(i)
	}
	return nil, &Error{File: x.source.config.File, Err: errNothing}
}

// pick chooses a conversation by its index in order.
func (x *indexed) pick() int {
	if x.again {
		return x.random.IntN(len(x.order))
	}
	if x.asked == len(x.order) {
		x.random.Shuffle(len(x.order), func(i, j int) { x.order[i], x.order[j] = x.order[j], x.order[i] })
		x.asked = 0
	}
	x.asked++
	return x.asked - 1
}

// drop takes out what was picked last.
func (x *indexed) drop(i int) {
	last := len(x.order) - 1
	x.order[i] = x.order[last]
	x.order = x.order[:last]
	if !x.again {
		x.asked--
	}
}

// read reads a conversation by its index in order; nil if nothing of it can be read, or none is within the limits.
func (x *indexed) read(i int) (*Conversation, error) {
	p, err := x.entries(i)
	if err != nil || len(p.entries) == 0 {
		return nil, err
	}
	p.session = p.entries[0].session()
	for _, e := range p.entries {
		for i := range e.rows {
			e.rows[i].Session = p.session
		}
	}
	c := p.conversation()
	if err := c.consistent(); err != nil {
		return nil, err
	}
	if !x.source.fits(c) {
		return nil, nil
	}
	return c, nil
}

// entries reads the entries of a conversation. Those that cannot be read leave the index.
func (x *indexed) entries(i int) (*pending, error) {
	p := &pending{}
	link := &x.order[i] // what leads to the entry that is read
	for n := *link; ; n = *link {
		e, err := x.entry(&x.places[n])
		next := x.places[n].next
		if _, positioned := errors.AsType[*Error](err); positioned {
			x.source.skip(err)
			*link = next
		} else if err != nil {
			return nil, err
		} else {
			link = &x.places[n].next
			if x.source.limit(&e) {
				p.entries = append(p.entries, e)
			}
		}
		if next == 0 {
			return p, nil
		}
	}
}

// entry reads the entry at a place.
func (x *indexed) entry(at *place) (entry, error) {
	if err := x.source.seek(mark{int64(at.offset), int(at.line)}); err != nil {
		return entry{}, err
	}
	e, err := x.source.read()
	if errors.Is(err, io.EOF) {
		err = &Error{File: x.source.config.File, Line: int(at.line), Err: errChanged}
	}
	return e, err
}
