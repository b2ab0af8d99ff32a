package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
)

// A reader gives the entries of a dataset in the order of its files.
type reader interface {
	// read gives the next entry; io.EOF when all were read, until rewind. An *Error is about one entry: the next call goes on behind it.
	// Every other error is about the whole. The entry is the caller's.
	read() (entry, error)
	// seek makes the entry of this mark the next one; an error if the source cannot go back (compressed files).
	seek(mark) error
	// rewind makes the first entry the next one.
	rewind() error
	// size is the number of bytes of the files, -1 = seek is not possible.
	size() int64
	io.Closer
}

// entry is what stands in one place of a file: one or more turns of one session. One without rows holds nothing to ask and is passed over.
type entry struct {
	rows []Row
	// order sorts the entries of a session that stand apart; equal ones stay as in the file.
	order int
	// left is how many rows the format itself leaves out.
	left int
	// cost is about how many bytes the entry holds in memory.
	cost int
	mark mark
}

// session is the session of all rows, "" if they stand alone.
func (e *entry) session() string { return e.rows[0].Session }

// mark is where an entry stands, for seek: bytes (or rows) from the beginning of the first file, and the line for messages.
type mark struct {
	offset int64
	line   int
}

// record is the undecoded text of an entry.
type record struct {
	file string
	line int
	mark mark
	data []byte // valid until the next record is read
}

// wrong makes the error about this record.
func (r *record) wrong(format string, args ...any) error {
	return &Error{File: r.file, Line: r.line, Err: fmt.Errorf(format, args...)}
}

// A framer cuts files into records, under the same rules as a reader.
type framer interface {
	next() (record, error)
	seek(mark) error
	rewind() error
	size() int64
	io.Closer
}

// A decoder makes an entry of a record. Its rows hold no memory of the record.
type decoder interface {
	decode(*record) (entry, error)
	// reset forgets what was learned from earlier records.
	reset()
}

// decode is a decoder that learns nothing.
type decode func(*record) (entry, error)

func (d decode) decode(r *record) (entry, error) { return d(r) }
func (d decode) reset()                          {}

// decoded is the reader of a framer and a decoder.
type decoded struct {
	framer
	decoder
}

func (d *decoded) read() (entry, error) {
	r, err := d.next()
	if err != nil {
		return entry{}, err
	}
	e, err := d.decode(&r)
	if err != nil {
		if _, positioned := errors.AsType[*Error](err); !positioned {
			err = &Error{File: r.file, Line: r.line, Err: err}
		}
		return entry{}, err
	}
	own := ""
	if len(e.rows) > 1 && e.session() == "" {
		own = filepath.Base(r.file) + ":" + strconv.Itoa(r.line)
	}
	for i := range e.rows {
		row := &e.rows[i]
		row.File, row.Line, row.Session = r.file, r.line, cmp.Or(row.Session, own)
	}
	e.cost += len(r.data) + len(e.rows)*rowBytes
	e.mark = r.mark
	return e, nil
}

// rowBytes is about the size of a row without what it points at.
const rowBytes = 512

func (d *decoded) rewind() error {
	d.reset()
	return d.framer.rewind()
}
