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
	"fmt"
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
	// SelfContained: Prompt, or the length, holds the whole conversation so far, so that live answers are not put into it.
	SelfContained bool

	// InputTokens and OutputTokens are recorded lengths; 0 = not told.
	InputTokens, OutputTokens int
	// HashIDs name the blocks of BlockSize tokens of which a prompt that is made begins: equal ids of one file are equal text.
	HashIDs   []uint64
	BlockSize int

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
