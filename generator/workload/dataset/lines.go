package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// lines cuts files into lines. Blank lines are passed over, a byte order mark at the beginning of a file is not part of its first line.
type lines struct {
	files *files

	current int      // index of the file that is read
	file    *os.File // nil = it is not open yet
	begin   int64    // its offset in the dataset
	buffer  *bufio.Reader
	offset  int64 // of the next line in the file
	line    int   // number of the line before the next one
	long    []byte
}

// openLines opens a format of which each line is a record.
func openLines(c *settings, d decoder) (reader, error) {
	files, err := list(c)
	if err != nil {
		return nil, err
	}
	return &decoded{&lines{files: files, buffer: bufio.NewReaderSize(nil, 64<<10)}, d}, nil
}

func (l *lines) size() int64 { return l.files.total() }

func (l *lines) rewind() error {
	err := l.Close()
	l.current, l.begin = 0, 0
	return err
}

func (l *lines) seek(m mark) error {
	i, begin := l.files.at(m.offset)
	if i == len(l.files.names) {
		return &Error{File: l.files.names[i-1], Line: m.line, Err: errChanged}
	}
	if i != l.current || l.file == nil {
		if err := l.Close(); err != nil {
			return err
		}
		l.current, l.begin = i, begin
		return l.open(m)
	}
	return l.place(m)
}

// open begins to read the current file at a mark.
func (l *lines) open(m mark) (err error) {
	name := l.files.names[l.current]
	if l.file, err = os.Open(name); err != nil {
		l.file = nil
		return plain(err, name)
	}
	return l.place(m)
}

// place goes to a mark in the current file.
func (l *lines) place(m mark) error {
	name := l.files.names[l.current]
	l.offset, l.line = m.offset-l.begin, max(m.line-1, 0)
	if _, err := l.file.Seek(l.offset, io.SeekStart); err != nil {
		return plain(err, name)
	}
	if !compressed(name) {
		l.buffer.Reset(l.file)
		return nil
	}
	unpacked, err := gzip.NewReader(l.file)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // an empty file is no end of anything
	}
	if err != nil {
		return &Error{File: name, Err: fmt.Errorf("decompress: %w", err)}
	}
	l.buffer.Reset(unpacked)
	return nil
}

// leave goes on to the next file.
func (l *lines) leave() error {
	l.begin += l.files.sizes[l.current]
	l.current++
	return l.Close()
}

func (l *lines) next() (record, error) {
	for l.current < len(l.files.names) {
		if l.file == nil {
			if err := l.open(mark{l.begin, 1}); err != nil {
				return record{}, errors.Join(err, l.leave())
			}
		}
		r := record{file: l.files.names[l.current], line: l.line + 1, mark: mark{l.begin + l.offset, l.line + 1}}
		data, err := l.readLine(&r)
		switch {
		case errors.Is(err, io.EOF):
			if err = l.leave(); err == nil {
				continue
			}
			return record{}, err
		case err != nil:
			return record{}, err
		}
		if r.line == 1 {
			data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		}
		data = bytes.TrimSpace(data)
		if len(data) == 0 {
			continue
		}
		if !utf8.Valid(data) {
			return record{}, r.wrong("is not UTF-8")
		}
		r.data = data
		return r, nil
	}
	return record{}, io.EOF
}

// readLine reads to the end of the line, whatever its length, and keeps it if it is not too long.
func (l *lines) readLine(r *record) ([]byte, error) {
	l.long = l.long[:0]
	if cap(l.long) > 1<<20 {
		l.long = nil // one long line is no reason to hold its memory for ever
	}
	read := 0
	for {
		part, err := l.buffer.ReadSlice('\n')
		read += len(part)
		l.offset += int64(len(part))
		switch {
		case errors.Is(err, bufio.ErrBufferFull), errors.Is(err, io.EOF) && read > len(part), err == nil && read > len(part):
			if read <= maxRecord {
				l.long = append(l.long, part...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			part = l.long
		case errors.Is(err, io.EOF) && read == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			// A broken file cannot be read on.
			return nil, errors.Join(r.wrong("read: %w", err), l.leave())
		}
		l.line++
		if read > maxRecord {
			l.long = l.long[:0]
			return nil, r.wrong("the line is longer than %d MiB", maxRecord>>20)
		}
		return part, nil
	}
}

func (l *lines) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
