package mapping

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// recipe is a row, or a rule of the configuration, ready to be applied to series.
type recipe struct {
	server   string // value of the label, "" = the kind of the page
	series   *normalised
	matchers []matcher
	latest   bool
	ranks    []string
	sum      bool
	numbers  []string
	items    string
	each     string
	scale    scale
	positive bool
	labels   []labelSource // one for each label of the series, in their order
	values   map[string]string
}

// matcher is a condition on a label.
type matcher struct {
	label string
	value *regexp.Regexp
	must  bool
}

// labelSource says where the value of a label comes from: from an item, a fixed value, or the label of that name.
type labelSource struct {
	item        bool
	fixed, name string
	// closed sets replace what is not in allowed by other, complete ones what is missing by all.
	closed, complete bool
	allowed          []string
}

// counts tells whether the family should be a counter.
func (r *recipe) counts() bool {
	return r.series.Kind == metrics.Counter && !r.sum && !r.fromLabels()
}

// fromLabels tells whether what matters of a series is its labels, not its value.
func (r *recipe) fromLabels() bool {
	return len(r.numbers) > 0 || r.items != "" || r.each != "" || r.series.join == collect
}

// accepts tells whether a family has a type that the recipe can be applied to. A gauge is taken for a counter, since Ray had none.
func (r *recipe) accepts(kind exposition.Kind) bool {
	switch {
	case r.sum, r.series.Kind == metrics.Histogram:
		return kind == exposition.Histogram
	case r.counts():
		return kind == exposition.Counter || kind == exposition.Gauge || kind == exposition.Untyped
	default:
		return kind == exposition.Gauge || kind == exposition.Untyped
	}
}

func (r *recipe) matches(s *exposition.Series) bool {
	for _, m := range r.matchers {
		if m.value.MatchString(s.Label(m.label)) != m.must {
			return false
		}
	}
	return true
}

// rank orders the series of a model and engine, of which the lowest are taken: an absent rank comes first, then by number.
func (r *recipe) rank(s *exposition.Series) float64 {
	if r.latest {
		return -s.Value
	}
	rank := 0.
	for _, label := range r.ranks {
		rank *= 1 << 16
		if v := s.Label(label); v != "" {
			n, err := strconv.ParseUint(v, 10, 15)
			if err != nil {
				n = 1<<15 - 1
			}
			rank += float64(n) + 1
		}
	}
	return rank
}

// number is the value that a series tells, false = none.
func (r *recipe) number(s *exposition.Series) (float64, bool) {
	switch {
	case r.sum:
		if s.Histogram == nil {
			return 0, false
		}
		return r.scale.of(s.Histogram.Sum), true
	case r.items != "":
		return float64(len(itemsOf(s.Label(r.items)))), true
	case len(r.numbers) > 0:
		product := 1.
		for _, label := range r.numbers {
			n, err := strconv.ParseFloat(s.Label(label), 64)
			if err != nil {
				return 0, false // "None" is what Python says of what is not there
			}
			product *= n
		}
		return r.scale.of(product), true
	case r.fromLabels():
		return 1, true
	default:
		return r.scale.of(s.Value), !r.positive || s.Value > 0
	}
}

// itemsOf are those of a list with commas.
func itemsOf(list string) []string {
	items := strings.Split(list, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return slices.DeleteFunc(items, func(item string) bool { return item == "" })
}

// label is the value of one label of ours.
func (r *recipe) label(from *labelSource, s *exposition.Series, item string) string {
	switch {
	case from.item:
		return exposition.Clip(item)
	case from.fixed != "":
		return from.fixed
	}
	v := s.Label(from.name)
	if translated, ok := r.values[v]; ok {
		v = translated
	}
	switch {
	case v == "" && from.complete:
		return all
	case from.closed && !slices.Contains(from.allowed, v):
		return other
	}
	return exposition.Clip(v)
}

// scale is a factor to the unit of a series.
type scale struct{ factor, divisor float64 }

// factor makes a scale, 0 = 1. Where the factor is one over a whole number, as 0.001 is, numbers are divided by that: 300 ms are then 0.3 s and not
// the neighbour of it that a product with 0.001 gives, and the bounds of buckets stay readable.
func factor(f float64) scale {
	if f == 0 || f == 1 {
		return scale{1, 1}
	}
	if inverse := 1 / f; inverse > 1 && inverse < 1e15 {
		if whole := float64(int64(inverse + .5)); 1/whole == f {
			return scale{1, whole}
		}
	}
	return scale{f, 1}
}

func (s scale) one() bool { return s.factor == 1 && s.divisor == 1 }

func (s scale) of(v float64) float64 { return v * s.factor / s.divisor }
