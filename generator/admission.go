package generator

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// hold is what an admitted arrival has taken until its request ends.
type hold struct {
	arrival    load.Arrival
	generation *generation // by which it is asked
	// turn is what will be asked, where a budget had to know its size; nil = it is made when the request is, unless err says why it cannot be.
	turn        *workload.Turn
	err         error
	need        budget.Need         // that is set aside
	reservation *budget.Reservation // nil = there is no budget
	// abandon: the connection is closed on purpose, abandonAfter after the request has been written.
	abandon      bool
	abandonAfter time.Duration
	// prefilled gives the place among the prefills back; called once, at the first token. firstToken tells that it has been.
	prefilled  func()
	firstToken bool
}

// gotFirstToken tells that the prefill is over.
func (h *hold) gotFirstToken() {
	if !h.firstToken {
		h.firstToken = true
		h.prefilled()
	}
}

// admit asks everything beyond the target's own slots whether an arrival may be sent now: what other targets need, what the server has
// asked for, and what may be spent. It waits for nobody but, in a burst beyond what the state file tells ahead, for that file.
func (t *Target) admit(g *generation, a load.Arrival, now int64) (h *hold, refused metrics.DropReason) {
	if !t.share.Acquire(now) {
		return nil, metrics.DropGlobalLimit
	}
	if !g.backoff.Admit(now) { // after the share, which refuses at no cost: a yes may be the one probe of an interval
		t.share.Cancel(now)
		return nil, metrics.DropBackoff
	}
	h = &hold{arrival: a, generation: g}
	if !t.reserve(h, now) {
		t.share.Cancel(now)
		return nil, metrics.DropBudget
	}
	return h, ""
}

// reserve makes the turn of h, where there is a budget, and sets aside what it may cost; false: there is not enough left. What goes wrong here fails the request, also
// where it panics: the loop would not give back the slots that the arrival has taken, and what is not reserved must not be sent.
func (t *Target) reserve(h *hold, now int64) (fits bool) {
	own, shared := t.account.Load(), t.deps.budgets()
	if own == nil && shared == nil {
		return true
	}
	defer func() {
		if cause := recover(); cause != nil {
			t.caught(metrics.ComponentRequest, cause)
			h.err, fits = errPanic, true
		}
	}()
	g := h.generation
	if h.turn, h.err = g.content.Next(pick(h.arrival, now)); h.err != nil {
		return true
	}
	h.need = budget.Need{InputTokens: int64(h.turn.InputTokens), OutputTokens: g.longestAnswer(h.turn)}
	h.reservation, fits = t.deps.Ledger.Reserve(t.deps.Clock.Wall(now), h.need, own, shared) // the target first: it has the prices
	if !fits {
		g.content.Done(h.turn, workload.End{Now: now, Unsent: true})
	}
	return fits
}

var errPanic = errors.New("panic")

// longestAnswer is how many tokens the answer to a turn may have, or where nothing limits it, how many are expected.
func (g *generation) longestAnswer(turn *workload.Turn) int64 {
	if !g.traits.Product.Generates() {
		return 0
	}
	return int64(cmp.Or(g.codec.OutputLimit(g.config.wire(turn)), turn.OutputTokens))
}

// settle pays for a request what it has cost, as far as the server has told. What a request has not told stays reserved: the prompt, and
// the longest answer, which a server may go on generating after we have stopped listening. A refused one costs no tokens.
func (h *hold) settle(r *metrics.Record) {
	switch {
	case r.Time.Sent == 0 && r.Status == 0: // the server has never seen it whole
		h.reservation.Cancel()
	case r.Status >= http.StatusMultipleChoices:
		h.reservation.Settle(budget.Need{})
	default:
		spent := h.need
		if r.InputSource.Exact() {
			spent.InputTokens = r.Usage.Input.N
		}
		if r.OutputSource.Exact() {
			spent.OutputTokens = r.Usage.Output.N
		}
		h.reservation.Settle(spent)
	}
}

func pick(a load.Arrival, now int64) workload.Pick {
	return workload.Pick{Now: now, User: a.User, Entry: a.Entry}
}
