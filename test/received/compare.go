package received

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// Comparison is what came out of holding a state against two scrapes.
type Comparison struct {
	Wrong []error
	// WrongExemplars are series whose values may be right, but not their exemplars. The text of OpenMetrics rounds the times of these.
	WrongExemplars []error
	// Moved are families some of whose series were not the same at both scrapes.
	Moved map[string]bool
	// Compared counts series by kind.
	Compared map[Kind]int
	// Exemplars are those of series that stood still, alike on both sides.
	Exemplars []Exemplar
	// Starts are the families whose series do not show when they were created, by when counting began as they were received, in Unix nanoseconds.
	Starts map[int64][]string

	rules Rules
}

// Rules say what is compared, by family.
type Rules struct {
	LeftOut  func(family string) bool
	Restless func(family string) bool // its gauges may move and come back
}

// Compare holds a state against scrapes before and after it. What stood still must be equal; what only grows must be between the two; of a gauge
// that moved it is only known that it is there.
func (s *State) Compare(before, after scrape.Families, rules Rules) *Comparison {
	c := &Comparison{rules: rules, Moved: map[string]bool{}, Compared: map[Kind]int{}, Starts: map[int64][]string{}}
	known := map[Series]bool{}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if rules.LeftOut(name) {
			continue
		}
		earlier := bySeries(before[name])
		for of, m := range bySeries(after[name]) {
			known[of] = true
			if first := earlier[of]; first != nil {
				c.series(of, s.Values[of], first, m)
			} else {
				c.Moved[name] = true // it came in between
			}
		}
	}
	last := int64(0)
	for of := range known {
		if v := s.Values[of]; v != nil {
			last = max(last, v.At)
		}
	}
	for of, v := range s.Values {
		if !known[of] && !rules.LeftOut(of.Family) && v.At == last {
			c.Wrong = append(c.Wrong, fmt.Errorf("%v was received and is not shown", of))
		}
	}
	return c
}

func bySeries(f *dto.MetricFamily) map[Series]*dto.Metric {
	out := make(map[Series]*dto.Metric, len(f.GetMetric()))
	for _, m := range f.GetMetric() {
		out[Series{f.GetName(), labelsOf(m.GetLabel())}] = m
	}
	return out
}

// series compares one series.
func (c *Comparison) series(of Series, got *Value, before, after *dto.Metric) {
	if got == nil {
		c.wrong(of, errors.New("is shown and was not received"))
		return
	}
	low, high := shown(before, got.Kind), shown(after, got.Kind)
	c.Compared[got.Kind]++
	if got.Kind != low.Kind {
		c.wrong(of, fmt.Errorf("is a %s, was received as a %s", low.Kind, got.Kind))
		return
	}
	scale := min(got.Scale, low.Scale, high.Scale)
	low, got, high = low.coarser(scale), got.coarser(scale), high.coarser(scale)
	still := between(low, high, low) == nil
	if !still {
		c.Moved[of.Family] = true
	}
	if jumps := got.Kind == Gauge || got.Kind == Summary; !jumps || still && !c.rules.Restless(of.Family) {
		c.wrong(of, between(low, got, high))
	}
	if got.Kind != Gauge && !got.Differences {
		c.about(of, got, high, still)
	}
}

// about compares what is told beside the values of a series that counts.
func (c *Comparison) about(of Series, got, want *Value, still bool) {
	switch {
	case want.Start == 0:
		c.Starts[got.Start] = append(c.Starts[got.Start], of.Family)
	case want.Start != got.Start:
		c.wrong(of, fmt.Errorf("starts at %d, was received with %d", want.Start, got.Start))
	}
	if !still {
		return
	}
	if !slices.Equal(want.Exemplars, got.Exemplars) {
		c.WrongExemplars = append(c.WrongExemplars, fmt.Errorf("%v has the exemplars %+v, was received with %+v", of, want.Exemplars, got.Exemplars))
	}
	c.Exemplars = append(c.Exemplars, got.Exemplars...)
}

func (c *Comparison) wrong(of Series, err error) {
	if err != nil {
		c.Wrong = append(c.Wrong, fmt.Errorf("%v: %w", of, err))
	}
}

// between tells what of got is not between the two others.
func between(low, got, high *Value) error {
	errs := []error{
		sameBounds(low.Bounds, got.Bounds),
		within("value", low.Number, got.Number, high.Number), within("count", low.Count, got.Count, high.Count),
		within("sum", low.Sum, got.Sum, high.Sum), within("count of zero", low.Zero, got.Zero, high.Zero),
		withinAll("bucket", low.Bounds, got.Bounds, high.Bounds), withinAll("bucket", low.Buckets, got.Buckets, high.Buckets),
		withinAll("quantile", low.Quantiles, got.Quantiles, high.Quantiles),
	}
	return errors.Join(errs...)
}

func sameBounds(want, got map[float64]uint64) error {
	a, b := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))
	if !slices.Equal(a, b) {
		return fmt.Errorf("bounds are %v, shown as %v", b, a)
	}
	return nil
}

// within allows what adding in another order does to a sum of numbers.
func within[N uint64 | float64](what string, low, got, high N) error {
	const rounding = 1e-9
	l, g, h := float64(low), float64(got), float64(high)
	if math.IsNaN(l) && math.IsNaN(g) || l-rounding*math.Abs(l) <= g && g <= h+rounding*math.Abs(h) {
		return nil
	}
	return fmt.Errorf("%s is %v, shown as %v and then %v", what, got, low, high)
}

func withinAll[K int32 | float64, N uint64 | float64](what string, low, got, high map[K]N) error {
	keys := maps.Clone(low)
	for _, more := range []map[K]N{got, high} {
		for k := range more {
			if keys == nil {
				keys = map[K]N{}
			}
			keys[k] = 0
		}
	}
	errs := make([]error, 0, len(keys))
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		errs = append(errs, within(fmt.Sprintf("%s %v", what, k), low[k], got[k], high[k]))
	}
	return errors.Join(errs...)
}
