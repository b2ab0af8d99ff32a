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

	current int // index of the open file
	file    *os.File
	begin   int64 // offset of the file in the dataset
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
	l := &lines{files: files, buffer: bufio.NewReaderSize(nil, 64<<10)}
	if err := l.rewind(); err != nil {
		return nil, err
	}
	return &decoded{l, d}, nil
}

func (l *lines) size() int64 { return l.files.total() }

func (l *lines) rewind() error { return l.open(0, 0, mark{}) }

func (l *lines) seek(m mark) error {
	i, begin := l.files.at(m.offset)
	if i == l.current && l.file != nil {
		return l.place(begin, m)
	}
	return l.open(i, begin, m)
}

// open begins to read the file with this index at a mark.
func (l *lines) open(i int, begin int64, m mark) error {
	if err := l.Close(); err != nil {
		return err
	}
	l.current, l.begin = i, begin
	if i == len(l.files.names) {
		return nil
	}
	file, err := os.Open(l.files.names[i])
	if err != nil {
		return plain(err, l.files.names[i])
	}
	l.file = file
	return l.place(begin, m)
}

// place goes to a mark in the open file.
func (l *lines) place(begin int64, m mark) error {
	name := l.files.names[l.current]
	offset := m.offset - begin
	if _, err := l.file.Seek(offset, io.SeekStart); err != nil {
		return plain(err, name)
	}
	l.offset, l.line = offset, max(m.line-1, 0)
	l.buffer.Reset(l.file)
	if compressed(name) {
		if offset != 0 {
			return &Error{File: name, Err: errors.New("is compressed, there is no going back in it")}
		}
		unpacked, err := gzip.NewReader(l.file)
		if err != nil {
			return &Error{File: name, Err: fmt.Errorf("decompress: %w", err)}
		}
		l.buffer.Reset(unpacked)
	}
	return nil
}

func (l *lines) next() (record, error) {
	for l.file != nil {
		r := record{file: l.files.names[l.current], line: l.line + 1, mark: mark{l.begin + l.offset, l.line + 1}}
		data, err := l.readLine(&r)
		switch {
		case err == io.EOF:
			if err := l.open(l.current+1, l.begin+l.files.sizes[l.current], mark{l.begin + l.files.sizes[l.current], 1}); err != nil {
				return record{}, err
			}
			continue
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
		case err == bufio.ErrBufferFull, err == io.EOF && read > len(part), err == nil && read > len(part):
			if read <= maxRecord {
				l.long = append(l.long, part...)
			}
			if err == bufio.ErrBufferFull {
				continue
			}
			part = l.long
		case err == io.EOF && read == 0:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, l.broken(r, err)
		}
		l.line++
		if read > maxRecord {
			l.long = l.long[:0]
			return nil, r.wrong("the line is longer than %d MiB", maxRecord>>20)
		}
		return part, nil
	}
}

// broken is an error of the file itself. A compressed one cannot be read on; the next call begins with the next file.
func (l *lines) broken(r *record, err error) error {
	end := l.begin + l.files.sizes[l.current]
	if err := l.open(l.current+1, end, mark{end, 1}); err != nil {
		return err
	}
	return r.wrong("read: %w", err)
}

func (l *lines) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
