package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// totals are what figures of a whole run are computed from.
type totals struct {
	successes, failures int64
	judged              bool // there are SLOs
	good                int64
	overflows           int64 // failures of class context_overflow
	window              float64
	valid               span // first start until last content event of the successes
	lengths, wrong      int64
	streamed, coalesced int64 // content events of streams; those that shared a read with the one before
	events, tokens      int64 // content events and output tokens of streams whose token count is exact
	fresh               int64 // successes on a new connection
	suspect             int64 // requests during which this machine was at fault, any outcome
	sums                map[string]float64
}

// span is a stretch of time that grows; instants in nanoseconds since the epoch.
type span struct {
	from, to int64
	any      bool
}

func (s *span) add(from, to int64) {
	if !s.any {
		*s = span{from, to, true}
		return
	}
	s.from, s.to = min(s.from, from), max(s.to, to)
}

func (s *span) seconds() float64 { return metrics.Seconds(s.to - s.from) }

// count sums up the samples, and fills in what the report counts of them.
func (r *Report) count(judged bool, window span) *totals {
	t := &totals{judged: judged, window: window.seconds(), sums: map[string]float64{}}
	r.tokenSources = map[string]map[metrics.TokenSource]int64{"input": {}, "output": {}}
	r.finish = map[metrics.FinishReason]int64{}
	r.Items = map[metrics.Product]int64{}
	failures := map[ErrorCount]*ErrorCount{}
	for i := range r.samples {
		s := r.samples[i]
		if s.record.Warmup {
			r.WarmUp++
			continue
		}
		if s.record.Suspect {
			t.suspect++
		}
		switch s.record.Outcome {
		case metrics.Success:
			r.Successes++
			r.countSuccess(t, s)
		case metrics.Failure:
			r.Failures++
			countFailure(failures, &s.record)
			if s.record.Class == metrics.ErrContextOverflow {
				t.overflows++
			}
		case metrics.Cancelled:
			r.Cancelled++
			if s.record.Abandoned {
				r.Abandoned++
			}
		}
	}
	t.successes, t.failures = r.Successes, r.Failures
	r.Errors = sortedErrors(failures)
	return t
}

// windowOf is the stretch that throughputs are divided by: from the first scheduled instant until the last request has ended, warm-up left out.
func windowOf(samples []*sample) span {
	var window span
	for _, s := range samples {
		if !s.record.Warmup {
			window.add(s.scheduled(), max(s.scheduled(), s.record.Time.End))
		}
	}
	return window
}

// scheduled is when the request was wanted; its start, where there is no schedule.
func (s *sample) scheduled() int64 {
	if s.record.Time.Sched != 0 {
		return s.record.Time.Sched
	}
	return s.record.Time.Start
}

func (r *Report) countSuccess(t *totals, s *sample) {
	record := &s.record
	if s.good {
		t.good++
	}
	if s.measures.RequestLatency.Defined {
		start := record.Time.Start
		t.valid.add(start, start+int64(math.Round(s.measures.RequestLatency.V*1e9)))
	}
	if s.hasLength() {
		t.lengths++
	}
	if _, wrong := record.LengthError(); wrong {
		t.wrong++
	}
	if record.Streaming {
		t.streamed += int64(s.events)
	}
	if record.Streaming && record.OutputSource.Exact() {
		t.events += int64(s.events)
		t.tokens += record.Usage.Output.N
	}
	if record.ConnObtained && !record.ConnReused {
		t.fresh++
	}
	t.coalesced += record.Coalesced
	r.tokenSources["input"][record.InputSource]++
	if record.Product.Generates() { // else there is nothing to know
		r.tokenSources["output"][record.OutputSource]++
	}
	if record.Items > 0 {
		r.Items[record.Product] += record.Items
	}
	r.AudioSeconds += record.AudioSeconds
	if record.Finish != "" {
		r.finish[record.Finish]++
	}
}

// hasLength tells whether a length was asked for and the server has counted what came.
func (s *sample) hasLength() bool {
	return s.record.RequestedTokens > 0 && s.record.OutputSource.Exact()
}

func countFailure(failures map[ErrorCount]*ErrorCount, record *metrics.Record) {
	key := ErrorCount{Class: record.Class, Status: record.Status}
	if failures[key] == nil {
		failures[key] = &ErrorCount{Class: record.Class, Status: record.Status, Detail: record.Detail}
	}
	failures[key].Count++
}

func sortedErrors(failures map[ErrorCount]*ErrorCount) []ErrorCount {
	list := make([]ErrorCount, 0, len(failures))
	for _, e := range failures {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Status, b.Status))
	})
	return list
}

// describe fills in the figures that have a value, in the order of the catalogue.
func (r *Report) describe(t *totals) {
	var values []float64
	found := make([]Stats, len(catalog))
	for i := range catalog {
		if d := &catalog[i]; d.values != nil {
			if values = r.collect(values[:0], d); len(values) > 0 {
				found[i] = newStats(values)
				t.sums[d.tag] = found[i].Sum
			}
		}
	}
	for i := range catalog {
		d := &catalog[i]
		m := Metric{Tag: d.tag, Header: d.header, Unit: d.unit, Scalar: d.scalar != nil, Stats: found[i], leading: d.part == leading}
		ok := m.Stats.Count > 0
		if m.Scalar {
			m.Stats.Avg, ok = d.scalar(t)
		}
		switch {
		case !ok:
		case d.part == extra:
			r.Extra = append(r.Extra, m)
		default:
			r.Metrics = append(r.Metrics, m)
		}
	}
}

// collect appends the values of one figure, over all requests that it is defined for.
func (r *Report) collect(dst []float64, d *definition) []float64 {
	for i := range r.samples {
		if s := r.samples[i]; !s.record.Warmup && d.of.has(s.record.Outcome) {
			dst = d.values(dst, s)
		}
	}
	return dst
}
