package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// accept goes through a small part, by the rule engine, and says what is not as it is said to be.
func (o *options) accept(ctx context.Context, out io.Writer) error {
	sets, err := o.load()
	if err != nil {
		return err
	}
	o.engine = size{canaries: 10, healthy: 2 * 24 * time.Hour, incidents: 25}
	o.model = o.engine
	var wrong []error
	fails := func(format string, values ...any) { wrong = append(wrong, fmt.Errorf(format, values...)) }

	plan := plan{rules: sets, seed: o.seed, scrape: o.scrape, canaries: o.engine.canaries, healthy: o.engine.healthy}
	healthy := []cell{{objective: 0.999, rate: rates()[0]}}
	pairs, err := o.compare(ctx, healthy, &plan, &plan)
	if err != nil {
		return err
	}
	p := pairs[0]
	pages, others := p.engine.episodes(targetDown, burnPageAlert), p.engine.episodes(multiwindowPage)
	fmt.Fprintf(out, "%s, healthy: %d canaries for %v: %d pages, multiwindow rules %d\n", &p.cell, plan.canaries, plan.healthy, pages, others)
	if pages > 0 || others == 0 {
		fails("%s: %d pages of healthy canaries, where the multiwindow rules have %d", &p.cell, pages, others)
	}
	var incidents []cell
	for _, r := range rates()[:2] {
		for _, k := range kinds()[1:] {
			incidents = append(incidents, cell{objective: 0.99, rate: r, kind: k})
		}
	}
	plan.canaries, plan.hurried = o.engine.incidents, true
	found, err := o.compare(ctx, incidents, &plan, &plan)
	if err != nil {
		return err
	}
	for _, p := range append(pairs, found...) {
		if p.apart > 0 {
			fails("%s: of %d episodes %d did not begin at the same evaluation by the engine and by the model", &p.cell, p.alike+p.apart, p.apart)
		}
	}
	for _, p := range found {
		row := p.delayRow()
		fmt.Fprintf(out, "%s: %d incidents: page after %s minutes (%s simulated before), multiwindow rules %s\n", &p.cell, plan.canaries, row[9], row[11], row[5])
		d := p.engine.delays(targetDown, burnPageAlert)
		median, half := d.quantile(0.5)
		var before float64
		if _, err := fmt.Sscanf(row[11], "%g /", &before); err != nil {
			return fmt.Errorf("%s: simulated delay %q: %w", &p.cell, row[11], err)
		}
		// So few incidents have a median that is not exact.
		most := max(before*map[string]float64{"1/min": 1.35, "0.2/s": 1.2}[p.cell.rate.name], before+0.75)
		if !half || median.Minutes() > most {
			fails("%s: median %.1f minutes, above %.1f", &p.cell, median.Minutes(), most)
		}
	}
	return errors.Join(wrong...)
}
