package history

import (
	"encoding/hex"
	"time"
	"unsafe"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// entry is a record in the form in which it is kept.
type entry struct {
	id, session, detail, prompt, answer string

	outcome metrics.Outcome
	class   metrics.ErrorClass
	finish  metrics.FinishReason
	status  int
	turn    int
	trace   [16]byte

	suspect, warmup, reused bool
	missed                  []string // names of SLOs; those of the configuration, which are there anyway

	input, output      metrics.Count
	ttft, itl, latency metrics.Value

	time        metrics.Timeline
	first, last int64    // instants of content events; 0 = there was none
	ticks       []micros // since the first phase began

	bytes int64
}

// take copies what is kept of a record, which is only valid now.
func (e *entry) take(r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict, slos []metrics.SLO) {
	e.id, e.session, e.detail = clip(r.RequestID, maxName), clip(r.Session, maxName), clip(r.Detail, maxDetail)
	e.outcome, e.class, e.finish, e.status, e.turn = r.Outcome, r.Class, r.Finish, r.Status, r.TurnIndex
	e.trace = r.Trace.ID
	e.suspect, e.warmup, e.reused = r.Suspect, r.Warmup, r.ConnReused
	for i := range verdicts {
		if !verdicts[i].Good && i < len(slos) {
			e.missed = append(e.missed, slos[i].Name)
		}
	}
	e.input, e.output = r.Usage.Input, r.Usage.Output
	e.ttft, e.itl, e.latency = m.TTFT, m.ITL, m.RequestLatency
	e.time = r.Time
	if n := len(r.Content); n > 0 {
		e.first, e.last = r.Content[0], r.Content[n-1]
	}
	e.thin(r.Content)
}

// thin keeps at most view.MaxTicks instants, the first and the last among them.
func (e *entry) thin(content []int64) {
	n := len(content)
	kept := min(n, view.MaxTicks)
	if cap(e.ticks) < kept {
		e.ticks = make([]micros, 0, kept)
	}
	begin := origin(&e.time)
	for i := range kept {
		at := content[i]
		if n > kept {
			at = content[i*(n-1)/(kept-1)]
		}
		e.ticks = append(e.ticks, toMicros(at-begin))
	}
}

func (e *entry) failed() bool { return e.outcome == metrics.Failure }

// size is the memory that it takes.
func (e *entry) size() int64 {
	texts := len(e.id) + len(e.session) + len(e.detail) + len(e.prompt) + len(e.answer)
	lists := cap(e.ticks)*int(unsafe.Sizeof(micros(0))) + cap(e.missed)*int(unsafe.Sizeof(""))
	return int64(int(unsafe.Sizeof(*e)) + texts + lists)
}

// view is the record as people see it.
func (e *entry) view(target string, clock Clock) view.Record {
	phases, total := e.phases()
	r := view.Record{
		ID: e.id, Target: target, At: wall(clock, origin(&e.time)), Outcome: string(e.outcome), Class: string(e.class), Detail: e.detail,
		Status: e.status, Finish: string(e.finish), Suspect: e.suspect, Warmup: e.warmup, Reused: e.reused, Session: e.session, Turn: e.turn,
		Missed:      append([]string(nil), e.missed...),
		InputTokens: told(e.input), OutputTokens: told(e.output),
		TTFT: defined(e.ttft), ITL: defined(e.itl), Latency: defined(e.latency),
		Phases: phases, Total: total, Ticks: make([]float64, len(e.ticks)),
		Prompt: e.prompt, Answer: e.answer,
	}
	if e.trace != [16]byte{} {
		r.TraceID = hex.EncodeToString(e.trace[:])
	}
	for i, tick := range e.ticks {
		r.Ticks[i] = tick.seconds()
	}
	return r
}

func wall(clock Clock, at int64) time.Time { return clock.Wall(at).UTC() }

func told(c metrics.Count) *int64 {
	if !c.Known {
		return nil
	}
	return &c.N
}

func defined(v metrics.Value) *float64 {
	if !v.Defined {
		return nil
	}
	return &v.V
}
