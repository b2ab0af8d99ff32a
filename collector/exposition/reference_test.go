package exposition_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// The reference reads a page with no thought of speed: each sample by itself with the library, then families by their rules, one at a time.

// flat is one sample.
type flat struct {
	name   string
	labels map[string]string
	value  float64
}

// The grammar of the lines of which the reference knows the meaning; the library reads others, too, and not always as one would.
const (
	quoted    = `"(\\[\\"n]|[^"\\])*"`
	labelWord = `([a-zA-Z_][a-zA-Z0-9_]*|` + quoted + `)`
	pairOf    = labelWord + `[ \t]*=[ \t]*` + quoted + `[ \t]*`
	nameOf    = `[a-zA-Z_:][a-zA-Z0-9_:]*`
)

var (
	sampleLine = regexp.MustCompile(`^[ \t]*(` + nameOf + `([ \t]*\{[ \t]*(` + pairOf + `(,[ \t]*` + pairOf + `)*,?[ \t]*)?\})?|\{[ \t]*` + quoted +
		`[ \t]*(,[ \t]*` + pairOf + `)*,?[ \t]*\})[ \t]+[^ \t]+([ \t]+-?[0-9]+)?[ \t]*$`)
	typeLine = regexp.MustCompile(`^[ \t]*#[ \t]*TYPE[ \t]+(` + nameOf + `)[ \t]+(counter|gauge|histogram|summary|untyped|unknown|info|stateset|gaugehistogram)[ \t]*$`)
	helpLine = regexp.MustCompile(`^[ \t]*#[ \t]*HELP[ \t]+(` + nameOf + `)(?:[ \t]+([^\\]*?))?[ \t]*$`)
	comment  = regexp.MustCompile(`^[ \t]*(#|$)`)
	keyword  = regexp.MustCompile(`^[ \t]*#[ \t]*(TYPE|HELP)`)
)

// referenceText reads a page of text; ok = false if there is something on it of which the reference does not know what it means.
func referenceText(body string) (samples []flat, types, help map[string]string, ok bool) {
	types, help = map[string]string{}, map[string]string{}
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if m := typeLine.FindStringSubmatch(line); m != nil {
			if _, again := types[m[1]]; !again {
				types[m[1]] = m[2]
			}
			continue
		}
		if m := helpLine.FindStringSubmatch(line); m != nil {
			if _, again := help[m[1]]; !again {
				help[m[1]] = strings.ToValidUTF8(m[2], "\uFFFD")
			}
			continue
		}
		if comment.MatchString(line) {
			if keyword.MatchString(line) {
				return nil, nil, nil, false
			}
			continue
		}
		sample, ok := referenceSample(line)
		if !ok {
			return nil, nil, nil, false
		}
		samples = append(samples, sample)
	}
	return samples, types, help, len(samples) > 0
}

func referenceSample(line string) (flat, bool) {
	if !sampleLine.MatchString(line) {
		return flat{}, false
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(line + "\n"))
	if err != nil || len(families) != 1 {
		return flat{}, false
	}
	for name, f := range families {
		m := f.GetMetric()[0]
		out := flat{name: name, labels: map[string]string{}, value: m.GetUntyped().GetValue()}
		for _, l := range m.GetLabel() {
			if l.GetValue() != "" {
				out.labels[l.GetName()] = l.GetValue()
			}
		}
		return out, true
	}
	return flat{}, false
}

// referenceFamily is a family, and what its series hold by what stands before the value.
type referenceFamily struct {
	name, kind, help string
	order            []string
	series           map[string]*referenceSeries
}

type referenceSeries struct {
	labels            map[string]string
	value, sum, count *float64
	points            map[float64]float64
	broken            bool
	since             float64
}

// referenceLines is the page that samples make.
func referenceLines(samples []flat, types, help map[string]string) []string {
	r := reference{types: types, help: help, families: map[string]*referenceFamily{}}
	for _, s := range samples {
		r.take(s)
	}
	var out []string
	for _, name := range r.order {
		out = append(out, r.show(r.families[name])...)
	}
	return append(out, countsLine(len(samples), r.duplicates, r.dropped))
}

type reference struct {
	types, help         map[string]string
	families            map[string]*referenceFamily
	order               []string
	duplicates, dropped int
}

func (r *reference) take(s flat) {
	if base, ok := strings.CutSuffix(s.name, "_created"); ok && s.value >= 1e9 && s.value <= 1e10 {
		r.begin(base, s)
	}
	kind, declared := r.types[s.name]
	switch {
	case declared && (kind == "histogram" || kind == "gaugehistogram"):
		r.dropped++
		return
	case declared && kind == "summary":
		r.point(s.name, kind, "quantile", s)
		return
	case declared:
		r.plain(s.name, s.name, plainKind(kind), s)
		return
	}
	for _, suffix := range []string{"_total", "_info", "_bucket", "_sum", "_count", "_gsum", "_gcount", "_created"} {
		base, ok := strings.CutSuffix(s.name, suffix)
		if ok && r.part(base, suffix, s) {
			return
		}
	}
	r.plain(s.name, s.name, "untyped", s)
}

func plainKind(kind string) string {
	switch kind {
	case "unknown":
		return "untyped"
	case "info", "stateset":
		return "gauge"
	}
	return kind
}

