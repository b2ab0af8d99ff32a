package dataset

import (
	"errors"
	"io"
	mathrand "math/rand/v2"
	"os"
	"slices"
)

// A sampler gives conversations in the order of the configuration, for ever.
type sampler interface {
	next() (*Conversation, error)
}

// Of files that are larger than this, and of those with more entries, no index is kept: a start must not take longer than half a second.
const (
	maxScanned = 256 << 20 // each record is a conversation: nothing has to be decoded
	maxDecoded = 64 << 20
	maxEntries = 1 << 20 // 16 bytes each
)

// arrange makes the sampler of the dataset: of one for each file if these are pools.
func (d *Dataset) arrange(random *mathrand.Rand) (sampler, error) {
	if info, err := os.Stat(d.config.File); err != nil || !info.IsDir() || !d.config.format.pools {
		return d.sample(d.config, random)
	}
	files, err := list(d.config)
	if err != nil {
		return nil, err
	}
	var out pools
	for _, name := range files.names {
		pool := *d.config
		pool.File, pool.library = name, d.config.File
		s, err := d.sample(&pool, random)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// sample makes the sampler of one file, or of files that are one. A random order is one over all conversations, by an index, where files
// have no more than 64 MiB (256 MiB if each record is a conversation) and a million entries. All others, and compressed ones, are read in
// their order, and the random choice is among the 16384 conversations (or 16 MiB) that were read last.
func (d *Dataset) sample(c *settings, random *mathrand.Rand) (sampler, error) {
	s, err := d.source(c)
	if err != nil {
		return nil, err
	}
	if c.Sampling == Sequential {
		return &sequential{newAssembler(s, c.format.spread)}, nil
	}
	limit := int64(maxDecoded)
	if c.format.scan != nil && !c.format.spread {
		limit = maxScanned
	}
	if size := s.size(); size >= 0 && size <= limit {
		x, err := newIndexed(s, random, c.Sampling == Random)
		if !errors.Is(err, errTooMany) {
			return x, err
		}
	}
	w := window{from: newAssembler(s, c.format.spread), random: random}
	if c.Sampling == Random {
		return &drawn{window: w}, nil
	}
	return &shuffled{window: w}, nil
}

// sequential is the order of the files, wrapped.
type sequential struct{ from *assembler }

func (s *sequential) next() (*Conversation, error) { return wrapped(s.from) }

// wrapped gives the next conversation of a, from the beginning if the end was reached.
func wrapped(a *assembler) (*Conversation, error) {
	c, err := a.next()
	if errors.Is(err, io.EOF) {
		c, err = a.next()
	}
	if errors.Is(err, io.EOF) { // a whole pass without one
		err = &Error{File: a.source.config.File, Err: errNothing}
	}
	return c, err
}

// window holds the conversations that were read last.
type window struct {
	from   *assembler
	random *mathrand.Rand
	held   []*Conversation
	cost   int
}

// fill reads until the window is full, or gives io.EOF where a pass ends.
func (w *window) fill() error {
	for len(w.held) < windowRows && w.cost < windowBytes {
		c, err := w.from.next()
		if err != nil {
			return err
		}
		w.held = append(w.held, c)
		w.cost += c.cost()
	}
	return nil
}

// take takes one out.
func (w *window) take() *Conversation {
	i := w.random.IntN(len(w.held))
	c, last := w.held[i], len(w.held)-1
	w.held[i], w.held[last] = w.held[last], nil
	w.held = w.held[:last]
	w.cost -= c.cost()
	return c
}

// shuffled asks what the window holds in a random order, each once: the rest of a pass before the next one begins.
type shuffled struct {
	window
	ended bool // what is held is the rest
}

func (s *shuffled) next() (*Conversation, error) {
	s.ended = s.ended && len(s.held) > 0
	for empty := 0; !s.ended; empty++ {
		err := s.fill()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		s.ended = errors.Is(err, io.EOF) && len(s.held) > 0
		if len(s.held) > 0 {
			break
		}
		if empty > 0 {
			return nil, &Error{File: s.from.source.config.File, Err: errNothing}
		}
	}
	return s.take(), nil
}

// drawn asks any that the window holds at any time. One of it gives way to the next of the file with each draw, unless it holds all.
type drawn struct {
	window
	all bool
}

func (d *drawn) next() (*Conversation, error) {
	if !d.all {
		if err := d.refill(); err != nil {
			return nil, err
		}
	}
	return d.held[d.random.IntN(len(d.held))].clone(), nil
}

// refill makes room for newer ones, and reads them.
func (d *drawn) refill() error {
	first := len(d.held) == 0
	if !first {
		d.take()
	}
	err := d.fill()
	switch {
	case errors.Is(err, io.EOF) && first && len(d.held) > 0:
		d.all = true
		return nil
	case errors.Is(err, io.EOF):
		c, nextErr := wrapped(d.from)
		if nextErr != nil {
			return nextErr
		}
		d.held = append(d.held, c)
		d.cost += c.cost()
		return nil
	}
	return err
}

// clone copies what a caller may change: rows, those of agents too.
func (c *Conversation) clone() *Conversation {
	out := *c
	out.Rows = slices.Clone(c.Rows)
	for i := range out.Rows {
		out.Rows[i].Agents = slices.Clone(out.Rows[i].Agents)
		for j := range out.Rows[i].Agents {
			out.Rows[i].Agents[j] = *out.Rows[i].Agents[j].clone()
		}
	}
	return &out
}

// cost is about how many bytes a conversation holds.
func (c *Conversation) cost() int { return Size(c.Rows) }

// Size is about how many bytes rows hold, and the agents that they begin.
func Size(rows []Row) int {
	n := 0
	for i := range rows {
		n += rowBytes + rows[i].cost()
	}
	return n
}

// cost is about how many bytes a row points at.
func (r *Row) cost() int {
	n := 8*(len(r.HashIDs)+len(r.Splits)) + len(r.Prompt.Payload) + len(r.Prompt.Tools)
	for i := range r.Prompt.Messages {
		n += r.Prompt.Messages[i].Size()
	}
	for i := range r.Agents {
		n += r.Agents[i].cost()
	}
	return n
}
