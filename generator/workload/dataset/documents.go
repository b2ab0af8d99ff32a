package dataset

import (
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// documents takes each file as one record.
type documents struct {
	files *files
	index int   // of the next file
	begin int64 // its offset in the dataset
}

// openDocuments opens a format of which each file is a record.
func openDocuments(c *settings, d decoder) (reader, error) {
	files, err := list(c)
	if err != nil {
		return nil, err
	}
	return &decoded{&documents{files: files}, d}, nil
}

func (d *documents) size() int64  { return d.files.total() }
func (d *documents) Close() error { return nil }

func (d *documents) rewind() error {
	d.index, d.begin = 0, 0
	return nil
}

func (d *documents) seek(m mark) error {
	d.index, d.begin = d.files.at(m.offset)
	return nil
}

func (d *documents) next() (record, error) {
	if d.index == len(d.files.names) {
		return record{}, io.EOF
	}
	r := record{file: d.files.names[d.index], line: 1, mark: mark{d.begin, 1}}
	d.begin += d.files.sizes[d.index]
	d.index++
	data, err := readFile(r.file)
	if err != nil {
		return record{}, err
	}
	if !utf8.Valid(data) {
		return record{}, r.wrong("is not UTF-8")
	}
	r.data = data
	return r, nil
}

// readFile reads a file that is one record.
func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, plain(err, name)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxRecord+1))
	if err != nil {
		return nil, plain(err, name)
	}
	if len(data) > maxRecord {
		return nil, &Error{File: name, Err: fmt.Errorf("is longer than %d MiB", maxRecord>>20)}
	}
	return data, nil
}
