package columnar

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Most writers leave out the index of pages that would tell which page holds a row. But each page has a header with its size, so the pages
// of a column are found by hopping from header to header: a few thousand small reads for a column of gigabytes, and only once a row group.

// page is a page of a column in a row group, as the library is shown it: see retold.
type page struct {
	header []byte // retold
	body   int64  // where its body is in the file
	length int64  // of header and body
	refers bool   // to the dictionary
	// rows is how many rows begin in it, -1 until it is decoded: old list pages may begin within a row.
	rows int64
}

// chunk is one column in one row group.
type chunk struct {
	column *parquet.FileColumnChunk
	file   io.ReaderAt
	base   int64 // where the library believes that the pages begin

	dictionary page // that others refer to; of no length if there is none
	pages      []page
}

// readable are the codecs of which the library reads what was written. It reads pages of LZ4 wrongly (parquet-go/parquet-go#608).
var readable = []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd}

// openChunk finds the pages of a column in row group g. Of a list it is not known where rows begin.
func (f *File) openChunk(g, column int, list bool) (*chunk, error) {
	c, ok := f.groups[g].columns[column].(*parquet.FileColumnChunk)
	if !ok {
		return nil, errors.New("the column has no pages in this file")
	}
	meta := &f.groups[g].footer[column].MetaData
	if !slices.Contains(readable, meta.Codec) {
		return nil, fmt.Errorf("is compressed with %s, which cannot be read: write the file anew with zstd", meta.Codec)
	}
	out := &chunk{column: c, file: f.reader, base: meta.DataPageOffset}
	if meta.DictionaryPageOffset != 0 {
		out.base = meta.DictionaryPageOffset
	}
	end := out.base + meta.TotalCompressedSize
	if out.base < 0 || meta.TotalCompressedSize < 0 || end < 0 || end > f.size {
		return nil, fmt.Errorf("%w: a column is said to be at %d..%d of %d bytes", ErrCorrupt, out.base, end, f.size)
	}
	return out, out.find(end, meta.NumValues, list)
}

// find hops over the pages before end, until it has seen so many values.
func (c *chunk) find(end, values int64, list bool) error {
	for at := c.base; at < end && values > 0; {
		header, length, err := readHeader(c.file, at, end)
		if err != nil {
			return fmt.Errorf("%w: page header at %d: %w", ErrCorrupt, at, err)
		}
		p := page{body: at + length, refers: refers(header)}
		at += length + int64(header.CompressedPageSize)
		if at > end {
			return fmt.Errorf("%w: the page at %d goes on behind the end of its column", ErrCorrupt, p.body-length)
		}
		n := pageValues(header)
		if p.header, err = retold(header); err != nil {
			return err
		}
		p.length = int64(len(p.header)) + int64(header.CompressedPageSize)
		switch header.Type {
		case format.IndexPage: // nothing uses them
		case format.DictionaryPage:
			c.dictionary = p
		case format.DataPage, format.DataPageV2:
			if p.rows = n; list {
				p.rows = -1
			}
			c.pages = append(c.pages, p)
			values -= n
		}
	}
	return nil
}

// retold is a page header as the library is shown it, without the size of the page before compression. Told that size, the library takes a
// buffer for it and overlooks that some codecs give the page in another one (parquet-go/parquet-go#608): it then shows what was in
// the buffer before. Statistics are left out, they only make headers long.
func retold(h *format.PageHeader) ([]byte, error) {
	out := *h
	out.UncompressedPageSize = 0
	out.DataPageHeader.V.Statistics = format.Statistics{}
	out.DataPageHeaderV2.V.Statistics = format.Statistics{}
	var protocol thrift.CompactProtocol
	return thrift.Marshal(&protocol, &out)
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

// refers tells whether the values of a page are places in the dictionary.
func refers(h *format.PageHeader) bool {
	encoding := h.DataPageHeader.V.Encoding
	if h.Type == format.DataPageV2 {
		encoding = h.DataPageHeaderV2.V.Encoding
	}
	old := encoding == format.PlainDictionary //nolint:staticcheck // deprecated for writers, and there are files that have it
	return h.Type != format.DictionaryPage && (old || encoding == format.RLEDictionary)
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

// read decodes page i. The library only ever begins at the first page of a column, so it is shown a column that consists of this page, and of
// the dictionary where the page refers to it.
func (c *chunk) read(i int) (parquet.Page, error) {
	parts := []*page{&c.pages[i]}
	if c.pages[i].refers {
		parts = []*page{&c.dictionary, &c.pages[i]}
	}
	pages := c.column.PagesFrom(&shown{file: c.file, base: c.base, parts: parts})
	out, err := pages.ReadPage()
	return out, errors.Join(noEOF(err), pages.Close())
}

// shown is a file in which parts stand one behind the other where the column begins.
type shown struct {
	file  io.ReaderAt
	base  int64
	parts []*page
}

// ReadAt implements io.ReaderAt.
func (s *shown) ReadAt(p []byte, off int64) (n int, err error) {
	from := off - s.base
	for _, part := range s.parts {
		for from < part.length && n < len(p) {
			m, err := part.readAt(s.file, p[n:], from)
			n += m
			from += int64(m)
			if err != nil && !errors.Is(err, io.EOF) {
				return n, err
			}
			if m == 0 {
				return n, io.ErrUnexpectedEOF
			}
		}
		from -= part.length
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readAt reads from a place of the page, its header or its body, as much as stands together there.
func (p *page) readAt(file io.ReaderAt, b []byte, from int64) (int, error) {
	if head := int64(len(p.header)); from >= head {
		return file.ReadAt(b[:min(int64(len(b)), p.length-from)], p.body+from-head)
	}
	return copy(b, p.header[from:]), nil
}
