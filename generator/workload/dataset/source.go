package dataset

import (
	"errors"
	"hash/fnv"
	"io"
	"strconv"
	"sync/atomic"
)

// source is a reader under the limits of a configuration. What cannot be read is passed over.
type source struct {
	reader
	config *settings
	notes  *notes

	passes   int  // that were read and given out
	readable bool // something could be read since the beginning of the pass
}

// notes are what was left out, of all readers of a dataset.
type notes struct {
	skipped, filtered, split atomic.Int64
	onSkip                   func(error)
}

// errNothing: a whole pass over the files gave nothing to ask.
var errNothing = errors.New("holds nothing that can be asked")

// next gives the next entry that has rows. At the end of the files it gives io.EOF, and then begins anew.
func (s *source) next() (entry, error) {
	for {
		e, err := s.read()
		var positioned *Error
		switch {
		case errors.Is(err, io.EOF):
			return entry{}, s.again()
		case errors.As(err, &positioned):
			s.skip(err)
		case err != nil:
			return entry{}, errors.Join(err, s.rewind())
		case s.limit(&e):
			s.readable = true
			return e, nil
		}
	}
}

// again begins the next pass.
func (s *source) again() error {
	readable := s.readable
	s.readable = false
	if err := s.rewind(); err != nil {
		return err
	}
	if !readable {
		s.passes++
		return &Error{File: s.config.File, Err: errNothing}
	}
	return io.EOF
}

// skip counts what cannot be read, and tells of it in the first pass: later ones meet the same rows.
func (s *source) skip(err error) {
	s.notes.skipped.Add(1)
	if s.passes == 0 && s.notes.onSkip != nil {
		s.notes.onSkip(err)
	}
}

// limit applies the bounds of the configuration to an entry; false if nothing is left of it.
func (s *source) limit(e *entry) bool {
	s.notes.filtered.Add(int64(e.left))
	kept := e.rows[:0]
	for _, row := range e.rows {
		if !s.keeps(&row) {
			s.notes.filtered.Add(1)
			continue
		}
		if bound := s.config.MaxOutputTokens; bound != 0 && row.OutputTokens > bound && row.Prompt.Payload == nil {
			row.OutputTokens = bound
		}
		s.pace(&row)
		kept = append(kept, row)
	}
	e.rows = kept
	return len(kept) > 0
}

// pace applies the bounds of pauses to a row and to the agents that it begins.
func (s *source) pace(row *Row) {
	if bound := s.config.DelayCap; bound != 0 {
		row.Delay = min(row.Delay, bound)
	}
	if s.config.IgnoreDelays {
		row.Delay = 0
	}
	for i := range row.Agents {
		for j := range row.Agents[i].Rows {
			s.pace(&row.Agents[i].Rows[j])
		}
	}
}

// keeps tells whether a row is within the bounds.
func (s *source) keeps(r *Row) bool {
	if bound := s.config.MaxInputTokens; bound != 0 && r.InputTokens > bound {
		return false
	}
	if s.config.SessionSampleRatio < 1 && !sampled(r, s.config.SessionSampleRatio) {
		return false
	}
	return true
}

// fits tells whether a conversation is within max_context_tokens.
func (s *source) fits(c *Conversation) bool {
	bound := s.config.MaxContextTokens
	if bound == 0 || c.context() <= bound {
		return true
	}
	s.notes.filtered.Add(int64(len(c.Rows)))
	return false
}

// sampled tells whether a session is in a sample of this share. It is a matter of the session's name alone, so that all its rows, all
// passes and all processes agree.
func sampled(r *Row, share float64) bool {
	hash := fnv.New64a()
	if r.Session != "" {
		_, _ = io.WriteString(hash, r.Session)
	} else {
		_, _ = io.WriteString(hash, strconv.Itoa(r.Line))
	}
	return float64(mix(hash.Sum64())>>11)/(1<<53) < share
}

// mix makes all bits depend on all bits (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
