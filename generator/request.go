package generator

import (
	"context"
	"log/slog"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// request carries one admitted arrival to its end.
func (t *Target) request(ctx context.Context, flight *metrics.Flight, h *hold, issue int64, warmup bool) {
	stamps := t.stamps.Get().(*[]int64)
	g := h.generation
	r := &metrics.Record{RequestID: newRequestID(), Trace: g.newTrace(), Product: g.traits.Product, Content: (*stamps)[:0]}
	r.Time.Sched, r.Time.Issue = h.arrival.Sched, issue
	r.Warmup = warmup
	q := question{target: t, generation: g, hold: h, record: r, flight: flight}
	defer func() {
		if cause := recover(); cause != nil {
			t.caught(metrics.ComponentRequest, cause)
			r.Outcome, r.Class, r.Detail = metrics.Failure, metrics.ErrClientInternal, errPanic.Error()
			r.Time.End = t.deps.Clock.Now()
		}
		t.finish(flight, g, r)
		t.rewind(r)
		*stamps = r.Content
		t.stamps.Put(stamps)
	}()
	defer q.close()
	q.ask(ctx)
}

// finish counts a request of a generation that has ended, and tells of it. A fault of those who are told ends here.
func (t *Target) finish(flight *metrics.Flight, g *generation, r *metrics.Record) {
	defer func() {
		if cause := recover(); cause != nil {
			t.caught(metrics.ComponentRequest, cause)
		}
	}()
	if t.deps.Redact != nil {
		r.Detail, r.ServedModel = t.deps.Redact(r.Detail), t.deps.Redact(r.ServedModel)
	}
	g.backoff.Note(load.Observation{Start: r.Time.Start, Outcome: r.Outcome, Class: r.Class, Status: r.Status, RetryAfter: r.RetryAfter}, t.deps.Clock.Now())
	m, verdicts := flight.Finish(r)
	if r.Outcome == metrics.Failure {
		t.failures.note(r)
	}
	t.deps.Logger.Debug("request ended", slog.String("target", t.name), slog.String("request_id", r.RequestID),
		slog.String("outcome", string(r.Outcome)), slog.String("error_class", string(r.Class)),
		slog.Float64("duration_seconds", m.Total.V), slog.String("err", r.Detail))
	if t.deps.Observer != nil {
		t.deps.Observer.Finished(t.name, r, &m, verdicts)
	}
}
