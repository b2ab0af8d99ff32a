package generator

import (
	"net/http"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// hold is what an admitted arrival has taken until its request ends.
type hold struct {
	arrival load.Arrival
	share   *load.Share
	// turn is what will be asked, where a budget had to know its size; nil = it is made when the request is.
	turn        *workload.Turn
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
// asked for, and what may be spent. It waits for nobody but, in a
// burst beyond what the state file tells ahead, for that file.
func (t *Target) admit(a load.Arrival, now int64) (h *hold, refused metrics.DropReason) {
	if !t.share.Acquire(now) {
		return nil, metrics.DropGlobalLimit
	}
	if !t.backoff.Admit(now) { // after all that may still refuse at no cost: a yes may be the one probe of an interval
		t.share.Release(now)
		return nil, metrics.DropBackoff
	}
	h = &hold{arrival: a, share: t.share}
	if len(t.payers) == 0 {
		return h, ""
	}
	turn, err := t.workload.Next(pick(a, now))
	if err != nil {
		return h, "" // it will not do any better when the request is made, which says why
	}
	need := budget.Need{InputTokens: int64(turn.InputTokens), OutputTokens: int64(t.outputLimit(turn))}
	reservation, ok := t.deps.Ledger.Reserve(t.deps.Clock.Wall(now), need, t.payers...)
	if !ok {
		t.share.Release(now)
		t.workload.Done(turn, workload.End{Now: now, Unsent: true})
		return nil, metrics.DropBudget
	}
	h.turn, h.reservation = turn, reservation
	return h, ""
}

// settle pays for a request what it has cost, as far as the server has told. What a request has not told stays reserved: the prompt, and
// the longest answer, which a server may go on generating after we have stopped listening. A refused one costs no tokens.
func (h *hold) settle(r *metrics.Record, nominal int) {
	switch {
	case r.Time.Sent == 0 && r.Status == 0: // the server has never seen it whole
		h.reservation.Cancel()
	case r.Status >= http.StatusMultipleChoices:
		h.reservation.Settle(budget.Need{})
	default:
		spent := budget.Need{InputTokens: int64(nominal), OutputTokens: r.RequestedTokens}
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
