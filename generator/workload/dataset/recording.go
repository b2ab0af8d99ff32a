package dataset

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"time"
)

// Recording is the rows of a dataset in the order in which they were asked, for replay. It has a cursor of its own.
type Recording struct {
	source *source

	window   recorded
	cost     int
	ended    bool
	begun    bool          // a row was given, so that zero is known
	zero     time.Duration // the instant of the first row
	last     time.Duration // of the row before, from the file's own zero
	rows     uint64        // read so far
	sessions *recent[string, latest]
}

// latest is the row of a session that was read last.
type latest struct {
	at     time.Duration
	manner manner
	index  int
}

// timed is a row with the instant that sorts it.
type timed struct {
	row  Row
	at   time.Duration
	seq  uint64 // equal instants stay in the order of the file
	cost int
}

// errUntimely marks rows that can be asked but not replayed.
var errUntimely = errors.New("the row has no place in the recording")

var errNoTimes = errors.New("has no instants to replay: the first row has no timestamp")

// Recording opens the dataset as a recording. It is an error if the format or the first row has no instants.
func (d *Dataset) Recording() (*Recording, error) {
	if !d.config.format.times {
		return nil, &Error{File: d.config.File, Err: fmt.Errorf("cannot be replayed: the format %s has no instants", d.config.Format)}
	}
	s, err := d.source(d.config)
	if err != nil {
		return nil, err
	}
	first, err := s.read()
	switch {
	case err != nil:
		return nil, err
	case len(first.rows) > 0 && !first.rows[0].HasAt:
		return nil, &Error{File: first.rows[0].File, Line: first.rows[0].Line, Err: errNoTimes}
	}
	if err := s.rewind(); err != nil {
		return nil, err
	}
	return &Recording{source: s, sessions: newRecent[string, latest](pastSessions)}, nil
}

// Next gives the next row. Its At counts from the first row, the earliest one of the first 16384 rows or 16 MiB, and never falls: rows that
// stand in the wrong order are put right if they are not further apart than that, others are passed over as rows that cannot be read. A
// row without At belongs behind the row of its session before it, Delay after its answer.
//
// The end of the recording is io.EOF; the call after it gives the first row again.
func (r *Recording) Next() (*Row, error) {
	for {
		if err := r.fill(); err != nil {
			return nil, err
		}
		if len(r.window) == 0 {
			return nil, r.restart()
		}
		next := heap.Pop(&r.window).(timed)
		r.cost -= next.cost
		if !r.begun {
			r.begun, r.zero, r.last = true, next.at, next.at
		}
		if next.at < r.last {
			r.untimely(&next.row, fmt.Errorf("%w: it is %v earlier than one that stands more than the look-ahead before it", errUntimely, r.last-next.at))
			continue
		}
		r.last = next.at
		if next.row.HasAt {
			next.row.At -= r.zero
		}
		return &next.row, nil
	}
}

// untimely passes over a row.
func (r *Recording) untimely(row *Row, err error) {
	r.source.skip(&Error{File: row.File, Line: row.Line, Err: err})
}

// restart makes the next row the first one of the next pass.
func (r *Recording) restart() error {
	begun := r.begun
	r.source.passes++
	r.ended, r.begun, r.rows = false, false, 0
	r.sessions.clear()
	if !begun {
		return &Error{File: r.source.config.File, Err: errNothing}
	}
	return io.EOF
}

// fill reads until the window is full or the pass ends.
func (r *Recording) fill() error {
	for !r.ended && len(r.window) < windowRows && r.cost < windowBytes {
		e, err := r.source.next()
		if errors.Is(err, io.EOF) {
			r.ended = true
			break
		}
		if err != nil {
			return err
		}
		cost := e.cost / len(e.rows)
		for i := range e.rows {
			r.spread(e.rows[i], cost)
		}
	}
	return nil
}

// spread puts a row and those of the agents that it begins where they belong in time.
func (r *Recording) spread(row Row, cost int) {
	agents := row.Agents
	row.Agents = nil
	r.add(row, cost)
	for i := range agents {
		for j := range agents[i].Rows {
			agents[i].Rows[j].Parent = row.Session
			r.spread(agents[i].Rows[j], rowBytes)
		}
	}
}

// add puts a row where it belongs in time.
func (r *Recording) add(row Row, cost int) {
	if bound := r.source.config.MaxContextTokens; bound != 0 && row.InputTokens+row.OutputTokens > bound {
		r.source.notes.filtered.Add(1)
		return
	}
	at := row.At
	before, known := latest{}, false
	if row.Session != "" {
		before, known = r.sessions.get(row.Session)
	}
	switch {
	case !row.HasAt && !known:
		r.untimely(&row, fmt.Errorf("%w: it has no timestamp, and no row of its session stands before it", errUntimely))
		return
	case known && before.manner != row.manner():
		r.source.skip(&Error{File: row.File, Line: row.Line, Err: errMixed})
		return
	case !row.HasAt:
		at = before.at
	}
	if known {
		row.Index = before.index + 1
	} else {
		row.Delay = 0
	}
	if row.Session != "" {
		r.sessions.put(row.Session, latest{at, row.manner(), row.Index})
	}
	r.rows++
	r.cost += cost
	heap.Push(&r.window, timed{row: row, at: at, seq: r.rows, cost: cost})
}

// recorded is a heap of rows, the earliest first.
type recorded []timed

func (h recorded) Len() int { return len(h) }
func (h recorded) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h recorded) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *recorded) Push(x any)   { *h = append(*h, x.(timed)) }
func (h *recorded) Pop() any {
	last := len(*h) - 1
	out := (*h)[last]
	(*h)[last] = timed{}
	*h = (*h)[:last]
	return out
}
