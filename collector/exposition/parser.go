package exposition

import "errors"

// Page is what a server answered.
type Page struct {
	Families []Family // in the order of the page, names are unique
	Samples  int      // lines, or values of the protobuf form
	// Duplicates counts series that stood there twice; the last one was taken. Dropped counts series that were not whole (a histogram
	// without sum, or whose buckets fall) or of a kind that is not read.
	Duplicates, Dropped int
}

// ErrIncompatible says that an answer is no page of metrics at all: HTML, JSON, nothing.
var ErrIncompatible = errors.New("no page of metrics")

// Parser reads pages. It keeps what it can from one page for the next of the same server, so that reading costs little memory. Not safe for
// concurrent use.
type Parser struct{}

// NewParser makes one. maxSamples bounds what a page may hold.
func NewParser(maxSamples int) *Parser { return &Parser{} }

// Parse reads a page. contentType is that of the answer, "" if there is none. The page is valid until the next call; its strings stay.
// Errors: ErrIncompatible, ErrTooLarge, or what is wrong at which line.
func (p *Parser) Parse(body []byte, contentType string) (*Page, error) { return &Page{}, nil }

// ErrTooLarge says that a page has more samples than are read.
var ErrTooLarge = errors.New("too many samples")
