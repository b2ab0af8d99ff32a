package exposition

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

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
var wireMetric = map[kind]uint64{counter: metricCounter, gauge: metricGauge, summary: metricSummary, unknown: metricUntyped, histogram: metricHistogram}

// parseProtobuf reads families that are written one behind the other, each after its length. It reads the wire itself: what a library
// would make of a small message that says to hold millions of empty buckets does not fit into any memory.
func (p *Parser) parseProtobuf(body []byte) error {
	p.metadata.begin()
	if err := eachFamily(body, p.declareFamily); err != nil {
		return err
	}
	if p.metadata.end() {
		p.forgetSamples(0)
	}
	return eachFamily(body, p.parseFamily)
}

// eachFamily calls read with each family.
func eachFamily(body []byte, read func(h header, message []byte) error) error {
	for number := 1; len(body) > 0; number++ {
		message, n := protowire.ConsumeBytes(body)
		if n < 0 {
			return fmt.Errorf("family %d: %w", number, protowire.ParseError(n))
		}
		body = body[n:]
		h, err := headerOf(message)
		if err == nil {
			err = read(h, message)
		}
		if err != nil {
			return fmt.Errorf("family %d: %w", number, err)
		}
	}
	return nil
}

// header is a family but for its metrics.
type header struct {
	name, help []byte
	kind       kind
}

func headerOf(message []byte) (header, error) {
	h := header{kind: counter} // the type that is zero
	f := fields{rest: message}
	for f.next() {
		switch f.tag {
		case familyName:
			h.name = f.bytes
		case familyHelp:
			h.help = f.bytes
		case familyType:
			h.kind = gaugeHistogram // neither is one to come read
			if f.value < uint64(len(wireKinds)) {
				h.kind = wireKinds[f.value]
			}
		}
	}
	if f.err == nil && (len(h.name) == 0 || !utf8.Valid(h.name)) {
		return h, errName
	}
	return h, f.err
}

func (p *Parser) declareFamily(h header, _ []byte) error {
	if err := p.metadata.setKind(h.name, h.kind); err != nil {
		return err
	}
	return p.metadata.describe(h.name, h.help, false)
}

// parseFamily reads the metrics of a family. If it is there twice with two types the first one holds.
func (p *Parser) parseFamily(h header, message []byte) error {
	into, ok := p.store.families[string(h.name)]
	if !ok {
		name := string(h.name)
		into = p.store.familyOf(role{family: name, said: name, kind: p.metadata.kindOf(name)})
	}
	if into.kind != h.kind {
		into = nil
	}
	for f := (fields{rest: message}); f.next(); {
		if f.tag != familyMetric {
			continue
		}
		if err := p.parseMetric(into, f.bytes); err != nil {
			return fmt.Errorf("%s: %w", abridged(h.name), err)
		}
	}
	return nil
}

// parseMetric reads a metric; nil = its family has another type.
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
	if slices.ContainsFunc(p.pairs, func(l pair) bool { return string(l.name) == pointLabel(into.kind) }) {
		p.store.dropped++
		return nil
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
	if f.err == nil && (len(l.name) == 0 || !utf8.Valid(l.name)) {
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
			s.began(seconds(f.bytes), p.store.page)
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
			s.began(seconds(f.bytes), p.store.page)
		}
	}
	return f.err
}

// parsePoint reads a quantile or a bucket. The value is a double with one tag, or else a number with another, 0 = there is no such.
func (p *Parser) parsePoint(into *parts, message []byte, at, double, number uint64) error {
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
