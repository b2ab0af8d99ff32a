package dataset

import (
	"errors"
	"io"
	"time"
)

// Summary is what a dataset holds under the limits of its configuration.
type Summary struct {
	// Turns are all rows, those of sub-agents too, which are no Conversations here.
	Conversations, Turns int
	// InputTokens and OutputTokens are the sums of the recorded lengths; rows without one count as 0.
	InputTokens, OutputTokens int64
	// MaxContext is the longest context that a conversation needs by its recorded lengths, in tokens.
	MaxContext int
	// PayloadStreams and PayloadsWhole are how many recorded bodies ask for a stream, and how many do not.
	PayloadStreams, PayloadsWhole int
	// Timed: the first row has an instant. Span is from it to that of the last row.
	Timed bool
	Span  time.Duration
	// Untimely rows have no place in a replay; what is wrong with the first of them is in UntimelyErrors.
	Untimely       int64
	UntimelyErrors []error
	// Skipped rows cannot be read, Filtered ones are outside the limits; Split sessions are asked in pieces, see Dataset.Split.
	Skipped, Filtered, Split int64
}

// Check reads the whole dataset of a validated c, and once more in the order of time if it has times. It gives the first limit errors;
// Skipped tells how many there are.
func Check(c *Config, limit int) (Summary, []error) {
	var out Summary
	var errs []error
	note := func(to *[]error, err error) {
		if len(*to) < limit {
			*to = append(*to, err)
		}
	}
	d := &Dataset{config: c.settings(), notes: notes{onSkip: func(err error) { note(&errs, err) }}}
	err := d.count(&out)
	out.Skipped, out.Filtered, out.Split = d.Skipped(), d.Filtered(), d.Split()
	if err == nil && out.Timed {
		d.notes.onSkip = func(err error) {
			if errors.Is(err, errUntimely) { // all others are known
				out.Untimely++
				note(&out.UntimelyErrors, err)
			}
		}
		err = d.measure(&out)
	}
	if err = errors.Join(err, d.Close()); err != nil && len(errs) == 0 {
		note(&errs, err) // otherwise it says no more than that nothing is left
	}
	return out, errs
}

// count reads all conversations.
func (d *Dataset) count(out *Summary) error {
	s, err := d.source(d.config)
	if err != nil {
		return err
	}
	for a := newAssembler(s, d.config.format.spread); ; {
		c, err := a.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out.add(c)
	}
}

func (s *Summary) add(c *Conversation) {
	if s.Turns == 0 {
		s.Timed = c.Rows[0].HasAt
	}
	s.Conversations++
	s.MaxContext = max(s.MaxContext, c.context())
	s.addRows(c.Rows)
}

// addRows counts rows and those of the agents that they begin.
func (s *Summary) addRows(rows []Row) {
	s.Turns += len(rows)
	for i := range rows {
		r := &rows[i]
		for j := range r.Agents {
			s.addRows(r.Agents[j].Rows)
		}
		s.InputTokens += int64(r.InputTokens)
		s.OutputTokens += int64(r.OutputTokens)
		switch {
		case r.Prompt.Payload == nil:
		case r.PayloadStream:
			s.PayloadStreams++
		default:
			s.PayloadsWhole++
		}
	}
}

// measure reads all rows in the order of their instants.
func (d *Dataset) measure(out *Summary) error {
	r, err := d.Recording()
	if err != nil {
		return err
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if row.HasAt {
			out.Span = row.At
		}
	}
}