// part takes a sample whose name is that of a family and a suffix, if the family has such samples.
func (r *reference) part(base, suffix string, s flat) bool {
	kind := r.types[base]
	own := map[string]string{"histogram": "le", "gaugehistogram": "le", "summary": "quantile"}[kind]
	if _, has := s.labels[own]; has && (strings.HasSuffix(suffix, "sum") || strings.HasSuffix(suffix, "count")) {
		kind += " of a point"
	}
	switch suffix + " " + kind {
	case "_sum histogram of a point", "_sum summary of a point", "_gsum gaugehistogram of a point",
		"_count histogram of a point", "_count summary of a point", "_gcount gaugehistogram of a point":
		r.dropped++
	case "_total counter":
		r.plain(s.name, base, "counter", s)
	case "_info info":
		r.plain(s.name, base, "gauge", s)
	case "_bucket histogram", "_bucket gaugehistogram":
		r.point(base, kind, "le", s)
	case "_sum histogram", "_sum summary", "_gsum gaugehistogram":
		r.set(&r.at(base, base, kind, s.labels).sum, s.value)
	case "_count histogram", "_count summary", "_gcount gaugehistogram":
		r.set(&r.at(base, base, kind, s.labels).count, s.value)
	case "_created histogram", "_created summary", "_created counter":
	default:
		return suffix == "_created" && r.types[base+"_total"] == "counter"
	}
	return true
}

func (r *reference) plain(name, said, kind string, s flat) {
	r.set(&r.at(name, said, kind, s.labels).value, s.value)
}

func (r *reference) point(name, kind, own string, s flat) {
	labels := maps.Clone(s.labels)
	delete(labels, own)
	series := r.at(name, name, kind, labels)
	bound, err := strconv.ParseFloat(s.labels[own], 64)
	if err != nil || math.IsNaN(bound) {
		series.broken = true
		return
	}
	if _, again := series.points[bound]; again {
		r.duplicates++
	}
	series.points[bound] = s.value
}

func (r *reference) set(place **float64, value float64) {
	if *place != nil {
		r.duplicates++
	}
	*place = &value
}

// at is the series, which is on the page from now on.
func (r *reference) at(name, said, kind string, labels map[string]string) *referenceSeries {
	f := r.family(name, said, kind)
	if len(f.order) == 0 {
		r.order = append(r.order, name)
	}
	key := fmt.Sprintf("%q", sortedPairs(labels))
	if !slices.Contains(f.order, key) {
		f.order = append(f.order, key)
	}
	return f.place(key, labels)
}

func (r *reference) family(name, said, kind string) *referenceFamily {
	f, ok := r.families[name]
	if !ok {
		f = &referenceFamily{name: name, kind: kind, help: r.help[said], series: map[string]*referenceSeries{}}
		r.families[name] = f
	}
	return f
}

func (f *referenceFamily) place(key string, labels map[string]string) *referenceSeries {
	if f.series[key] == nil {
		f.series[key] = &referenceSeries{labels: labels, points: map[float64]float64{}}
	}
	return f.series[key]
}

// begin tells a series when it began, by a sample that is called so.
func (r *reference) begin(base string, s flat) {
	name, said, kind := base, base, r.types[base]
	switch kind {
	case "histogram", "summary":
	case "counter":
		name = base + "_total"
	default:
		if name, said, kind = base+"_total", base+"_total", r.types[base+"_total"]; kind != "counter" {
			return
		}
	}
	key := fmt.Sprintf("%q", sortedPairs(s.labels))
	r.family(name, said, kind).place(key, s.labels).since = s.value
}

func (r *reference) show(f *referenceFamily) []string {
	var out []string
	for _, key := range f.order {
		if s := f.series[key].shown(f.kind); s != nil {
			out = append(out, seriesLine(s))
		} else {
			r.dropped++
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]string{familyLine(f.name, f.kind, f.help)}, out...)
}

func (s *referenceSeries) shown(kind string) *exposition.Series {
	out := &exposition.Series{Created: s.since}
	for _, p := range sortedPairs(s.labels) {
		out.Labels = append(out.Labels, exposition.Label{Name: p[0], Value: p[1]})
	}
	bounds := slices.SortedFunc(maps.Keys(s.points), cmp.Compare)
	switch kind {
	case "gaugehistogram":
		return nil
	case "summary":
		if s.sum == nil || s.count == nil || s.broken {
			return nil
		}
		out.Summary = &exposition.Quantiles{Count: *s.count, Sum: *s.sum}
		for _, b := range bounds {
			out.Summary.Values = append(out.Summary.Values, exposition.Quantile{Quantile: b, Value: s.points[b]})
		}
	case "histogram":
		return s.histogram(out, bounds)
	default:
		out.Value = *s.value
	}
	return out
}

func (s *referenceSeries) histogram(out *exposition.Series, bounds []float64) *exposition.Series {
	last, closed := s.points[math.Inf(1)]
	switch {
	case s.sum == nil || s.broken || s.count == nil && !closed:
		return nil
	case s.count == nil:
		s.count = &last
	case !closed:
		s.points[math.Inf(1)] = *s.count
		bounds = append(bounds, math.Inf(1))
	}
	out.Histogram = &exposition.Buckets{Count: *s.count, Sum: *s.sum}
	before := 0.0
	for _, b := range bounds {
		n := s.points[b]
		if math.IsNaN(n) || math.IsInf(n, 0) || n < before {
			return nil
		}
		before = n
		out.Histogram.Classic = append(out.Histogram.Classic, exposition.Bucket{Bound: b, Count: n})
	}
	if c := *s.count; math.IsNaN(c) || math.IsInf(c, 0) || c < 0 {
		return nil
	}
	return out
}

func sortedPairs(labels map[string]string) [][2]string {
	var out [][2]string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, [2]string{name, labels[name]})
	}
	return out
}
