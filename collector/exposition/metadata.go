package exposition

import (
	"bytes"
	"fmt"
	"maps"
)

// kind is the type that a page gives to a family, in any of the formats.
type kind uint8

const (
	undeclared kind = iota
	unknown
	counter
	gauge
	histogram
	summary
	info           // the sample has _info behind the name of the family
	gaugeHistogram // a histogram of what is, not of what was counted
)

// kindNamed gives the kind by the word of a TYPE line.
func kindNamed(word []byte) (kind, bool) {
	switch string(word) {
	case "counter":
		return counter, true
	case "gauge", "stateset":
		return gauge, true
	case "histogram":
		return histogram, true
	case "summary":
		return summary, true
	case "untyped", "unknown":
		return unknown, true
	case "info":
		return info, true
	case "gaugehistogram", "gauge_histogram":
		return gaugeHistogram, true
	}
	if lower := bytes.ToLower(word); !bytes.Equal(lower, word) {
		return kindNamed(lower)
	}
	return undeclared, false
}

// shown is the type of the family that comes of it. Of a histogram of gauges nothing comes.
func (k kind) shown() Kind {
	switch k {
	case counter:
		return Counter
	case gauge, info:
		return Gauge
	case histogram, gaugeHistogram:
		return Histogram
	case summary:
		return Summary
	case undeclared, unknown:
	}
	return Untyped
}

// metadata is what TYPE and HELP lines say of families, kept from page to page.
type metadata struct {
	families map[string]*declaration
	page     uint32 // counts pages
	most     int    // families on a page
	said     int    // families about which something is said on this page
	typed    int    // those of them with a type
	before   int    // and on the one before
	changed  bool   // a family has not the type that it had on the page before
	any      bool   // there was such a line at all
	ended    bool   // the mark of the end was there
}

// declaration is what is said of one family. It holds for a page if that is the last one on which it stood.
type declaration struct {
	kind               kind
	help               string
	typedAt, helpfulAt uint32
}

func (m *metadata) begin() {
	m.page++
	m.said = 0
	m.before, m.typed, m.changed, m.any, m.ended = m.typed, 0, false, false, false
}

// end closes the reading of a page and tells whether types are other than on the page before.
func (m *metadata) end() (changed bool) {
	if len(m.families) > m.said {
		maps.DeleteFunc(m.families, func(_ string, d *declaration) bool { return d.typedAt != m.page && d.helpfulAt != m.page })
	}
	if m.typed == m.before && !m.changed {
		return false
	}
	for _, d := range m.families {
		if d.typedAt != m.page {
			d.kind = undeclared
		}
	}
	return true
}

// read takes what a comment says, which comes without its #. Of what is said again of a family the first stays.
func (m *metadata) read(comment []byte) error {
	word, rest := cutField(trimBlanks(comment))
	isType := string(word) == "TYPE"
	switch string(word) {
	case "TYPE", "HELP":
		m.any = true
	case "EOF":
		m.any, m.ended = true, true
		return nil
	default:
		return nil
	}
	name, rest, err := cutName(rest)
	if err != nil || len(name) == 0 {
		return err
	}
	if isType {
		return m.declare(name, rest)
	}
	return m.describe(name, rest, true)
}

// describe takes the help text of a family, in which there may be escapes.
func (m *metadata) describe(name, help []byte, escapes bool) error {
	d, err := m.of(name)
	if err != nil || d.helpfulAt == m.page {
		return err
	}
	d.helpfulAt = m.page
	switch escapes = escapes && bytes.IndexByte(help, '\\') >= 0; {
	case escapes:
		d.help = text(unescape(string(help)))
	case string(help) != d.help:
		d.help = text(help)
	}
	return nil
}

func (m *metadata) declare(name, word []byte) error {
	word = trimBlanks(word)
	if len(word) == 0 {
		return nil
	}
	k, ok := kindNamed(word)
	if !ok {
		return fmt.Errorf("family %s has the unknown type %q", abridged(name), abridged(word))
	}
	return m.setKind(name, k)
}

func (m *metadata) setKind(name []byte, k kind) error {
	d, err := m.of(name)
	if err != nil || d.typedAt == m.page {
		return err
	}
	m.changed = m.changed || d.kind != k
	d.kind, d.typedAt = k, m.page
	m.typed++
	return nil
}

// of is what is said of a family on this page.
func (m *metadata) of(name []byte) (*declaration, error) {
	d, ok := m.families[string(name)]
	if !ok {
		d = &declaration{}
		m.families[string(name)] = d
	}
	if d.typedAt != m.page && d.helpfulAt != m.page {
		if m.said++; m.said > m.most {
			return nil, fmt.Errorf("more than %d families: %w", m.most, ErrTooLarge)
		}
	}
	return d, nil
}

// kindOf is the type of a family.
func (m *metadata) kindOf(family string) kind {
	if d, ok := m.families[family]; ok {
		return d.kind
	}
	return undeclared
}

// helpOf is what is said of a family.
func (m *metadata) helpOf(family string) string {
	if d, ok := m.families[family]; ok && d.helpfulAt == m.page {
		return d.help
	}
	return ""
}
