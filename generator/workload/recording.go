package workload

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/google/uuid"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// Entry is a recorded turn, as far as the load has to know it.
type Entry struct {
	Key     uint64 // of the turn, from 1: see Pick.Entry
	Session uint64 // turns of one session run one after the other; 0 = it stands alone
	// At is when it was asked, in nanoseconds from the first turn of the recording; only if HasAt. Otherwise it is asked Delay nanoseconds
	// after the end of the session's turn before.
	At    int64
	HasAt bool
	Delay int64
	// Joins are the sessions of sub-agents whose turns before this one must have ended. Parent is the session that began this one as a
	// sub-agent; 0 = none did.
	Joins  []uint64
	Parent uint64
}

// maxKept bounds the turns that were handed out and neither taken nor forgotten.
const maxKept = 100_000

// Recording hands out the turns of a dataset in the order of time, again and again. It keeps those that were handed out until Next of the
// workload takes them by their key, or Forget drops them.
type Recording struct {
	w    *Workload
	from *recorded // nil = the workload has no dataset
	rows *dataset.Recording
	err  error

	key  uint64 // of the last turn
	low  uint64 // no turn below is kept
	pass uint64
	kept map[uint64]keptRow
}

// keptRow is a row that was handed out.
type keptRow struct {
	row  *dataset.Row
	pass uint64
}

// sessionKey names a recorded session in one pass.
type sessionKey struct {
	pass uint64 // from 1
	name string
}

var (
	errNoRecording = errors.New("the workload has no dataset to replay")
	errNotKept     = errors.New("the recorded turn is not there any more")
)

// Recording gives the turns of the dataset for replay, always the same cursor.
func (w *Workload) Recording() *Recording {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.recording == nil {
		r := &Recording{w: w, kept: map[uint64]keptRow{}, pass: 1}
		if from, ok := w.asker.(*recorded); ok {
			r.from = from
			r.rows, r.err = from.data.Recording()
		} else {
			r.err = errNoRecording
		}
		w.recording = r
	}
	return w.recording
}

// Next gives the next turn; io.EOF at the end of the recording, after which it begins anew.
func (r *Recording) Next() (Entry, error) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if r.err != nil {
		return Entry{}, r.err
	}
	row, err := r.rows.Next()
	if errors.Is(err, io.EOF) {
		r.pass++
		r.w.sessions.endReplays(r.pass)
		return Entry{}, io.EOF
	}
	if err != nil {
		return Entry{}, fmt.Errorf("dataset: %w", err)
	}
	r.key++
	r.kept[r.key] = keptRow{row, r.pass}
	for len(r.kept) > maxKept {
		r.low++
		delete(r.kept, r.low)
	}
	e := Entry{Key: r.key, At: int64(row.At), HasAt: row.HasAt, Delay: int64(row.Delay)}
	e.Session, e.Parent = r.number(row.Session), r.number(row.Parent)
	for _, name := range row.Joins {
		e.Joins = append(e.Joins, r.number(name))
	}
	return e, nil
}

// number is that of a session of this pass; 0 for none.
func (r *Recording) number(session string) uint64 {
	if session == "" {
		return 0
	}
	return max(1, sessionKey{r.pass, session}.hash())
}

// Forget drops a turn that was handed out and will not be asked.
func (w *Workload) Forget(key uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.recording != nil {
		delete(w.recording.kept, key)
	}
}

// SkippedRows is how many rows of the dataset could not be read so far, each pass counted anew.
func (w *Workload) SkippedRows() int64 {
	if r, ok := w.asker.(*recorded); ok {
		return r.data.Skipped()
	}
	return 0
}

// prepareRecorded finds the conversation to which a recorded turn belongs.
func (w *Workload) prepareRecorded(key uint64) (*conversation, draft, error) {
	if w.recording == nil {
		return nil, draft{}, errNotKept
	}
	kept, ok := w.recording.kept[key]
	if !ok {
		return nil, draft{}, errNotKept
	}
	delete(w.recording.kept, key)
	session := sessionKey{kept.pass, kept.row.Session}
	c := w.replayed(&kept, session)
	d := w.draw(c)
	if !w.fits(c, &d) && c.asked > 0 {
		w.sessions.end(c, &w.sessions.stats.truncated)
		c = w.replayed(&kept, session)
		d = w.draw(c)
	}
	return c, d, nil
}

// replayed is the conversation that a recorded turn goes on with, or a new one.
func (w *Workload) replayed(kept *keptRow, session sessionKey) *conversation {
	from := w.recording.from
	goesOn := session.name != "" && !kept.row.SelfContained && kept.row.Prompt.Payload == nil
	if c := w.sessions.replays[session]; goesOn && c != nil && c.place >= 0 {
		w.sessions.remove(c)
		c.row = kept.row
		return c
	}
	c := w.sessions.begin(w.begun, 0)
	w.begun++
	c.row = kept.row
	if session.name != "" {
		c.id = session.uuid(w.firstNonce)
	}
	if parent := kept.row.Parent; parent != "" {
		c.parentID = sessionKey{kept.pass, parent}.uuid(w.firstNonce)
	}
	if w.config.Cache != CacheRepeat {
		switch {
		case len(c.row.HashIDs) > 0:
			c.nonce = from.passNonce(kept.pass)
		case session.name != "":
			c.nonce = hexadecimal(mix(w.firstNonce ^ session.hash()))
		default:
			c.nonce = w.nonce(c.number)
		}
	}
	if goesOn && w.sessions.replays[session] == nil {
		c.replay, c.turns = session, math.MaxInt // the recording does not say which turn is the last
		w.sessions.replays[session] = c
		w.sessions.stats.active.Add(1)
	}
	return c
}

// hash makes a number of the name.
func (k sessionKey) hash() uint64 {
	h := k.pass
	for _, b := range []byte(k.name) {
		h = mix(h + uint64(b))
	}
	return mix(h)
}

// uuid is the same for a session of one pass and process, and no other's.
func (k sessionKey) uuid(nonce uint64) string {
	var id uuid.UUID
	h := k.hash()
	for i := range id {
		if i%8 == 0 {
			h = mix(h ^ nonce)
		}
		id[i] = byte(h >> (8 * (i % 8)))
	}
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// endReplays ends the conversations of passes before the last one: their recorded turns have all been handed out.
func (s *sessions) endReplays(pass uint64) {
	for key, c := range s.replays {
		if key.pass+1 < pass && c.place >= 0 {
			s.remove(c)
			s.end(c, &s.stats.completed)
		}
	}
}
