// Package probe answers questions of others: /probe sends one request of a module to the target that the scraper names, in the way in which
// continuous targets send theirs, and tells what came of it.
//
// Whoever can reach the page chooses whom this process speaks to, and that costs money and carries credentials. So nothing is allowed unless
// the configuration says so, the decision falls on the address that is connected to, and every refusal is counted. A probe must never touch the
// series of a continuous target.
//
// To refuse something else: a reason in rejection.go, and where it is found a call of reject.
package probe

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Module is one entry under `modules:` with everything that it refers to: what is asked of whomever a request names.
type Module struct {
	// Target has neither name nor URL.
	Target generator.TargetConfig
	// Allowed stands in place of the list of all modules; nil = that one holds.
	Allowed Rules
	// Authenticated: requests carry something that must not reach a host which Allowed does not have.
	Authenticated bool
}

// Deps are what probes need from the process. What of it comes from the configuration is asked anew for each probe.
type Deps struct {
	Config func() Config
	// Target is a configured target by its name; false: there is none.
	Target func(name string) (generator.TargetConfig, bool)
	// Module is a module by its name; Modules are the names of all.
	Module  func(name string) (Module, bool)
	Modules func() []string

	Clock *metrics.SystemClock
	// Limiter, Ledger and Budget are those that continuous targets share; to the limiter all probes together are one target.
	Limiter *load.Limiter
	Ledger  *budget.Ledger
	Budget  func() *budget.Account // nil, or gives nil = there is none
	Poller  *transport.Poller
	Logger  *slog.Logger
	// Resolver looks up the names that requests bring; nil = as the system does.
	Resolver  *net.Resolver
	Instance  string
	UserAgent string
	// Redact removes secrets from a text of the server; nil = there are none.
	Redact func(string) string
}

// Prober makes probes. Safe for concurrent use.
type Prober struct {
	deps  Deps
	share *load.Share
	tally *tally

	mu      sync.Mutex
	running int
}

// New makes a Prober, which ends with Close.
func New(deps Deps) *Prober {
	if deps.Redact == nil {
		deps.Redact = func(text string) string { return text }
	}
	return &Prober{deps: deps, share: deps.Limiter.Join(), tally: newTally()}
}

// Close ends the part that probes have in the limits of all targets. Not while a probe runs.
func (p *Prober) Close() { p.share.Leave() }

// Families gives the series of Table.
func (p *Prober) Families() []*dto.MetricFamily { return p.tally.families(p.deps.Modules()) }

// Probe makes one probe and waits for its end, which comes at the latest when the scraper stops waiting. The end of ctx cancels the request. The
// error is a *Rejection: nothing was sent.
func (p *Prober) Probe(ctx context.Context, r *Request) (*Result, error) {
	result, err := p.probe(ctx, r)
	if err != nil {
		p.tally.rejected(err.Reason)
		p.deps.Logger.Debug("probe refused", slog.String("reason", string(err.Reason)), slog.String("err", err.Detail))
		return nil, err
	}
	p.tally.ended(result.module, result.outcome())
	return result, nil
}

func (p *Prober) probe(ctx context.Context, r *Request) (*Result, *Rejection) {
	began := p.deps.Clock.Now()
	q, err := parse(r)
	if err != nil {
		return nil, err
	}
	config := p.deps.Config()
	plan, err := p.plan(q, &config)
	if err != nil {
		return nil, err
	}
	limit, err := deadline(r.ScrapeTimeout, plan.target.Client.Timeouts.Total, config.TimeoutOffset)
	if err != nil {
		return nil, err
	}
	if !p.enter(config.MaxInFlight) {
		return nil, reject(ReasonConcurrency, "%d probes are running, which is what probe.max_in_flight allows", config.MaxInFlight)
	}
	defer p.leave()
	ctx, cancel := context.WithTimeout(ctx, limit-time.Duration(p.deps.Clock.Now()-began))
	defer cancel()
	seen, err := p.send(ctx, plan, q.debug)
	if err != nil {
		return nil, err
	}
	return &Result{
		module: plan.module, witness: seen,
		url: plan.target.PublicURL(), model: plan.target.Model, endpoint: string(plan.target.Endpoint.Type), Debug: q.debug,
		duration: time.Duration(p.deps.Clock.Now() - began), timeout: limit,
	}, nil
}

// send makes the one request, with series of its own that nobody looks at.
func (p *Prober) send(ctx context.Context, plan *plan, debug bool) (*witness, *Rejection) {
	d := &p.deps
	store := metrics.NewStore(metrics.Options{Config: metrics.DefaultConfig(), Clock: d.Clock})
	seen := &witness{redact: d.Redact}
	deps := generator.Deps{
		Clock: d.Clock, Store: store, Limiter: d.Limiter, Share: p.share, Ledger: d.Ledger, Poller: d.Poller,
		Tokenizers: &tokenizer.Shelf{}, Logger: slog.New(quiet{d.Logger.Handler()}), Instance: d.Instance, UserAgent: d.UserAgent,
		Redact: d.Redact, Observer: seen,
	}
	if d.Budget != nil {
		deps.Budget = d.Budget()
	}
	if debug {
		deps.Tape = func(string) int { return maxTape }
	}
	target, err := generator.NewTarget(plan.target, deps) //nolint:contextcheck // certificates are read from files, which waits for nobody
	if err != nil {
		return nil, reject(ReasonInternal, "%s", d.Redact(err.Error()))
	}
	defer target.Close()
	target.Once(ctx)
	return seen, seen.rejection(plan.guard)
}
