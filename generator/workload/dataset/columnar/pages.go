package columnar

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Most writers leave out the index of pages that would tell which page holds a row. But each page has a header with its size, so the pages
// of a column are found by hopping from header to header: a few thousand small reads for a column of gigabytes, and only once a row group.

// page is one data page of a column in a row group.
type page struct {
	offset int64 // of its header in the file
	// rows is how many rows begin in it, -1 until it is decoded: old list pages may begin within a row.
	rows int64
}

// chunk is one column in one row group.
type chunk struct {
	column *parquet.FileColumnChunk
	file   io.ReaderAt
	// base is where the library believes that the pages begin, end is behind the last.
	base, end int64
	// dictionary is the page that others refer to, with its header; of no length if there is none.
	dictionary span
	pages      []page
}

// span is a part of the file.
type span struct{ offset, length int64 }

// openChunk finds the pages of a column in row group g. Of a list it is not known where rows begin.
func (f *File) openChunk(g, column int, list bool) (*chunk, error) {
	c, ok := f.groups[g].columns[column].(*parquet.FileColumnChunk)
	if !ok {
		return nil, errors.New("the column has no pages in this file")
	}
	meta := &f.groups[g].footer[column].MetaData
	out := &chunk{column: c, file: f.reader, base: meta.DataPageOffset}
	if meta.DictionaryPageOffset != 0 {
		out.base = meta.DictionaryPageOffset
	}
	out.end = out.base + meta.TotalCompressedSize
	if out.base < 0 || meta.TotalCompressedSize < 0 || out.end > f.size {
		return nil, fmt.Errorf("%w: a column is said to be at %d..%d of %d bytes", ErrCorrupt, out.base, out.end, f.size)
	}
	for at, values := out.base, int64(0); at < out.end && values < meta.NumValues; {
		header, length, err := readHeader(f.reader, at, out.end)
		if err != nil {
			return nil, fmt.Errorf("%w: page header at %d: %w", ErrCorrupt, at, err)
		}
		next := at + length + int64(header.CompressedPageSize)
		switch n := pageValues(header); {
		case next > out.end:
			return nil, fmt.Errorf("%w: the page at %d goes on behind the end of its column", ErrCorrupt, at)
		case header.Type == format.DictionaryPage:
			out.dictionary = span{offset: at, length: next - at}
		case header.Type == format.DataPage || header.Type == format.DataPageV2:
			rows := n
			if list {
				rows = -1
			}
			out.pages = append(out.pages, page{offset: at, rows: rows})
			values += n
		}
		at = next
	}
	return out, nil
}

// readHeader reads the header of a page, and tells how long it is.
func readHeader(r io.ReaderAt, at, end int64) (*format.PageHeader, int64, error) {
	for size := int64(256); ; size *= 16 { // nearly all are below 100 bytes; statistics of long texts can make them long
		size = min(size, end-at)
		b := make([]byte, size)
		if _, err := r.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		n, err := thriftLength(b)
		if errors.Is(err, errShort) && size < end-at && size < maxFooterBytes {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		header := new(format.PageHeader)
		var protocol thrift.CompactProtocol
		if err := thrift.Unmarshal(&protocol, b[:n], header); err != nil {
			return nil, 0, err
		}
		return header, int64(n), checkHeader(header)
	}
}

func checkHeader(h *format.PageHeader) error {
	for _, size := range []int32{h.CompressedPageSize, h.UncompressedPageSize} {
		if size < 0 || size > maxPageBytes {
			return fmt.Errorf("a page of %d bytes, at most %d are read", size, maxPageBytes)
		}
	}
	if n := pageValues(h); n < 0 || n > maxPageValues {
		return fmt.Errorf("a page of %d values, at most %d are read", n, maxPageValues)
	}
	return nil
}

// pageValues is how many values, or entries of a dictionary, a page has.
func pageValues(h *format.PageHeader) int64 {
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		return int64(h.DataPageHeader.V.NumValues)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		return int64(h.DataPageHeaderV2.V.NumValues)
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		return int64(h.DictionaryPageHeader.V.NumValues)
	}
	return 0
}

// from opens the pages from the i-th on. The library only ever begins at the first page of a column, so it is shown a column that consists
// of the dictionary and these pages.
func (c *chunk) from(i int) parquet.Pages {
	return c.column.PagesFrom(&window{file: c.file, base: c.base, head: c.dictionary, tail: span{
		offset: c.pages[i].offset, length: c.end - c.pages[i].offset,
	}})
}

// window is a file in which head and tail stand one behind the other at base.
type window struct {
	file       io.ReaderAt
	base       int64
	head, tail span
}

// ReadAt implements io.ReaderAt.
func (w *window) ReadAt(p []byte, off int64) (int, error) {
	read, at := 0, off-w.base
	for _, part := range []span{w.head, w.tail} {
		if at >= part.length {
			at -= part.length
			continue
		}
		n := min(int64(len(p)-read), part.length-at)
		m, err := w.file.ReadAt(p[read:read+int(n)], part.offset+at)
		read += m
		if read == len(p) {
			return read, nil
		}
		if err != nil {
			return read, err
		}
		at = 0
	}
	return read, io.EOF
}
