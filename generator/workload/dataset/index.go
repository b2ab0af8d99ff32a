package dataset

import (
	"errors"
	"io"
	mathrand "math/rand/v2"
)

// indexed is a random order over all conversations: it knows where each begins and reads it when it is its turn.
type indexed struct {
	source *source
	random *mathrand.Rand
	again  bool // with replacement

	// places are those of all entries, conversation after conversation; conversation i has those from first[i] to first[i+1].
	places []place
	first  []uint32
	order  []uint32 // numbers of the conversations; those before asked were asked in this pass
	asked  int
}

// place is a mark of files of up to 4 GiB.
type place struct{ offset, line uint32 }

// newIndexed reads s once.
func newIndexed(s *source, spread bool, random *mathrand.Rand, again bool) (*indexed, error) {
	x := &indexed{source: s, random: random, again: again}
	for a := newAssembler(s, spread); ; {
		p, err := a.pending()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		c := p.conversation()
		if err := c.consistent(); err != nil {
			s.skip(err)
			continue
		}
		if !a.fits(c) {
			continue
		}
		x.order = append(x.order, uint32(len(x.first)))
		x.first = append(x.first, uint32(len(x.places)))
		for i := range p.entries {
			x.places = append(x.places, place{uint32(p.entries[i].mark.offset), uint32(p.entries[i].mark.line)})
		}
	}
	if len(x.order) == 0 {
		return nil, &Error{File: s.config.File, Err: errNothing}
	}
	x.first = append(x.first, uint32(len(x.places)))
	x.asked = len(x.order)
	return x, nil
}

func (x *indexed) next() (*Conversation, error) {
	for range 16 { // what has changed on the disk since it was indexed is passed over, but not for ever
		c, err := x.read(x.pick())
		if err == nil {
			return c, nil
		}
		var positioned *Error
		if !errors.As(err, &positioned) {
			return nil, err
		}
		x.source.skip(err)
	}
	return nil, &Error{File: x.source.config.File, Err: errChanged}
}

// pick chooses the number of a conversation.
func (x *indexed) pick() uint32 {
	if x.again {
		return uint32(x.random.IntN(len(x.order)))
	}
	if x.asked == len(x.order) {
		x.random.Shuffle(len(x.order), func(i, j int) { x.order[i], x.order[j] = x.order[j], x.order[i] })
		x.asked = 0
	}
	x.asked++
	return x.order[x.asked-1]
}

// read reads a conversation.
func (x *indexed) read(number uint32) (*Conversation, error) {
	p := &pending{}
	for _, at := range x.places[x.first[number]:x.first[number+1]] {
		if err := x.source.seek(mark{int64(at.offset), int(at.line)}); err != nil {
			return nil, err
		}
		e, err := x.source.read()
		if err == io.EOF || err == nil && !x.source.limit(&e) {
			err = &Error{File: x.source.config.File, Line: int(at.line), Err: errChanged}
		}
		if err != nil {
			return nil, err
		}
		p.entries = append(p.entries, e)
	}
	p.session = p.entries[0].session()
	for _, e := range p.entries {
		for i := range e.rows {
			e.rows[i].Session = p.session
		}
	}
	return p.conversation(), nil
}
