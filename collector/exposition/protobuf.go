package exposition

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of io.prometheus.client, message by message.
const (
	familyName   = 1<<3 | bytesOf
	familyHelp   = 2<<3 | bytesOf
	familyType   = 3<<3 | varintOf
	familyMetric = 4<<3 | bytesOf

	metricLabel     = 1<<3 | bytesOf
	metricGauge     = 2<<3 | bytesOf
	metricCounter   = 3<<3 | bytesOf
	metricSummary   = 4<<3 | bytesOf
	metricUntyped   = 5<<3 | bytesOf
	metricHistogram = 7<<3 | bytesOf

	labelName  = 1<<3 | bytesOf
	labelValue = 2<<3 | bytesOf

	numberValue   = 1<<3 | doubleOf // of a gauge, a counter and one without a type
	numberCreated = 3<<3 | bytesOf  // of a counter

	observationsCount = 1<<3 | varintOf // of a summary and a histogram
	observationsSum   = 2<<3 | doubleOf
	observationsPoint = 3<<3 | bytesOf

	summaryCreated = 4<<3 | bytesOf

	quantileAt    = 1<<3 | doubleOf
	quantileValue = 2<<3 | doubleOf

	bucketCount      = 1<<3 | varintOf
	bucketBound      = 2<<3 | doubleOf
	bucketCountFloat = 4<<3 | doubleOf
)

// wireKinds are the types of families by their number.
var wireKinds = []kind{counter, gauge, summary, unknown, histogram, gaugeHistogram}

// wireMetric is what holds the value of a metric, by the kind of its family.
var wireMetric = map[kind]tag{counter: metricCounter, gauge: metricGauge, summary: metricSummary, unknown: metricUntyped, histogram: metricHistogram}

// parseProtobuf reads families that are written one behind the other, each after its length. It reads the wire itself: what a library
// would make of a small message that says to hold millions of empty buckets does not fit into any memory.
func (p *Parser) parseProtobuf(body []byte) error {
	for number := 1; len(body) > 0; number++ {
		message, n := protowire.ConsumeBytes(body)
		if n < 0 {
			return fmt.Errorf("family %d: %w", number, protowire.ParseError(n))
		}
		body = body[n:]
		if err := p.parseFamily(message); err != nil {
			return fmt.Errorf("family %d: %w", number, err)
		}
	}
	return nil
}

func (p *Parser) parseFamily(message []byte) error {
	var name, help []byte
	number := uint64(0)
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case familyName:
			name = f.bytes
		case familyHelp:
			help = f.bytes
		case familyType:
			number = f.value
		}
	}
	if f.err != nil {
		return f.err
	}
	if len(name) == 0 {
		return errName
	}
	k := gaugeHistogram
	if number < uint64(len(wireKinds)) {
		k = wireKinds[number]
	}
	family := p.store.familyOf(name, k)
	if family != nil && family.said.help != string(help) {
		family.said.help = text(help)
	}
	for f = (fields{rest: message}); f.next(); {
		if f.tag != familyMetric {
			continue
		}
		if err := p.parseMetric(family, f.bytes); err != nil {
			return fmt.Errorf("%s: %w", abridged(name), err)
		}
	}
	return nil
}

// parseMetric reads a metric; nil = its family is not one that is read.
func (p *Parser) parseMetric(into *family, message []byte) error {
	if err := p.count(); err != nil {
		return err
	}
	p.pairs = p.pairs[:0]
	var value []byte
	found := false
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.tag == metricLabel:
			if err := p.parsePair(f.bytes); err != nil {
				return err
			}
		case into != nil && f.tag == wireMetric[into.kind]:
			value, found = f.bytes, true
		}
	}
	if f.err != nil || !found {
		p.store.dropped++
		return f.err
	}
	slices.SortFunc(p.pairs, func(a, b pair) int { return bytes.Compare(a.name, b.name) })
	for i := 1; i < len(p.pairs); i++ {
		if bytes.Equal(p.pairs[i].name, p.pairs[i-1].name) {
			return fmt.Errorf("label %q stands there twice", abridged(p.pairs[i].name))
		}
	}
	s := p.store.seriesOfPairs(into, p.pairs)
	if !p.store.enter(into, s) {
		p.store.duplicates++
	}
	return p.parseMessage(into.kind, s, value)
}

// pair is a label on the wire.
type pair struct{ name, value []byte }

func (p *Parser) parsePair(message []byte) error {
	var l pair
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case labelName:
			l.name = f.bytes
		case labelValue:
			l.value = f.bytes
		}
	}
	if f.err == nil && len(l.name) == 0 {
		return errLabel
	}
	if len(l.value) > 0 {
		p.pairs = append(p.pairs, l)
	}
	return f.err
}

// parseMessage reads the value of a series.
func (p *Parser) parseMessage(k kind, s *series, message []byte) error {
	f := fields{rest: message}
	if k == histogram {
		return p.parseHistogram(s, f)
	}
	if k == summary {
		return p.parseSummary(s, f)
	}
	s.value = 0
	for f.next() {
		switch {
		case f.tag == numberValue:
			s.value = f.double()
		case f.tag == numberCreated && k == counter:
			s.created, s.createdAt = seconds(f.bytes), p.store.page
		}
	}
	return f.err
}

func (p *Parser) parseSummary(s *series, f fields) error {
	s.parts.restart()
	for f.next() {
		switch f.tag {
		case observationsCount:
			s.parts.count = float64(f.value)
		case observationsSum:
			s.parts.sum = f.double()
		case observationsPoint:
			if err := p.parsePoint(s.parts, f.bytes, quantileAt, quantileValue, 0); err != nil {
				return err
			}
		case summaryCreated:
			s.created, s.createdAt = seconds(f.bytes), p.store.page
		}
	}
	return f.err
}

// parsePoint reads a quantile or a bucket. The value is a double with one tag, or else a number with another, 0 = there is no such.
func (p *Parser) parsePoint(into *parts, message []byte, at, double, number tag) error {
	if err := p.count(); err != nil {
		return err
	}
	v := pointValue{page: p.store.page}
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case at:
			v.at = f.double()
		case number:
			v.value = float64(f.value)
		case double:
			v.value = f.double()
		}
	}
	if math.IsNaN(v.at) {
		into.broken = true
	}
	into.points = append(into.points, v)
	return f.err
}

// text is what may be anything as a string that may be exposed.
func text[T ~string | ~[]byte](s T) string { return strings.ToValidUTF8(string(s), "\uFFFD") }
