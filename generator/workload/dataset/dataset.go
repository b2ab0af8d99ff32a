// Package dataset reads conversations and traces from files, a row at a time and never a whole file, in the formats of the field. It is
// the part of a workload that was recorded; nothing here invents text.
//
// Files are data of strangers: sizes are bounded, nothing is fetched over the network, nothing in them is run. Every error about a row
// names file and line.
//
// To add a format: one file with a function that opens it, one line in the table of formats.go.
package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// Row is one request as a file holds it.
type Row struct {
	// Session ties the rows of one conversation together; "" = the row stands alone. Rows of a session are asked one after the other, in
	// the order of the file.
	Session string
	// At is when the recording asked it, from the recording's own zero; meaningful if HasAt.
	At    time.Duration
	HasAt bool
	// Delay is how long after the end of the answer before it the session asks this row; 0 on the first row of a session.
	Delay time.Duration

	// Prompt is what is asked. Empty messages mean that the recording kept only a length: a prompt of InputTokens tokens is made then.
	Prompt prompt.Prompt
	// PayloadStream is whether Prompt.Payload asks for a stream; the target must expect the same.
	PayloadStream bool
	// SelfContained: Prompt, or the length, holds the whole conversation so far, so that live answers are not put into it.
	SelfContained bool

	// InputTokens and OutputTokens are recorded lengths; 0 = not told.
	InputTokens, OutputTokens int
	// HashIDs name the blocks of BlockSize tokens of which a prompt that is made begins: equal ids of one file are equal text.
	HashIDs   []uint64
	BlockSize int
	// Splits are numbers of blocks: after so many the prompt that is made goes on in a new message. None = it is one message.
	Splits []int

	// Agents are the conversations of sub-agents that begin once this row is answered, beside the rest of its own conversation. The Delay
	// of their first rows counts from that answer. A recording gives their rows by themselves.
	Agents []Conversation
	// Joins names the sessions of agents that must have ended before this row is asked; one that is not running has ended.
	Joins []string
	// Parent is the session that began the one of this row, "" = none did, and Index the place of the row in its session, from 0. Only a
	// recording tells them, which gives rows one by one.
	Parent string
	Index  int

	Model  string          // as the recording has it; "" = the target's
	Extra  map[string]any  // for the top level of the body
	Expect json.RawMessage // checks of the answer, in the form of the configuration's `expect`; nil = none

	// File and Line say where the row stands, for messages.
	File string
	Line int
}

// Position says where the row stands: file:line.
func (r *Row) Position() string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// Error is what is wrong with a row.
type Error struct {
	File string
	Line int // 0 = the file as a whole
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap implements the interface of package errors.
func (e *Error) Unwrap() error { return e.Err }

// Conversation is the rows of one session, in order, or a single row.
type Conversation struct {
	Session string // "" if the single row has none
	Rows    []Row
}

// Options are what a dataset needs beside its configuration.
type Options struct {
	// Seed of the random orders.
	Seed [32]byte
	// OnSkip is told of each row that cannot be read, once and from the goroutine that reads; nil = nobody is.
	OnSkip func(error)
}

// Dataset is an open file or folder. Its readers go on for ever, from the end to the beginning. One goroutine at a time may call it, its
// recordings included; the counts may be read at any time.
type Dataset struct {
	config *settings
	notes  notes
	order  sampler
	close  []func() error
}

// Open opens what a validated c names and checks that its first row can be read: whatever is wrong with that is an error. Files of any
// size are open at once; only for a random order files of up to 64 MiB, of some formats 256 MiB, are read once, to know where each conversation stands.
func Open(c *Config, o Options) (*Dataset, error) {
	d := &Dataset{config: c.settings(), notes: notes{onSkip: o.OnSkip}}
	if err := d.probe(); err != nil {
		return nil, err
	}
	random := mathrand.New(mathrand.NewChaCha8(o.Seed))
	var err error
	if d.order, err = d.arrange(random); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// source opens the files to be read from the beginning.
func (d *Dataset) source(c *settings) (*source, error) {
	r, err := c.format.open(c)
	if err != nil {
		return nil, err
	}
	d.close = append(d.close, r.Close)
	return &source{reader: r, config: c, notes: &d.notes}, nil
}

// probe reads the first entry, under no limits.
func (d *Dataset) probe() error {
	r, err := d.config.format.open(d.config)
	if err != nil {
		return err
	}
	var e entry
	for err == nil && len(e.rows) == 0 && e.left == 0 { // a header is no row
		e, err = r.read()
	}
	if errors.Is(err, io.EOF) {
		err = &Error{File: d.config.File, Err: errNothing}
	}
	return errors.Join(err, r.Close())
}

// Next gives the next conversation in the order of the configuration. Rows that cannot be read are passed over; an error means that the
// files cannot be read at all, or that nothing is left of them under the limits of the configuration.
func (d *Dataset) Next() (*Conversation, error) { return d.order.next() }

// Skipped is how many rows could not be read. Each pass over the files counts them again.
func (d *Dataset) Skipped() int64 { return d.notes.skipped.Load() }

// Filtered is how many rows the limits of the configuration left out. Each pass over the files counts them again.
func (d *Dataset) Filtered() int64 { return d.notes.filtered.Load() }

// Split is how many sessions began anew because their rows lie further apart than the look-ahead window, 16384 rows or 16 MiB.
func (d *Dataset) Split() int64 { return d.notes.split.Load() }

// Close closes the files.
func (d *Dataset) Close() error {
	errs := make([]error, 0, len(d.close))
	for _, f := range d.close {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
