package generator

import (
	"context"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Play makes a record of the events that play hands out, as if answer had brought them: the part of a request's way that knows neither
// sockets nor clocks. inputTokens is the nominal length of the prompt.
func Play(codec endpoint.Codec, record *metrics.Record, answer *transport.Answer, inputTokens int, play func(transport.Handler)) {
	x := &exchange{decoder: codec.Decoder(nil), traits: codec.Traits(), record: record, flight: unwatched{}, inputTokens: inputTokens}
	play(x)
	x.finish(answer)
}

// unwatched is the flight of a record that no store waits for.
type unwatched struct{}

func (unwatched) Start(_, _ int64)             {}
func (unwatched) Content(int64, metrics.Count) {}

// Carry has the target's requests carried by c from now on. Not while it runs.
func (t *Target) Carry(c client) {
	t.newest.client.Close()
	t.newest.client = c
}

// BreakWorkload has the workload panic from now on, until it is repaired. Not while the target runs.
func (t *Target) BreakWorkload() (repair func()) {
	whole := t.newest.content.Workload
	t.newest.content.Workload = &workload.Workload{}
	return func() { t.newest.content.Workload = whole }
}

// Ask sends a turn now, outside the schedule and the workload, and waits for its end.
func (t *Target) Ask(ctx context.Context, turn *workload.Turn) {
	t.once(ctx, t.newest, func(h *hold) { h.turn = turn })
}

// CarryBy has the requests of all targets that are built carried by what carrier gives.
func CarryBy[C client](deps *Deps, carrier func(*TargetConfig) C) {
	deps.carrier = func(c *TargetConfig) client { return carrier(c) }
}

// Ending counts the targets that wait for being buried.
func (g *Generator) Ending() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.ending)
}

// InParallel does jobs as a plan does.
func (d *Deps) InParallel(jobs []func() error) error { return d.inParallel(jobs) }
