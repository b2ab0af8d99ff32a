package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// WriteRecords writes one line a request, warm-up included, in the order in which they ended, with the keys of AIPerf's
// profile_export.jsonl. What AIPerf has no key for stands under "exporter".
func (r *Report) WriteRecords(w io.Writer) error {
	out := bufio.NewWriter(w)
	numbers := r.sessionNumbers()
	for i := range r.samples {
		line, err := marshal(r.line(r.samples[i], numbers[i]))
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		out.Write(append(line, '\n')) //nolint:errcheck // Flush tells
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	return nil
}

// sessionNumbers count the requests of each phase in the order in which they began.
func (r *Report) sessionNumbers() []int {
	order := make([]int, len(r.samples))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(r.samples[a].record.Time.Start, r.samples[b].record.Time.Start)
	})
	numbers := make([]int, len(order))
	next := map[bool]int{}
	for _, i := range order {
		warmup := r.samples[i].record.Warmup
		numbers[i] = next[warmup]
		next[warmup]++
	}
	return numbers
}

func (r *Report) line(s *sample, session int) object {
	record := &s.record
	o := object{{"metadata", r.metadata(record, session)}, {"metrics", r.requestMetrics(s)}}
	switch record.Outcome {
	case metrics.Success:
	case metrics.Failure:
		failure := ErrorCount{Class: record.Class, Status: record.Status, Detail: record.Detail}
		o = append(o, member{"error", failure.details()})
	case metrics.Cancelled:
		// 499 is AIPerf's code for a request that the client gave up.
		o = append(o, member{"error", object{{"code", 499}, {"type", record.Outcome}, {"message", "cancelled by the client"}}})
	}
	own := object{{"target", r.Meta.Target}, {"outcome", record.Outcome}}
	if record.Finish != "" {
		own = append(own, member{"finish_reason", record.Finish})
	}
	if record.Time.Sched != 0 {
		own = append(own, member{"scheduled_ns", r.unix(record.Time.Sched)})
	}
	return append(o, member{"exporter", own})
}

// metadata: a request without a session is one of its own, with one turn.
func (r *Report) metadata(record *metrics.Record, number int) object {
	t := &record.Time
	session := cmp.Or(record.Session, record.RequestID)
	root, depth := session, 0
	if record.ParentSession != "" { // recordings have agents of agents nowhere
		root, depth = record.ParentSession, 1
	}
	phase := "profiling"
	if record.Warmup {
		phase = "warmup"
	}
	o := object{
		{"session_num", number},
		{"x_request_id", record.RequestID},
		{"x_correlation_id", session},
		{"turn_index", record.TurnIndex},
	}
	if t.Issue != 0 {
		o = append(o, member{"credit_issued_ns", r.unix(t.Issue)})
	}
	o = append(o, member{"request_start_ns", r.unix(t.Start)})
	if t.Header != 0 {
		o = append(o, member{"request_ack_ns", r.unix(t.Header)})
	}
	cancelled := record.Outcome == metrics.Cancelled
	o = append(
		o,
		member{"request_end_ns", r.unix(t.End)},
		member{"worker_id", generatorName},
		member{"record_processor_id", generatorName},
		member{"benchmark_phase", phase},
		member{"phase_name", phase},
		member{"phase_kind", phase},
		member{"was_cancelled", cancelled},
	)
	if cancelled {
		o = append(o, member{"cancellation_time_ns", r.unix(t.End)})
	}
	return append(
		o,
		member{"context_overflow_skip", false},
		member{"agent_depth", depth},
		member{"root_correlation_id", root},
	)
}

func (r *Report) unix(at int64) int64 { return r.Meta.Epoch.Add(time.Duration(at)).UnixNano() }

// requestMetrics are what the figures of the report got from this request.
func (r *Report) requestMetrics(s *sample) object {
	o := object{}
	var values []float64
	for i := range catalog {
		d := &catalog[i]
		if d.values == nil || d.part == extra || !d.of.has(s.record.Outcome) {
			continue
		}
		values = d.values(values[:0], s)
		switch {
		case d.list && len(values) > 0:
			o = append(o, member{d.tag, object{{"value", slices.Clone(values)}, {"unit", d.unit}}})
		case len(values) > 0:
			o = append(o, member{d.tag, object{{"value", values[0]}, {"unit", d.unit}}})
		}
	}
	if len(r.SLOs) > 0 && s.record.Outcome == metrics.Success && !s.record.Warmup {
		good := 0
		if s.good {
			good = 1
		}
		o = append(o, member{"good_request_count", object{{"value", good}, {"unit", "requests"}}})
	}
	return o
}
