package generator

import "github.com/aiperf-exporter/aiperf-exporter/metrics"

// tape gives what an exchange with a model is recorded on, and how much of each of its bodies; nil = nobody wants that.
func (q *question) tape(model string) (tape *metrics.Tape, maxBytes int) {
	t := q.target
	if t.deps.Tape == nil {
		return nil, 0
	}
	if maxBytes = t.deps.Tape(t.name); maxBytes <= 0 {
		return nil, 0
	}
	tape, used := t.tapes.Get().(*metrics.Tape)
	if !used {
		tape = &metrics.Tape{}
	}
	tape.Endpoint, tape.Model = string(q.generation.config.Endpoint.Type), model
	return tape, maxBytes
}

// rewind takes the tape of a request back when everybody has seen it.
func (t *Target) rewind(r *metrics.Record) {
	if r.Tape == nil {
		return
	}
	r.Tape.Erase()
	t.tapes.Put(r.Tape)
	r.Tape = nil
}
