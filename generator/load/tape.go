package load

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// tape is a recording on the time of the schedule: played faster, with idle times cut, and over and over. It reads a turn at a time, and
// holds none.
type tape struct {
	recording  Recording
	speedup    float64
	idleCap    int64 // in the recording's time; 0 = none
	start, end int64 // first and last time of the recording that is played; end 0 = all
	loop       bool
	gap        int64 // between passes

	pass   int64 // from 0
	base   int64 // where the pass begins, from the anchor
	length int64 // of the last whole pass
	now    int64 // instant of the latest turn with a time, or base
	begun  bool  // the pass has had a turn with a time
	last   int64 // recorded time of the latest turn
	cut    int64 // recorded time that was left out of the pass
}

// defaultLoopGap holds where loop_gap is not set.
const defaultLoopGap = time.Second

func newTape(c *Config, recording Recording) *tape {
	t := &tape{
		recording: recording, speedup: c.Speedup, start: int64(c.StartOffset), end: int64(c.EndOffset),
		loop: c.loops(), gap: int64(c.LoopGap),
	}
	if t.speedup == 0 {
		t.speedup = 1
	}
	t.idleCap = int64(float64(c.IdleCap) * t.speedup)
	if t.gap == 0 {
		t.gap = int64(defaultLoopGap)
	}
	return t
}

// plays tells whether a turn with a time lies in the part that is played.
func (t *tape) plays(r *Recorded) bool {
	return r.At >= t.start && (t.end == 0 || r.At <= t.end)
}

// isWhole tells that all of the recording is played.
func (t *tape) isWhole() bool { return t.start == 0 && t.end == 0 }

// errTimeless is the error of a recording whose times are missing.
func (t *tape) errTimeless() error {
	if t.isWhole() {
		return errors.New("recording: no turn has a time, which mode replay needs")
	}
	return errors.New("recording: no turn lies between start_offset and end_offset")
}

// next reads a turn of the pass, which may lie outside of the part that is played. Of one that is played and has a time, now is the instant
// afterwards. io.EOF ends the pass, and rewind begins the next one.
func (t *tape) next() (Recorded, error) {
	r, err := t.recording.Next()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("recording: %w", err)
		}
		return Recorded{}, err
	}
	r.Delay = int64(float64(r.Delay) / t.speedup)
	if r.HasAt && t.plays(&r) {
		t.move(r.At)
	}
	return r, nil
}

// move goes on to a recorded time. A file whose times go back a little is read as if they stood still.
func (t *tape) move(at int64) {
	switch {
	case t.begun && t.idleCap > 0:
		t.cut += max(0, at-t.last-t.idleCap)
	case t.begun:
	case t.start > 0:
		t.last, t.cut = at, t.start
	default:
		t.last, t.cut = at, at
	}
	t.begun = true
	t.last = max(t.last, at)
	t.now = t.base + int64(float64(t.last-t.cut)/t.speedup)
}

// rewind begins the next pass.
func (t *tape) rewind() {
	t.length = t.now - t.base + t.gap
	t.pass++
	t.base += t.length
	t.now, t.begun = t.base, false
}

// leap passes over whole passes that end before an instant, and returns their number. It is for the beginning of a pass after the first.
func (t *tape) leap(before int64) (passes int64) {
	passes = max(0, (before-t.base)/t.length)
	t.pass += passes
	t.base += passes * t.length
	t.now = t.base
	return passes
}
