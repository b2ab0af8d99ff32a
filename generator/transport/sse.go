package transport

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrEventTooLarge tells that one event of a stream holds more bytes than the framer may keep. It is final for the stream: what
// follows the cut cannot be told apart from the event's own bytes.
var ErrEventTooLarge = errors.New("event too large")

// retainedBytes is how much of a grown buffer Reset keeps. Usual events are far below; one of a megabyte must not stay in a pool.
const retainedBytes = 64 << 10

// byteOrderMark is stripped from the start of a stream, once.
const byteOrderMark = "\xef\xbb\xbf"

// Framer cuts server-sent events out of a byte stream, in the reading of the HTML standard ("Interpreting an event stream"), with the
// differences that measuring needs:
//
//   - a comment line is an event of its own (Comment), delivered when its line is complete, also from inside another event;
//   - so is an event whose data is empty and that has no name: nothing but a sign of life;
//   - an event name without data is delivered, because the name alone may tell an error;
//   - an event that the end of the stream cuts off is delivered by Close.
//
// Lines end with LF, CR LF or CR, in any mixture. A CR is acted upon at once, without waiting for the LF that may follow it in the
// next read, so that an event is stamped with the read that completed it. Bytes that are not UTF-8 pass unchanged.
//
// An event that lies inside one read is not copied. A Framer serves one stream at a time; Reset prepares it for the next.
type Framer struct {
	maxEventBytes int

	// in is the current read and pos the first byte of it that is not consumed. lf and cr are the next LF and CR at or after pos,
	// len(in) if there is none; they are searched again only once pos has passed them, which keeps a read of CR lines linear.
	in          []byte
	pos, lf, cr int
	at, read    int64

	// line is the beginning of a line whose end earlier reads did not bring.
	line []byte
	// data is the pending event's data: part of in or of line, or all of joined if ownsData.
	data     []byte
	joined   []byte
	hasData  bool
	ownsData bool
	name     []byte

	skipLF   bool // the last read ended with CR
	bomBytes int  // how many bytes of the byte order mark have been seen; len(byteOrderMark) = not looked for any more
	err      error
}

// NewFramer makes a framer that keeps at most maxEventBytes, which is > 0, of one event: the data and the name so far, and the line being read.
func NewFramer(maxEventBytes int) *Framer {
	return &Framer{maxEventBytes: maxEventBytes}
}

// Reset forgets the stream and gives back the memory of an unusually large event.
func (f *Framer) Reset() {
	*f = Framer{
		maxEventBytes: f.maxEventBytes,
		line:          emptied(f.line),
		joined:        emptied(f.joined),
		name:          emptied(f.name),
	}
}

// emptied is the buffer without its content, or none if it has grown too large to be kept.
func emptied(buffer []byte) []byte {
	if cap(buffer) > retainedBytes {
		return nil
	}
	return buffer[:0]
}

// Write adds the bytes of one read, which arrived at the instant at (nanoseconds since the process epoch); read numbers it. The slice
// must stay unchanged until Next returns false, and is not kept after that. Write is only allowed then.
func (f *Framer) Write(p []byte, at, read int64) {
	if f.err != nil || len(p) == 0 {
		return
	}
	if f.pos < len(f.in) {
		panic("transport: Framer.Write before Next has consumed the previous read")
	}
	f.at, f.read = at, read
	if f.skipLF {
		f.skipLF = false
		if p[0] == '\n' {
			p = p[1:]
		}
	}
	p = f.stripByteOrderMark(p)
	f.in, f.pos, f.lf, f.cr = p, 0, -1, -1
}

// stripByteOrderMark removes the mark from the first bytes of the stream, over as many reads as they take.
func (f *Framer) stripByteOrderMark(p []byte) []byte {
	for f.bomBytes < len(byteOrderMark) && len(p) > 0 {
		if p[0] != byteOrderMark[f.bomBytes] {
			// No mark after all: what looked like its beginning in earlier reads begins the first line, and what did in this one
			// is handled alike, to have one way only.
			f.line = append(f.line, byteOrderMark[:f.bomBytes]...)
			f.bomBytes = len(byteOrderMark)
			break
		}
		p = p[1:]
		f.bomBytes++
	}
	return p
}

// Next returns the next complete event in ev; false when more bytes are needed. The slices of ev are valid until the next call of Next,
// Write, Close or Reset. The error is ErrEventTooLarge, and stays.
func (f *Framer) Next(ev *Event) (bool, error) {
	for f.err == nil {
		line, ok := f.nextLine()
		if !ok {
			break
		}
		if f.err = f.checkSize(len(line)); f.err != nil {
			break
		}
		if f.takeLine(line, ev) {
			return true, nil
		}
	}
	if f.err == nil {
		f.err = f.carryOver()
	}
	if f.err != nil {
		f.drop()
	}
	return false, f.err
}

