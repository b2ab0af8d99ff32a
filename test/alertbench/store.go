package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// store is a storage for the rule engine. What the canaries export is computed when it is asked for; what rules record is kept for as long as
// the rules look back. It is used by one evaluation at a time.
type store struct {
	keep     time.Duration // how long recorded samples are kept
	whole    bool          // leave no sample of a range out
	series   map[string][]*series
	recorded map[uint64]*series
	firing   func(alert labels.Labels, at int64) // told of each evaluation after which an alert fires
}

// series is one time series: computed from a canary, or samples that rules recorded.
type series struct {
	labels labels.Labels
	canary *canary
	value  func(scrape int) float64
	times  []int64
	values []float64
}

func newStore(keep time.Duration, firing func(labels.Labels, int64)) *store {
	return &store{keep: keep, series: map[string][]*series{}, recorded: map[uint64]*series{}, firing: firing}
}

// add makes a series of a canary known.
func (s *store) add(c *canary, value func(scrape int) float64, pairs ...string) {
	set := labels.FromStrings(pairs...)
	name := set.Get(prommodel.MetricNameLabel)
	s.series[name] = append(s.series[name], &series{labels: set, canary: c, value: value})
}

// remove ends all series of a canary, as when it is no more scraped.
func (s *store) remove(c *canary) {
	for name, all := range s.series {
		s.series[name] = slices.DeleteFunc(all, func(one *series) bool { return one.canary == c })
	}
}

// AppenderV2 implements storage.AppendableV2.
func (s *store) AppenderV2(context.Context) storage.AppenderV2 { return appender{s} }

// appender keeps each sample at once: rules never roll back.
type appender struct{ store *store }

func (appender) Commit() error   { return nil }
func (appender) Rollback() error { return nil }

// Append implements storage.AppenderV2.
func (a appender) Append(
	_ storage.SeriesRef, set labels.Labels, _, t int64, v float64, _ *histogram.Histogram, _ *histogram.FloatHistogram, _ storage.AppendV2Options,
) (storage.SeriesRef, error) {
	s, name := a.store, set.Get(prommodel.MetricNameLabel)
	switch name {
	case "ALERTS":
		if v == 1 && set.Get("alertstate") == "firing" {
			s.firing(set, t)
		}
		return 0, nil
	case "ALERTS_FOR_STATE":
		return 0, nil
	}
	one, known := s.recorded[set.Hash()]
	if !known {
		one = &series{labels: set}
		s.recorded[set.Hash()] = one
		s.series[name] = append(s.series[name], one)
	}
	if old := t - s.keep.Milliseconds(); len(one.times) >= 64 && one.times[len(one.times)/2] < old {
		from, _ := slices.BinarySearch(one.times, old)
		one.times, one.values = slices.Delete(one.times, 0, from), slices.Delete(one.values, 0, from)
	}
	one.times, one.values = append(one.times, t), append(one.values, v)
	return 0, nil
}

// Querier implements storage.Queryable.
func (s *store) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{store: s, mint: mint, maxt: maxt}, nil
}

type querier struct {
	store      *store
	mint, maxt int64
}

func (*querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (*querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (*querier) Close() error { return nil }

// Select implements storage.Querier for selectors that name a metric, as all rules do.
func (q *querier) Select(_ context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var name string
	for _, m := range matchers {
		if m.Name == prommodel.MetricNameLabel && m.Type == labels.MatchEqual {
			name = m.Value
		}
	}
	w := window{from: q.mint, to: q.maxt}
	if hints != nil {
		w.from, w.to = hints.Start, hints.End
		w.last = hints.Range == 0 && hints.Step <= 1
		w.ends = !q.store.whole && (hints.Func == "increase" || hints.Func == "rate")
	}
	all := q.store.series[name]
	set := &seriesSet{views: make([]view, 0, len(all)), at: -1}
	for _, one := range all {
		if matches(one.labels, matchers) {
			if v := one.view(w); v.next < v.end {
				set.views = append(set.views, v)
			}
		}
	}
	if sorted {
		slices.SortFunc(set.views, func(a, b view) int { return labels.Compare(a.labels, b.labels) })
	}
	return set
}

func matches(set labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if m.Name != prommodel.MetricNameLabel && !m.Matches(set.Get(m.Name)) {
			return false
		}
	}
	return true
}

// window says which samples a query needs.
type window struct {
	from, to int64 // milliseconds, both included
	last     bool  // the last sample alone
	ends     bool  // the increase from the first to the last sample: what is between them may be left out
}

// between is how many samples are left between the first and the last one of a range of which only the increase is asked for. The engine
// adds up the differences of a counter, which here never goes back, and lengthens them by what is missing at both ends of the range unless
// that is more than the usual distance of two samples; so the result is the same, and a range of three days costs no more than one of minutes.
const between = 4

// view is what one query sees of a series: each stride-th sample from next to end, and the last one.
type view struct {
	*series
	next, end, stride int
}

func (s *series) view(w window) view {
	v := view{series: s, stride: 1}
	if s.canary == nil {
		v.next, _ = slices.BinarySearch(s.times, w.from)
		v.end, _ = slices.BinarySearchFunc(s.times, w.to, func(t, to int64) int { return cmp.Or(cmp.Compare(t, to), -1) })
	} else {
		v.next = max(0, int(math.Ceil(float64(w.from-s.canary.start)/float64(s.canary.every))))
		v.end = min(len(s.canary.bad), int(math.Floor(float64(w.to-s.canary.start)/float64(s.canary.every)))+1)
		if w.ends && v.next > 0 && v.end-v.next > 2*between {
			v.stride = (v.end - v.next + between) / (between + 1)
		}
	}
	if w.last {
		v.next = max(v.next, v.end-1)
	}
	return v
}

type seriesSet struct {
	views []view
	at    int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.views) }
func (s *seriesSet) At() storage.Series                { return &s.views[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

func (v *view) Labels() labels.Labels { return v.labels }

// Iterator implements storage.Series.
func (v *view) Iterator(chunkenc.Iterator) chunkenc.Iterator { return storage.NewListSeriesIterator(v) }

// Len implements storage.Samples.
func (v *view) Len() int { return (v.end-v.next-1+v.stride-1)/v.stride + 1 }

// Get implements storage.Samples.
func (v *view) Get(i int) chunks.Sample {
	sample := min(v.next+i*v.stride, v.end-1)
	if v.canary == nil {
		return point{v.times[sample], v.values[sample]}
	}
	return point{v.canary.at(sample), v.value(sample)}
}

// point is one sample.
type point struct {
	time  int64
	value float64
}

func (p point) T() int64                    { return p.time }
func (p point) F() float64                  { return p.value }
func (p point) Copy() chunks.Sample         { return p }
func (point) ST() int64                     { return 0 }
func (point) H() *histogram.Histogram       { return nil }
func (point) FH() *histogram.FloatHistogram { return nil }
func (point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
