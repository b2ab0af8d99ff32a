package columnar

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Column reads the values of one column by row. Rows in ascending order are read in one pass; going back costs a page. Not safe for
// concurrent use: open a column for each reader.
type Column struct {
	file     *File
	name     string
	index    int
	list     bool
	unsigned bool

	group int // that is open, -1 = none
	chunk *chunk

	page   parquet.Page // that is open, nil = none
	number int          // of the open page in its group
	first  int64        // the row, in its group, that begins first in the open page
	values parquet.ValueReader
	row    int64 // whose value comes next, in its group
	buffer [64]parquet.Value
	ahead  []parquet.Value // read from values and not yet used
}

// Has tells whether there is a column of this name at the top level.
func (f *File) Has(name string) bool { return f.file.Root().Column(name) != nil }

// Column opens a column of the top level that holds one value a row, or a list of them.
func (f *File) Column(name string) (*Column, error) {
	node := f.file.Root().Column(name)
	if node == nil {
		return nil, fmt.Errorf("column %q is missing", name)
	}
	for !node.Leaf() { // a list is a group of one group of one value
		if len(node.Columns()) != 1 {
			return nil, fmt.Errorf("column %q is a structure, not a value or a list of values", name)
		}
		node = node.Columns()[0]
	}
	if node.MaxRepetitionLevel() > 1 {
		return nil, fmt.Errorf("column %q is a list of lists", name)
	}
	return &Column{
		file: f, name: name, index: node.Index(), group: -1, list: node.MaxRepetitionLevel() == 1, unsigned: unsigned(node.Type()),
	}, nil
}

// unsigned tells whether the numbers of a column have no sign: the bytes do not show it.
func unsigned(t parquet.Type) bool {
	logical := t.LogicalType()
	if logical == nil {
		return false
	}
	integer, ok := logical.Value.(*format.IntType)
	return ok && !integer.IsSigned
}

// Close gives back what the column holds.
func (c *Column) Close() {
	c.drop()
	c.chunk, c.group = nil, -1
}

// at calls do with each value of a row.
func (c *Column) at(row int64, do func(parquet.Value) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			// What the library left behind is not touched again.
			c.page, c.ahead, c.values, c.chunk, c.group = nil, nil, nil, nil, -1
			err = fmt.Errorf("column %q: %w: %v", c.name, ErrCorrupt, p)
		}
	}()
	if row < 0 || row >= c.file.rows {
		return fmt.Errorf("row %d of %d", row, c.file.rows)
	}
	if err := c.seek(row); err != nil {
		return fmt.Errorf("column %q: %w", c.name, err)
	}
	for first := true; ; first = false {
		v, err := c.peek()
		if errors.Is(err, io.EOF) && !first { // the last row of its group
			break
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", c.name, noEOF(err))
		}
		if !first && v.RepetitionLevel() == 0 {
			break
		}
		c.ahead = c.ahead[1:]
		if err := do(v); err != nil {
			c.drop() // the rest of the row is not read
			return err
		}
		if !c.list {
			break
		}
	}
	c.row++
	return nil
}

// seek goes to the first value of a row of the file.
func (c *Column) seek(row int64) error {
	g := sort.Search(len(c.file.groups), func(i int) bool { return c.file.groups[i].first > row }) - 1
	if g != c.group {
		c.Close()
		chunk, err := c.file.openChunk(g, c.index, c.list)
		if err != nil {
			return err
		}
		c.group, c.chunk = g, chunk
	}
	row -= c.file.groups[g].first
	if c.page != nil && row >= c.row && row < c.first+c.chunk.pages[c.number].rows {
		return c.skip(row)
	}
	p, first, err := c.locate(row)
	if err != nil {
		return err
	}
	if c.page == nil || p != c.number || row < c.row {
		if err := c.turn(p, first); err != nil {
			return err
		}
	}
	return c.skip(row)
}

// locate finds the page in which a row of the group begins, and the first row that begins there.
func (c *Column) locate(row int64) (p int, first int64, err error) {
	for p = range c.chunk.pages {
		if c.chunk.pages[p].rows < 0 {
			if err := c.count(p, first); err != nil {
				return 0, 0, err
			}
		}
		if row < first+c.chunk.pages[p].rows {
			return p, first, nil
		}
		first += c.chunk.pages[p].rows
	}
	return 0, 0, fmt.Errorf("%w: the pages end before row %d of their group", ErrCorrupt, row)
}

// count learns how many rows begin in page p, whose first one is given.
func (c *Column) count(p int, first int64) error {
	if err := c.turn(p, first); err != nil {
		return err
	}
	c.chunk.pages[p].rows = c.page.NumRows()
	return nil
}

// turn opens page p, in which row first of the group is the first to begin.
func (c *Column) turn(p int, first int64) error {
	if err := c.read(p); err != nil {
		return err
	}
	c.first, c.row = first, first
	// What precedes the first row that begins here belongs to the row before.
	for lead := slices.Index(c.page.RepetitionLevels(), 0); lead > 0; lead-- {
		if _, err := c.peek(); err != nil {
			return noEOF(err)
		}
		c.ahead = c.ahead[1:]
	}
	return nil
}

// read takes page p from the file.
func (c *Column) read(p int) error {
	c.drop() // first, so that no two are in memory
	page, err := c.chunk.read(p)
	if err != nil {
		return err
	}
	c.page, c.number, c.values = page, p, page.Values()
	return nil
}

// drop gives back the open page.
func (c *Column) drop() {
	c.ahead, c.values = nil, nil // they point into it
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page = nil
}

// skip goes forward to a row that begins in the open page.
func (c *Column) skip(row int64) error {
	for c.row < row {
		if _, err := c.peek(); err != nil {
			return noEOF(err)
		}
		c.ahead = c.ahead[1:]
		if c.list {
			v, err := c.peek()
			if err != nil {
				return noEOF(err)
			}
			if v.RepetitionLevel() != 0 {
				continue
			}
		}
		c.row++
	}
	return nil
}

// peek is the next value, from the page behind if this one has no more.
func (c *Column) peek() (parquet.Value, error) {
	for len(c.ahead) == 0 {
		n, err := c.values.ReadValues(c.buffer[:])
		c.ahead = c.buffer[:n]
		switch {
		case n > 0:
		case err != nil && !errors.Is(err, io.EOF):
			return parquet.Value{}, err
		case c.number+1 >= len(c.chunk.pages):
			return parquet.Value{}, io.EOF
		default:
			if err := c.follow(); err != nil {
				return parquet.Value{}, err
			}
		}
	}
	return c.ahead[0], nil
}

// follow opens the page behind the open one, in the middle of a row or at its beginning.
func (c *Column) follow() error {
	first := c.first + c.chunk.pages[c.number].rows
	if err := c.read(c.number + 1); err != nil {
		return err
	}
	c.first = first
	c.chunk.pages[c.number].rows = c.page.NumRows()
	return nil
}

// noEOF makes an end that comes too early an error of its own.
func noEOF(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrCorrupt)
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
