package generator

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Deps are what targets need from the process.
type Deps struct {
	Clock *metrics.SystemClock
	Store *metrics.Store
	// Limiter shares what all targets may send together, within the limits of the configuration; nil = they share it with nobody else.
	Limiter *load.Limiter
	// Share is the part of Limiter that its targets have together; nil: each joins for itself.
	Share *load.Share
	// Ledger keeps the accounts of budgets; nil = nobody has a budget. Budget is the account of all targets together, which a Generator opens
	// itself where its configuration limits them; nil = there is none.
	Ledger *budget.Ledger
	Budget *budget.Account
	// Shard is the part of each load that this exporter has.
	Shard load.Shard
	// Poller reads the answers, by the kernel's stamps; nil: each request reads its own, by those of its reads.
	Poller *transport.Poller
	// Tokenizers are those that targets share; nil: those share them that are built together, and each that is made alone has its own.
	Tokenizers *tokenizer.Shelf
	Logger     *slog.Logger
	// Instance tells this exporter from others with the same targets.
	Instance  string
	UserAgent string
	// Redact removes secrets from a text of the server before it is logged; nil = there are none.
	Redact func(string) string
	// Trace makes the context of a request's span, which its header traceparent carries; nil = requests carry none.
	Trace func() metrics.Trace
	// Observer sees what becomes of each arrival, after it has been counted; nil = nobody does.
	Observer Observer
	// Tape tells how many bytes of the bodies of a target's exchanges the observer is to see, 0 = none; nil = none of any target.
	Tape func(target string) (maxBytes int)
	// Removed ends what is shown of targets whose last requests have ended, their series by the function that it is given. It is not told of one whose
	// name another target has by then, and must not change the targets; nil = nothing but their series is shown.
	Removed func(targets []string, series func())

	// shared is Budget where reloads change it; nil = they do not.
	shared *atomic.Pointer[budget.Account]
	// carrier makes what carries requests in simulated time; nil = they go over the network.
	carrier func(*TargetConfig) client
}

// Observer sees what becomes of arrivals. It is called from many goroutines at once.
type Observer interface {
	// Finished gives a finished request and what the target's SLOs say of it, in their order. The record is only valid during the call.
	Finished(target string, r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict)
	// Dropped tells that n arrivals were not sent.
	Dropped(target string, reason metrics.DropReason, n int64)
}

// client carries requests to a server: *transport.Client, or in tests a server that lives in simulated time.
type client interface {
	Do(ctx context.Context, request *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer
	Close()
}

// newClient makes what carries the requests of a target.
func (d *Deps) newClient(c *TargetConfig) (client, error) {
	if d.carrier != nil {
		return d.carrier(c), nil
	}
	return transport.New(c.Client, d.Clock, d.Poller)
}

// budgets is the account of all targets together, nil if there is none.
func (d *Deps) budgets() *budget.Account {
	if d.shared == nil {
		return d.Budget
	}
	return d.shared.Load()
}
