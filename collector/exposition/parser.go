package exposition

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
)

// Page is what a server answered.
type Page struct {
	Families []Family // in the order of the page, names are unique
	Samples  int      // lines, or values of the protobuf form
	// Duplicates counts samples that stood there twice; the last one was taken. Dropped counts series that were not whole (a histogram
	// without sum, or whose buckets fall) or of a kind that is not read.
	Duplicates, Dropped int
}

// What is wrong with a page that is not read, beside what stands wrong on one of its lines.
var (
	// ErrIncompatible says that an answer is no page of metrics at all: HTML, JSON, nothing.
	ErrIncompatible = errors.New("no page of metrics")
	// ErrTooLarge says that a page has more samples, or a longer line, than is read.
	ErrTooLarge = errors.New("page of metrics too large")
)

// maxLineBytes bounds a line of text.
const maxLineBytes = 64 << 10

// Parser reads pages. It keeps what it can from one page for the next of the same server, so that reading costs little memory. Not safe for
// concurrent use.
type Parser struct {
	maxSamples int
	media      string // of the page before
	metadata   metadata
	store      store
	// known are the samples that were read before, by the text that stands before their value.
	known map[string]sample
	// labels and pairs are memory for the labels of one sample.
	labels []Label
	pairs  []pair
	page   Page
}

// The media types that are not read like any other text.
const (
	mediaProtobuf    = "application/vnd.google.protobuf"
	mediaOpenMetrics = "application/openmetrics-text"
)

// NewParser makes one. maxSamples bounds what a page may hold.
func NewParser(maxSamples int) *Parser {
	p := &Parser{maxSamples: maxSamples}
	p.forget()
	return p
}

// Parse reads a page. contentType is that of the answer, "" if there is none. The page is valid until the next call; its strings stay.
// Errors: ErrIncompatible, ErrTooLarge, or what is wrong at which line.
func (p *Parser) Parse(body []byte, contentType string) (*Page, error) {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = "" // a wrong header says nothing against the page
	}
	if media != p.media {
		p.media = media
		p.forget()
	}
	p.store.begin()
	p.page = Page{Families: p.page.Families[:0]}
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		err = ErrIncompatible
	case media != mediaProtobuf:
		err = p.parseText(body, media == mediaOpenMetrics)
	case parameters["encoding"] != "" && parameters["encoding"] != "delimited":
		err = fmt.Errorf("%w: protobuf with the encoding %.20q", ErrIncompatible, parameters["encoding"])
	default:
		err = p.parseProtobuf(body)
	}
	if err != nil {
		p.forget()
		return nil, err
	}
	p.store.show(&p.page, &p.metadata)
	if max(len(p.known), p.store.made) > 2*p.page.Samples+64 { // most of it is of series that ended
		p.forget()
	}
	return &p.page, nil
}

// count adds a sample to those of the page.
func (p *Parser) count() error {
	if p.page.Samples++; p.page.Samples > p.maxSamples {
		return fmt.Errorf("more than %d samples: %w", p.maxSamples, ErrTooLarge)
	}
	return nil
}

// forget drops what was kept of earlier pages.
func (p *Parser) forget() {
	p.metadata = metadata{families: map[string]*declaration{}, most: p.maxSamples}
	p.forgetSamples(0)
}

// forgetSamples drops it but for the metadata; about so many samples will come.
func (p *Parser) forgetSamples(coming int) {
	p.known = make(map[string]sample, coming)
	p.store.forget()
}
