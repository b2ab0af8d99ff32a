package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// delays are the incidents.
func (o *options) delays(ctx context.Context, sets map[float64]*ruleSet) (*section, error) {
	cells := make([]cell, 0, len(objectives())*len(rates())*len(kinds()))
	for _, objective := range objectives() {
		for _, r := range rates() {
			for _, k := range kinds() {
				cells = append(cells, cell{objective: objective, rate: r, kind: k})
			}
		}
	}
	base := plan{rules: sets, seed: o.seed, scrape: o.scrape}
	engine, model := base, base
	engine.canaries, model.canaries, engine.hurried = o.engine.incidents, o.model.incidents, true
	pairs, err := o.compare(ctx, cells, &engine, &model)
	if err != nil {
		return nil, err
	}
	s := &section{
		title: "From the beginning of an incident to the first alert, minutes: median / 95th percentile",
		head: []string{
			"objective", "rate", "incident", "naive", "simulated before", "multiwindow page", "before", "multiwindow any", "before",
			"**our page**, engine", "**our page**, model", "before", "**our any**, engine", "**our any**, model", "before", "no slower",
		},
	}
	alike, apart := 0, 0
	for _, p := range pairs {
		s.rows = append(s.rows, p.delayRow())
		alike, apart = alike+p.alike, apart+p.apart
	}
	s.notes = []string{
		fmt.Sprintf("Engine: %d incidents a row in Prometheus's rule engine (half of that in the rows of 5x), followed for 8 hours; model: %d, for a day (5x: two), of which the first are the same ones. The columns without a name are the model's.",
			o.engine.incidents, o.model.incidents),
		fmt.Sprintf("Of the episodes in incidents that both went through, %d began at the same evaluation of the rules in both, %d did not.", alike, apart),
		"No slower: the medians of our page and of any of our alerts, by the engine and by the model, are at most those that were simulated before, plus one " +
			"evaluation (30 s) and one scrape (15 s). Within chance: they are not, but the median of many more incidents may be, with 95 % confidence.",
	}
	return s, nil
}

func (p *pair) delayRow() []string {
	c := &p.cell
	before := simulatedDelays()[fmt.Sprintf("%s %s %s", percent(c.objective), c.rate.name, c.kind.name)]
	ours := []string{targetDown, burnPageAlert}
	anyOurs := append(slices.Clone(ours), burnTicketAlert)
	verdict := yes
	for _, r := range []*result{p.engine, p.model} {
		verdict = max(verdict, r.slower(before[3], ours...), r.slower(before[4], anyOurs...))
	}
	return []string{
		percent(c.objective), c.rate.name, c.kind.name,
		p.model.delay(naiveAlert), before[0], p.model.delay(multiwindowPage), before[1], p.model.delay(multiwindowPage, multiwindowTicket), before[2],
		p.engine.delay(ours...), p.model.delay(ours...), before[3], p.engine.delay(anyOurs...), p.model.delay(anyOurs...), before[4], verdict.String(),
	}
}

// delay writes a delay: median and 95th percentile in minutes, or the share that was seen.
func (r *result) delay(alerts ...string) string {
	d := r.delays(alerts...)
	median, half := d.quantile(0.5)
	high, most := d.quantile(0.95)
	switch all := len(d.seen) + d.missed; {
	case len(d.seen) == 0:
		return "never"
	case !half:
		return fmt.Sprintf("%.0f %% seen", 100*float64(len(d.seen))/float64(all))
	case !most:
		return fmt.Sprintf("%s / – (%.0f %% missed)", minutes(median), 100*float64(d.missed)/float64(all))
	}
	return minutes(median) + " / " + minutes(high)
}

func minutes(d time.Duration) string {
	if d < 100*time.Minute {
		return fmt.Sprintf("%.1f", d.Minutes())
	}
	return fmt.Sprintf("%.0f", d.Minutes())
}

// slower compares the median of alerts with one in minutes. Where more than half had been missed before, there is no median to be slower than.
func (r *result) slower(before string, alerts ...string) verdict {
	var least float64
	if n, err := fmt.Sscanf(before, "%g /", &least); err != nil || n != 1 || least >= r.kind.patient.Minutes() {
		return yes
	}
	d := r.delays(alerts...)
	return d.slower(time.Duration(least*float64(time.Minute)), 45*time.Second)
}
