package exposition

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// store holds the families of the page that is read, and keeps those of the pages before: to read a series again is to find its place.
type store struct {
	page     uint32 // counts pages; what was put in on another one is not on this one
	families map[string]*family
	made     int       // series in families
	order    []*family // those on the page

	duplicates, dropped int

	// shown, and identity, are memory that is used again.
	shown    []Series
	identity []byte
}

// family is all series of one name.
type family struct {
	name   string
	said   string // the name of which metadata speaks
	kind   kind
	series map[string]*series
	page   uint32
	order  []*series // those on the page
}

// series is the place of one series.
type series struct {
	labels    []Label
	page      uint32
	value     float64
	created   float64
	createdAt uint32 // the page on which it stood
	parts     *parts // of a histogram or a summary
}

// earliest and latest are Unix times between which a creation lies. What is called so may be something else, and no number at all.
const earliest, latest = 1e9, 1e10

// began notes when counting began.
func (s *series) began(at float64, page uint32) {
	if at >= earliest && at <= latest {
		s.created, s.createdAt = at, page
	}
}

// part is what a sample is of its series.
type part uint8

const (
	misfit   part = iota // nothing: a sample that its family cannot have
	value                // all there is
	point                // a bucket or a quantile
	sum                  // of observations
	count                // of observations
	creation             // when counting began, of another one
)

// sample is the place of one sample.
type sample struct {
	family *family
	series *series
	part   part
	point  int // index of a point
	// counted is the series whose beginning the sample tells, nil = of none.
	counted *series
}

func (s *store) begin() {
	s.page++
	s.order = s.order[:0]
	s.duplicates, s.dropped = 0, 0
}

func (s *store) forget() { s.families, s.order, s.made = map[string]*family{}, nil, 0 }

// resolve finds the place of a sample. Labels are copied.
func (s *store) resolve(m *metadata, name string, labels []Label) sample {
	var out sample
	if r := m.beginning(name); r.part == creation {
		out.counted = s.seriesOf(s.familyOf(r), labels)
	}
	r := m.roleOf(name)
	out.part = r.part
	if r.part == misfit || r.part == creation {
		return out
	}
	at, placed := 0.0, true
	switch r.part {
	case point:
		at, placed, labels = cutPoint(r.kind, labels)
	case sum, count: // on what we show, the label would stand beside the one of the bucket
		if slices.ContainsFunc(labels, func(l Label) bool { return l.Name == pointLabel(r.kind) }) {
			out.part = misfit
			return out
		}
	case misfit, value, creation:
	}
	out.family = s.familyOf(r)
	out.series = s.seriesOf(out.family, labels)
	switch {
	case !placed:
		out.point = unplaced
	case r.part == point:
		out.point = out.series.parts.pointAt(at)
	}
	return out
}

// pointLabel is the label that tells which bucket or quantile a sample is, "" where there are none.
func pointLabel(k kind) string {
	switch k {
	case histogram, gaugeHistogram:
		return "le"
	case summary:
		return "quantile"
	case undeclared, unknown, counter, gauge, info:
	}
	return ""
}

// cutPoint takes the label that tells which bucket or quantile it is from the others.
func cutPoint(k kind, labels []Label) (at float64, placed bool, others []Label) {
	i := slices.IndexFunc(labels, func(l Label) bool { return l.Name == pointLabel(k) })
	if i < 0 {
		return 0, false, labels
	}
	at, err := parseNumber([]byte(labels[i].Value))
	return at, err == nil && !math.IsNaN(at), slices.Delete(labels, i, i+1)
}

// familyOf is the place of the family of a sample.
func (s *store) familyOf(r role) *family {
	f, ok := s.families[r.family]
	if !ok {
		f = &family{name: strings.Clone(r.family), said: strings.Clone(r.said), kind: r.kind, series: map[string]*series{}}
		s.families[f.name] = f
	}
	return f
}

// seriesOf is the place of the series with these labels, which are in the order of names.
func (s *store) seriesOf(f *family, labels []Label) *series {
	s.identity = s.identity[:0]
	for i := range labels {
		s.identity = appendText(appendText(s.identity, labels[i].Name), labels[i].Value)
	}
	if found, ok := f.series[string(s.identity)]; ok {
		return found
	}
	return s.add(f, slices.Clone(labels))
}

// seriesOfPairs is the place of the series with these labels, which are in the order of names.
func (s *store) seriesOfPairs(f *family, pairs []pair) *series {
	s.identity = s.identity[:0]
	for _, l := range pairs {
		s.identity = appendText(appendText(s.identity, l.name), l.value)
	}
	if found, ok := f.series[string(s.identity)]; ok {
		return found
	}
	labels := make([]Label, len(pairs))
	for i, l := range pairs {
		labels[i] = Label{string(l.name), text(l.value)}
	}
	return s.add(f, labels)
}

// add makes the place of a series whose identity is known.
func (s *store) add(f *family, labels []Label) *series {
	made := &series{labels: labels}
	if k := f.kind.shown(); k == Histogram || k == Summary {
		made.parts = &parts{}
	}
	f.series[string(s.identity)] = made
	s.made++
	return made
}

// appendText appends text in such a way that it can be told from what follows.
func appendText[T ~string | ~[]byte](identity []byte, text T) []byte {
	return append(binary.AppendUvarint(identity, uint64(len(text))), text...)
}

// put takes the value of a sample.
func (s *store) put(at *sample, v float64) {
	if at.counted != nil {
		at.counted.began(v, s.page)
	}
	switch at.part {
	case misfit:
		s.dropped++
		return
	case creation:
		return
	case value, point, sum, count:
	}
	fresh := s.enter(at.family, at.series)
	if at.part == value {
		at.series.value = v
	} else {
		fresh = at.series.parts.put(at, v, s.page)
	}
	if !fresh {
		s.duplicates++
	}
}

// enter puts a series on the page and tells whether it was not there.
func (s *store) enter(f *family, found *series) (fresh bool) {
	if found.page == s.page {
		return false
	}
	if f.page != s.page {
		f.page, f.order = s.page, f.order[:0]
		s.order = append(s.order, f)
	}
	found.page = s.page
	f.order = append(f.order, found)
	if found.parts != nil {
		found.parts.begin()
	}
	return true
}

// show puts what was read on the page. What is not whole is counted as dropped.
func (s *store) show(page *Page, m *metadata) {
	n := 0
	for _, f := range s.order {
		n += len(f.order)
	}
	s.shown = slices.Grow(s.shown[:0], n)
	for _, f := range s.order {
		from := len(s.shown)
		for _, found := range f.order {
			if !found.show(f.kind, s.page, &s.shown) {
				s.dropped++
			}
		}
		if len(s.shown) == from {
			continue
		}
		shown := s.shown[from:len(s.shown):len(s.shown)]
		page.Families = append(page.Families, Family{Name: f.name, Help: m.helpOf(f.said), Kind: f.kind.shown(), Series: shown})
	}
	page.Duplicates, page.Dropped = s.duplicates, s.dropped
}

// show appends the series if it is whole.
func (s *series) show(k kind, page uint32, out *[]Series) (whole bool) {
	shown := Series{Labels: s.labels}
	if s.createdAt == page {
		shown.Created = s.created
	}
	switch k {
	case gaugeHistogram:
		return false
	case histogram:
		shown.Histogram, whole = s.parts.histogram(page)
	case summary:
		shown.Summary, whole = s.parts.summary(page)
	default:
		shown.Value, whole = s.value, true
	}
	if whole {
		*out = append(*out, shown)
	}
	return whole
}
