package main

import (
	"context"
	"fmt"
)

// alarms are the healthy canaries.
func (o *options) alarms(ctx context.Context, sets map[float64]*ruleSet) (*section, error) {
	cells := make([]cell, 0, len(objectives())*len(rates())*2)
	for _, objective := range objectives() {
		for _, r := range rates() {
			cells = append(cells, cell{objective: objective, rate: r}, cell{objective: objective, rate: r, bursty: true})
		}
	}
	base := plan{rules: sets, seed: o.seed, scrape: o.scrape}
	engine, model := base, base
	engine.canaries, engine.healthy = o.engine.canaries, o.engine.healthy
	model.canaries, model.healthy = o.model.canaries, o.model.healthy
	pairs, err := o.compare(ctx, cells, &engine, &model)
	if err != nil {
		return nil, err
	}
	s := &section{
		title: "False alarms in 30 days of one SLO of a healthy canary; in brackets, when bad requests come in outages of a minute",
		head: []string{
			"objective", "rate", "naive", "simulated before", "multiwindow page", "before", "multiwindow ticket", "before",
			"**TargetDown**", "before", "**BurnPage**", "before", "**BurnTicket**", "before",
		},
	}
	alike, apart, pages, months := 0, 0, 0, 0.0
	engineDays, enginePages, multiwindowPages := 0.0, 0, 0
	for i := 0; i < len(pairs); i += 2 {
		even, bursty := pairs[i], pairs[i+1]
		row := []string{percent(even.cell.objective), even.cell.rate.name}
		before := simulatedAlarms()[row[0]+" "+row[1]]
		for j, alert := range []string{naiveAlert, multiwindowPage, multiwindowTicket, targetDown, burnPageAlert, burnTicketAlert} {
			row = append(row, fmt.Sprintf("%.2f [%.1f]", even.model.perMonth(alert), bursty.model.perMonth(alert)), before[j])
		}
		s.rows = append(s.rows, row)
		alike, apart = alike+even.alike+bursty.alike, apart+even.apart+bursty.apart
		pages += even.model.episodes(targetDown, burnPageAlert)
		months += even.model.days / 30
		engineDays += even.engine.days
		enginePages += even.engine.episodes(targetDown, burnPageAlert)
		multiwindowPages += even.engine.episodes(multiwindowPage)
	}
	s.notes = []string{
		fmt.Sprintf("By the model: %d canaries a row for %.0f days each, half of the canaries for the brackets. In all rows without bursts together our rules paged %d times in %.0f months.",
			o.model.canaries, o.model.healthy.Hours()/24, pages, months),
		fmt.Sprintf("By the engine, over the first %d canaries of each row (%.0f days in all): %d pages of ours and %d of the multiwindow rules without bursts. Of all episodes in "+
			"what both went through, bursts included, %d began at the same evaluation of the rules in both, %d did not.",
			o.engine.canaries, engineDays, enginePages, multiwindowPages, alike, apart),
	}
	return s, nil
}

// episodes is the number of episodes of alerts.
func (r *result) episodes(alerts ...string) int {
	return r.ledger.count(r.start().UnixMilli(), epoch().AddDate(1, 0, 0).UnixMilli(), alerts...)
}