// Close ends the stream: it returns in ev the event that has no terminating blank line, false if there is none. Its instant is that of
// the last read. A comment without line end is not delivered.
func (f *Framer) Close(ev *Event) (bool, error) {
	if f.err != nil {
		return false, f.err
	}
	if f.bomBytes < len(byteOrderMark) {
		f.line = append(f.line, byteOrderMark[:f.bomBytes]...)
		f.bomBytes = len(byteOrderMark)
	}
	if f.err = f.checkSize(len(f.line)); f.err != nil {
		f.drop()
		return false, f.err
	}
	line := f.line
	f.line = f.line[:0]
	if len(line) > 0 {
		f.takeLine(line, ev)
	}
	ok := f.dispatch(ev)
	ev.Cut = ok && !ev.Comment
	return ok, nil
}

// nextLine consumes one line, without its end, from the current read; false when the read holds no further line end.
func (f *Framer) nextLine() ([]byte, bool) {
	end := f.lineEnd()
	if end == len(f.in) {
		return nil, false
	}
	line := f.in[f.pos:end]
	f.pos = end + 1
	if f.in[end] == '\r' {
		if f.pos == len(f.in) {
			f.skipLF = true
		} else if f.in[f.pos] == '\n' {
			f.pos++
		}
	}
	if len(f.line) > 0 {
		// The bytes stay in place until the next incomplete line is carried over, which first saves the data that points here.
		f.line = append(f.line, line...)
		line = f.line
		f.line = f.line[:0]
	}
	return line, true
}

// lineEnd is the index of the next CR or LF of the current read, len(in) if there is none.
func (f *Framer) lineEnd() int {
	if f.lf < f.pos {
		f.lf = indexFrom(f.in, f.pos, '\n')
	}
	if f.cr < f.pos {
		f.cr = indexFrom(f.in, f.pos, '\r')
	}
	return min(f.lf, f.cr)
}

// indexFrom is the index of the first c at or after pos, len(b) if there is none.
func indexFrom(b []byte, pos int, c byte) int {
	if i := bytes.IndexByte(b[pos:], c); i >= 0 {
		return pos + i
	}
	return len(b)
}

// takeLine adds a line to the pending event and tells whether an event is complete in ev.
func (f *Framer) takeLine(line []byte, ev *Event) bool {
	if len(line) == 0 {
		return f.dispatch(ev)
	}
	if line[0] == ':' {
		*ev = Event{Comment: true, At: f.at, Read: f.read}
		return true
	}
	field, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(field) { // id, retry and unknown fields mean nothing here
	case "data":
		f.addData(value)
	case "event":
		f.name = append(f.name[:0], value...)
	}
	return false
}

// addData appends a data line to the pending event's data.
func (f *Framer) addData(value []byte) {
	if !f.hasData {
		f.data, f.hasData = value, true
		return
	}
	f.ownData()
	f.joined = append(f.joined, '\n')
	f.joined = append(f.joined, value...)
	f.data = f.joined
}

// ownData makes joined hold the pending data, so that it outlives the read, and can grow.
func (f *Framer) ownData() {
	if f.ownsData || !f.hasData {
		return
	}
	f.joined = append(f.joined[:0], f.data...)
	f.data, f.ownsData = f.joined, true
}

// dispatch ends the pending event and tells whether there is anything to deliver.
func (f *Framer) dispatch(ev *Event) bool {
	if !f.hasData && len(f.name) == 0 {
		return false
	}
	*ev = Event{Name: f.name, Data: f.data, At: f.at, Read: f.read}
	if len(f.name) == 0 && len(f.data) == 0 {
		*ev = Event{Comment: true, At: f.at, Read: f.read}
	}
	f.data, f.hasData, f.ownsData = nil, false, false
	f.name = f.name[:0] // the bytes stay in place until the next name
	return true
}

// carryOver moves what the current read leaves incomplete into the framer's own memory.
func (f *Framer) carryOver() error {
	rest := f.in[f.pos:]
	f.in, f.pos, f.lf, f.cr = nil, 0, 0, 0
	f.ownData()
	if err := f.checkSize(len(f.line) + len(rest)); err != nil {
		return err
	}
	f.line = append(f.line, rest...)
	return nil
}

// checkSize refuses an event that has grown too large with a line of lineBytes. The rule does not depend on where reads end: a beginning
// of a line that is too large is one of a line that is.
func (f *Framer) checkSize(lineBytes int) error {
	if size := len(f.data) + len(f.name) + lineBytes; size > f.maxEventBytes {
		return fmt.Errorf("%w: more than %d bytes", ErrEventTooLarge, f.maxEventBytes)
	}
	return nil
}

// drop frees what a failed stream has gathered.
func (f *Framer) drop() {
	f.in, f.pos, f.lf, f.cr = nil, 0, 0, 0
	f.line, f.joined, f.data, f.name = nil, nil, nil, nil
}
