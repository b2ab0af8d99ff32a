package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// array cuts one JSON document into the elements of one list in it: that under a key of the document, or the document itself. It reads no
// further than the element that is asked for, and not behind the end of the list.
type array struct {
	name  string
	bytes int64 // size of the file
	key   string

	file  *os.File
	in    cursor
	first mark // behind the opening bracket
	ended bool
	begun bool // an element was read before, so that a comma comes next
}

// openElements opens a format that is one document with a list under key, "" = the document is the list. Each element is a record.
func openElements(c *settings, key string, d decoder) (reader, error) {
	files, err := list(c)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(c.File)
	if err != nil {
		return nil, plain(err, c.File)
	}
	a := &array{name: c.File, bytes: files.sizes[0], key: key, file: file, in: cursor{buffer: bufio.NewReaderSize(file, 64<<10), line: 1}}
	if err := a.enter(); err != nil {
		return nil, errors.Join(&Error{File: c.File, Line: a.in.line, Err: err}, file.Close())
	}
	a.first = mark{a.in.offset, a.in.line}
	return &decoded{a, d}, nil
}

// enter goes to the place behind the opening bracket of the list.
func (a *array) enter() error {
	if bom, _ := a.in.buffer.Peek(3); string(bom) == "\xef\xbb\xbf" {
		a.in.skip(3)
	}
	if a.key == "" {
		return a.in.expect('[')
	}
	if err := a.in.expect('{'); err != nil {
		return err
	}
	for {
		key, err := a.in.value()
		if err != nil {
			return err
		}
		if err := a.in.expect(':'); err != nil {
			return err
		}
		if string(key) == `"`+a.key+`"` {
			return a.in.expect('[')
		}
		if _, err := a.in.value(); err != nil {
			return err
		}
		if c := a.in.peek(); c == '}' {
			return fmt.Errorf("has no list %q", a.key)
		}
		if err := a.in.expect(','); err != nil {
			return err
		}
	}
}

func (a *array) size() int64 { return a.bytes }

func (a *array) rewind() error {
	err := a.seek(a.first)
	a.begun = false
	return err
}

func (a *array) seek(m mark) error {
	if _, err := a.file.Seek(m.offset, io.SeekStart); err != nil {
		return plain(err, a.name)
	}
	a.in.buffer.Reset(a.file)
	a.in.offset, a.in.line = m.offset, m.line
	a.ended, a.begun = false, false
	return nil
}

func (a *array) next() (record, error) {
	if a.ended {
		return record{}, io.EOF
	}
	switch c := a.in.peek(); {
	case c == ']':
		a.ended = true
		return record{}, io.EOF
	case a.begun:
		if err := a.in.expect(','); err != nil {
			return record{}, a.broken(err)
		}
		a.in.peek()
	}
	r := record{file: a.name, line: a.in.line, mark: mark{a.in.offset, a.in.line}}
	data, err := a.in.value()
	switch {
	case errors.Is(err, errTooLong):
		a.begun = true
		return record{}, r.wrong("%w", err)
	case err != nil:
		return record{}, a.broken(err)
	}
	a.begun = true
	if !utf8.Valid(data) {
		return record{}, r.wrong("is not UTF-8")
	}
	r.data = data
	return r, nil
}

// broken is an error behind which nothing can be read.
func (a *array) broken(err error) error {
	a.ended = true
	return &Error{File: a.name, Line: a.in.line, Err: err}
}

func (a *array) Close() error { return a.file.Close() }

// cursor reads JSON from a stream, value by value.
type cursor struct {
	buffer *bufio.Reader
	offset int64
	line   int
	held   []byte
}

// errTooLong: a value is longer than maxRecord; it was passed over.
var errTooLong = fmt.Errorf("is longer than %d MiB", maxRecord>>20)

// errCut: the stream ends inside the document.
var errCut = errors.New("is not JSON: it ends too early")

// peek goes to the next byte that is no white space and gives it, 0 at the end.
func (c *cursor) peek() byte {
	for {
		b, err := c.buffer.ReadByte()
		switch {
		case err != nil:
			return 0
		case b == '\n':
			c.line++
		case b != ' ' && b != '\t' && b != '\r':
			_ = c.buffer.UnreadByte()
			return b
		}
		c.offset++
	}
}

// skip passes over n bytes that are in the buffer.
func (c *cursor) skip(n int) {
	_, _ = c.buffer.Discard(n)
	c.offset += int64(n)
}

// expect passes over white space and this byte.
func (c *cursor) expect(want byte) error {
	got := c.peek()
	if got == 0 {
		return errCut
	}
	if got != want {
		return fmt.Errorf("is not JSON of this format: expected %q, got %q", want, got)
	}
	c.skip(1)
	return nil
}

// value gives the next value, valid until the next call. Its end is found, it is not checked.
func (c *cursor) value() ([]byte, error) {
	if cap(c.held) > 1<<20 {
		c.held = nil
	}
	c.held = c.held[:0]
	if c.peek() == 0 {
		return nil, errCut
	}
	var v extent
	for long := false; ; {
		if _, err := c.buffer.Peek(1); err != nil {
			return nil, errCut
		}
		part, _ := c.buffer.Peek(c.buffer.Buffered())
		n, ended := v.take(part)
		if long = long || len(c.held)+n > maxRecord; !long {
			c.held = append(c.held, part[:n]...)
		}
		c.line += bytes.Count(part[:n], []byte{'\n'})
		c.skip(n)
		switch {
		case ended && long:
			return nil, errTooLong
		case ended && len(c.held) == 0:
			return nil, errors.New("is not JSON: a value is missing")
		case ended:
			return c.held, nil
		}
	}
}

// extent finds the end of a JSON value that comes in parts.
type extent struct {
	depth            int
	inside, escaped  bool // of a string
	begun, delimited bool // delimited: the value ends with its own last byte
}

// take gives how many bytes of part belong to the value, and whether it ends with them.
func (v *extent) take(part []byte) (n int, ended bool) {
	for i, c := range part {
		switch {
		case v.inside:
			v.quoted(c)
		case v.depth == 0 && v.begun && bytes.IndexByte([]byte(",:]} \t\r\n"), c) >= 0:
			return i, true // the end of a number or a word, behind which something else stands
		default:
			if !v.open(c) {
				return i, true
			}
		}
		v.begun = true
		if v.delimited && v.depth == 0 && !v.inside {
			return i + 1, true
		}
	}
	return len(part), false
}

// quoted takes a byte of a string.
func (v *extent) quoted(c byte) {
	switch {
	case v.escaped:
		v.escaped = false
	case c == '\\':
		v.escaped = true
	case c == '"':
		v.inside = false
	}
}

// open takes a byte outside of strings; false if it ends what encloses the value.
func (v *extent) open(c byte) bool {
	switch c {
	case '"':
		v.inside = true
	case '{', '[':
		v.depth++
	case '}', ']':
		v.depth--
		return v.depth >= 0
	case ',', ':':
		return v.depth > 0
	default:
		return true
	}
	v.delimited = v.delimited || !v.begun
	return true
}
