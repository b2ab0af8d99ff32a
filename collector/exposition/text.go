package exposition

import (
	"bytes"
	"errors"
	"fmt"
)

var (
	errNoValue  = errors.New("no value")
	errAfter    = errors.New("something stands behind the value that is neither a timestamp nor an exemplar")
	errExemplar = errors.New("exemplar is not whole")
	errNoEOF    = errors.New("page has no # EOF: it is not whole")
)

// parseText reads both text formats in one way: where they differ, the one says what the other leaves open. OpenMetrics alone ends with a mark,
// so that a page that was cut can be told. Metadata is read first: that of a family may stand behind its samples.
func (p *Parser) parseText(body []byte, marked bool) error {
	p.metadata.begin()
	if err := p.parseMetadata(body); err != nil {
		return err
	}
	if p.metadata.end() {
		p.forgetSamples(bytes.Count(body, []byte{'\n'}))
	}
	walk := lines{rest: body}
	for walk.next() {
		if len(walk.line) == 0 || walk.line[0] == '#' {
			continue
		}
		err := p.parseSample(walk.line)
		if errors.Is(err, ErrTooLarge) {
			return err
		}
		if err != nil && !p.metadata.any && p.page.Samples == 0 {
			return fmt.Errorf("%w: line %d: %w", ErrIncompatible, walk.number, err)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", walk.number, err)
		}
	}
	switch {
	case !p.metadata.any && p.page.Samples == 0:
		return ErrIncompatible
	case marked && !p.metadata.ended:
		return errNoEOF
	}
	return nil
}

func (p *Parser) parseMetadata(body []byte) error {
	walk := lines{rest: body}
	for walk.next() {
		if len(walk.line) > maxLineBytes {
			return fmt.Errorf("line %d has more than %d bytes: %w", walk.number, maxLineBytes, ErrTooLarge)
		}
		if len(walk.line) == 0 || walk.line[0] != '#' {
			continue
		}
		if err := p.metadata.read(walk.line[1:]); err != nil {
			return fmt.Errorf("line %d: %w", walk.number, err)
		}
	}
	return nil
}

// parseSample reads a line with a sample.
func (p *Parser) parseSample(line []byte) error {
	s, rest, err := p.sampleOf(line)
	if err != nil {
		return err
	}
	value, err := parseValue(rest)
	if err != nil {
		return err
	}
	p.store.put(&s, value)
	return p.count()
}

// sampleOf finds the sample that a line is about, and what stands behind it.
func (p *Parser) sampleOf(line []byte) (found sample, rest []byte, err error) {
	// Where the last brace ends a known one, no other reading of the line is possible: what has been read once as the whole of a name with
	// its labels is so again.
	if end := bytes.LastIndexByte(line, '}') + 1; end > 0 {
		if s, ok := p.known[string(line[:end])]; ok {
			return s, line[end:], nil
		}
	}
	end, err := identityEnd(line)
	if err != nil {
		return sample{}, nil, err
	}
	if s, ok := p.known[string(line[:end])]; ok {
		return s, line[end:], nil
	}
	text := string(line[:end])
	var name string
	name, p.labels, err = parseIdentity(text, p.labels[:0])
	if err != nil {
		return sample{}, nil, err
	}
	found = p.store.resolve(&p.metadata, name, p.labels)
	p.known[text] = found
	return found, line[end:], nil
}

// parseValue reads what stands behind the name and the labels: a value, then perhaps a timestamp and an exemplar, both of which are dropped.
func parseValue(b []byte) (float64, error) {
	field, rest := cutField(trimBlanks(b))
	if len(field) == 0 {
		return 0, errNoValue
	}
	value, err := parseNumber(field)
	if err != nil || len(rest) == 0 {
		return value, err
	}
	if rest[0] != '#' {
		field, rest = cutField(rest)
		if _, err := parseNumber(field); err != nil {
			return 0, errAfter
		}
	}
	if len(rest) == 0 {
		return value, nil
	}
	if rest[0] != '#' {
		return 0, errAfter
	}
	return value, checkExemplar(trimBlanks(rest[1:]))
}

// checkExemplar tells whether an exemplar, which comes without its #, is whole: labels and a value, and perhaps a timestamp.
func checkExemplar(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return errExemplar
	}
	end, err := identityEnd(b)
	if err != nil {
		return errExemplar
	}
	value, rest := cutField(trimBlanks(b[end:]))
	if _, err := parseNumber(value); err != nil {
		return errExemplar
	}
	if len(rest) > 0 {
		if _, err := parseNumber(trimBlanks(rest)); err != nil {
			return errExemplar
		}
	}
	return nil
}

// lines walks through the lines of a text, without blanks before and behind them and without the returns of Windows. The last one needs no end.
type lines struct {
	rest, line []byte
	number     int // of line, from 1
}

func (l *lines) next() bool {
	if len(l.rest) == 0 {
		return false
	}
	l.number++
	if end := bytes.IndexByte(l.rest, '\n'); end >= 0 {
		l.line, l.rest = l.rest[:end], l.rest[end+1:]
	} else {
		l.line, l.rest = l.rest, nil
	}
	if n := len(l.line); n > 0 && l.line[n-1] == '\r' {
		l.line = l.line[:n-1]
	}
	l.line = trimBlanks(l.line)
	return true
}
