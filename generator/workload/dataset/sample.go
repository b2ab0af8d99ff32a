package dataset

import (
	"errors"
	"io"
	mathrand "math/rand/v2"
)

// A sampler gives conversations in the order of the configuration, for ever.
type sampler interface {
	next() (*Conversation, error)
}

// maxIndexed is the largest size of files of which an index is kept, 8 bytes for each entry.
const maxIndexed = 256 << 20

// sample makes the sampler. A random order over files of up to 256 MiB is one over all conversations. Larger files, and compressed ones,
// are read in their order, and the random choice is among the 4096 conversations (or 8 MiB) that were read last.
func (d *Dataset) sample(random *mathrand.Rand) (sampler, error) {
	spread := d.config.format.spread
	s, err := d.source(d.config)
	if err != nil {
		return nil, err
	}
	size := s.size()
	switch {
	case d.config.Sampling == Sequential:
		return &sequential{newAssembler(s, spread)}, nil
	case size < 0 || size > maxIndexed:
		return &shuffled{from: newAssembler(s, spread), random: random, again: d.config.Sampling == Random}, nil
	}
	return newIndexed(s, spread, random, d.config.Sampling == Random)
}

// sequential is the order of the files, wrapped.
type sequential struct{ from *assembler }

func (s *sequential) next() (*Conversation, error) { return wrapped(s.from) }

// wrapped gives the next conversation of a, from the beginning if the end was reached.
func wrapped(a *assembler) (*Conversation, error) {
	c, err := a.next()
	if err == io.EOF {
		c, err = a.next()
	}
	if err == io.EOF { // a whole pass without one
		err = &Error{File: a.source.config.File, Err: errNothing}
	}
	return c, err
}

// shuffled is a random order in a window that moves over the files.
type shuffled struct {
	from   *assembler
	random *mathrand.Rand
	again  bool // what was asked stays, and may be asked again until something newer takes its place

	window []*Conversation
	cost   int
	ended  bool // the rest of a pass is asked before the next one begins
}

func (s *shuffled) next() (*Conversation, error) {
	if err := s.fill(); err != nil {
		return nil, err
	}
	i := s.random.IntN(len(s.window))
	c := s.window[i]
	if s.again && !s.ended {
		// The window goes on by one: something in it gives way.
		s.drop(s.random.IntN(len(s.window)))
		return c, nil
	}
	s.drop(i)
	return c, nil
}

func (s *shuffled) drop(i int) {
	s.cost -= s.window[i].cost()
	last := len(s.window) - 1
	s.window[i] = s.window[last]
	s.window[last] = nil
	s.window = s.window[:last]
}

// fill reads until the window is full, or the pass ends.
func (s *shuffled) fill() error {
	if len(s.window) == 0 {
		s.ended = false
	}
	for !s.ended && len(s.window) < windowRows && s.cost < windowBytes {
		c, err := s.from.next()
		switch {
		case err == io.EOF && len(s.window) > 0:
			s.ended = true
		case err == io.EOF:
			if c, err = wrapped(s.from); err != nil {
				return err
			}
			fallthrough
		case err == nil:
			s.window = append(s.window, c)
			s.cost += c.cost()
		default:
			return err
		}
	}
	return nil
}

// cost is about how many bytes a conversation holds.
func (c *Conversation) cost() int {
	n := 0
	for i := range c.Rows {
		n += rowBytes + c.Rows[i].cost()
	}
	return n
}

// cost is about how many bytes a row points at.
func (r *Row) cost() int {
	n := 8*len(r.HashIDs) + len(r.Prompt.Payload) + len(r.Prompt.Tools)
	for i := range r.Prompt.Messages {
		m := &r.Prompt.Messages[i]
		n += len(m.Raw)
		for j := range m.Parts {
			n += len(m.Parts[j].Text) + len(m.Parts[j].Data) + len(m.Parts[j].URL)
		}
	}
	return n
}

// errChanged: what was read at this place before is no longer there.
var errChanged = errors.New("has changed since it was opened")
