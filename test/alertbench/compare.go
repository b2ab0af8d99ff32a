package main

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

// pair is one cell as the rule engine and the model saw it.
type pair struct {
	cell          cell
	engine, model *result
	alike, apart  int // episodes that both saw begin at the same evaluation, and those that one of them did not
}

// compare goes through cells with both, those of an objective together and several objectives at a time. The engine sees the first canaries of
// those that the model sees.
func (o *options) compare(ctx context.Context, cells []cell, engine, model *plan) ([]*pair, error) {
	pairs := make([]*pair, len(cells))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	slots := make(chan struct{}, o.workers)
	start := func(work func() error) {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := work(); err != nil {
				cancel(err)
			}
		})
	}
	for first, last := range objectiveRanges(cells) {
		start(func() error {
			results, err := evaluate(ctx, cells[first:last], engine)
			for i, r := range results {
				pairs[first+i] = &pair{cell: cells[first+i], engine: r}
			}
			return err
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for _, p := range pairs {
		start(func() (err error) {
			if p.model, err = p.cell.imitate(ctx, model.of(&p.cell), shipped()); err == nil {
				p.alike, p.apart = agree(p.engine, p.model, p.engine.end(engine).UnixMilli())
			}
			return err
		})
	}
	group.Wait()
	return pairs, context.Cause(ctx)
}

// objectiveRanges are the ranges of cells that have one objective.
func objectiveRanges(cells []cell) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for first := 0; first < len(cells); {
			last := first + 1
			for last < len(cells) && cells[last].objective == cells[first].objective {
				last++
			}
			if !yield(first, last) {
				return
			}
			first = last
		}
	}
}

// of is the plan for a cell: half of the canaries where bad requests come in bursts, and for the engine half of the incidents that take days.
func (p *plan) of(c *cell) *plan {
	q := *p
	switch {
	case c.bursty:
		q.canaries = max(1, p.canaries/2)
	case p.hurried && c.kind.patient > 24*time.Hour:
		q.canaries = max(1, p.canaries/2)
	}
	return &q
}

// agree compares the episodes of the canaries that both went through, as far as both did.
func agree(engine, model *result, end int64) (alike, apart int) {
	for _, alert := range measured() {
		for number := range min(engine.canaries, model.canaries) {
			until := end
			if engine.ended[number] != 0 {
				until = min(until, engine.ended[number])
			}
			if model.ended[number] != 0 {
				until = min(until, model.ended[number])
			}
			a, b := engine.ledger.starts(alert, number, until), model.ledger.starts(alert, number, until)
			if slices.Equal(a, b) {
				alike += len(a)
			} else {
				apart += max(len(a), len(b))
			}
		}
	}
	return alike, apart
}

// starts are when the episodes of a canary began, before an instant.
func (l ledger) starts(alert string, number int, before int64) []int64 {
	var starts []int64
	if l[alert] != nil {
		for _, e := range l[alert][number] {
			if e.from < before {
				starts = append(starts, e.from)
			}
		}
	}
	return starts
}
