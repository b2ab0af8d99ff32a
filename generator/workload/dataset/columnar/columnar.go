// Package columnar reads single rows of Parquet files, in any order and in bounded memory. The library decodes pages; this package decides
// which page holds a row, so that neither a row group nor a column of the file is ever in memory as a whole.
//
// Files come from strangers. What they claim to hold is checked against what they have before anything is made of that size, and a panic of
// the library over a corrupt page comes back as an error. A file that is not Parquet is refused by its first bytes.
package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// The bounds of what is read. A page of the biggest column and its compressed form are in memory at a time, beside some bytes a value.
const (
	maxFooterBytes = 64 << 20
	maxPageBytes   = 256 << 20 // pyarrow looks at a page's size only every 1024 rows
	maxPageValues  = 16 << 20
	readBuffer     = 64 << 10
)

// Magic is what a Parquet file begins and ends with.
const Magic = "PAR1"

// ErrCorrupt is wrapped by errors about bytes that are no whole, valid Parquet file.
var ErrCorrupt = errors.New("corrupt Parquet file")

// File is an open Parquet file. It holds only the footer; columns read by themselves. Safe for concurrent use.
type File struct {
	reader io.ReaderAt
	size   int64
	file   *parquet.File
	groups []rowGroup
	rows   int64
}

// rowGroup is the rows [first, first+rows) of the file.
type rowGroup struct {
	first, rows int64
	columns     []parquet.ColumnChunk
	footer      []format.ColumnChunk // what the footer says about columns
}

// Open reads the footer of the file behind r.
func Open(r io.ReaderAt, size int64) (f *File, err error) {
	defer recovered(&err)
	if err = checkFooter(r, size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(readBuffer))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	f = &File{reader: r, size: size, file: file}
	for i, g := range file.RowGroups() {
		n := g.NumRows()
		if n < 0 || n > 1<<40 {
			return nil, fmt.Errorf("%w: row group %d claims %d rows", ErrCorrupt, i, n)
		}
		if n > 0 {
			f.groups = append(f.groups, rowGroup{
				first: f.rows, rows: n, columns: g.ColumnChunks(), footer: file.Metadata().RowGroups[i].Columns,
			})
		}
		f.rows += n
	}
	return f, nil
}

// checkFooter looks at the footer before the library does: it makes lists of the length that the footer claims.
func checkFooter(r io.ReaderAt, size int64) error {
	const frame = int64(len(Magic)) + 4 // length and magic behind the footer
	var head, tail [8]byte
	if size < int64(len(Magic))+frame {
		return fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, size)
	}
	if _, err := r.ReadAt(head[:len(Magic)], 0); err != nil {
		return fmt.Errorf("read the first bytes: %w", err)
	}
	if string(head[:len(Magic)]) != Magic {
		return fmt.Errorf("%w: it begins with %q instead of %q", ErrCorrupt, head[:len(Magic)], Magic)
	}
	if _, err := r.ReadAt(tail[:], size-frame); err != nil {
		return fmt.Errorf("read the last bytes: %w", err)
	}
	if string(tail[4:]) != Magic {
		return fmt.Errorf("%w: it ends with %q instead of %q, it may be cut off", ErrCorrupt, tail[4:], Magic)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > maxFooterBytes || n > size-frame-int64(len(Magic)) {
		return fmt.Errorf("%w: it claims a footer of %d bytes", ErrCorrupt, n)
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-frame-n); err != nil {
		return fmt.Errorf("read the footer: %w", err)
	}
	if _, err := thriftLength(footer); err != nil {
		return fmt.Errorf("%w: footer: %w", ErrCorrupt, err)
	}
	return nil
}

// Rows is how many rows the file has.
func (f *File) Rows() int64 { return f.rows }

// recovered turns a panic into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrCorrupt, p)
	}
}

// Behind is the first row behind the row group of a row: where reading can go on if a page of the group is corrupt.
func (f *File) Behind(row int64) int64 {
	for _, g := range f.groups {
		if end := g.first + g.rows; row < end {
			return end
		}
	}
	return f.rows
}
