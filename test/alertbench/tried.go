package main

import (
	"context"
	"fmt"
	"time"
)

// tried are the ways in which an outage could be found.
func (o *options) tried(ctx context.Context, sets map[float64]*ruleSet) (*section, error) {
	s := &section{
		title: "Ways to find an outage: seconds to TargetDown at 95 % / 99 % / 99.9 % (median), and pages in 30 days when bad requests come in outages of a minute",
		head:  []string{"rule", "1/min", "0.2/s", "5/s", "[1/min]", "[0.2/s]", "[5/s]"},
	}
	for _, one := range candidates() {
		row := []string{one.name}
		var brackets []string
		for _, r := range rates() {
			var medians, pages string
			for i, objective := range objectives() {
				base := plan{rules: sets, seed: o.seed, scrape: o.scrape}
				outage, bursty := base, base
				outage.canaries = o.model.incidents / 2
				bursty.canaries, bursty.healthy = max(1, o.model.canaries/8), o.model.healthy
				c := cell{objective: objective, rate: r, kind: kind{name: "outage", outage: true, patient: 20 * time.Minute}}
				found, err := c.imitate(ctx, &outage, one.rules)
				if err != nil {
					return nil, err
				}
				c = cell{objective: objective, rate: r, bursty: true}
				alarms, err := c.imitate(ctx, &bursty, one.rules)
				if err != nil {
					return nil, err
				}
				d := found.delays(targetDown)
				median, _ := d.quantile(0.5)
				medians += []string{"", " / "}[min(i, 1)] + fmt.Sprintf("%.0f", median.Seconds())
				pages += []string{"", " / "}[min(i, 1)] + fmt.Sprintf("%.1f", alarms.perMonth(targetDown))
			}
			row, brackets = append(row, medians), append(brackets, pages)
		}
		s.rows = append(s.rows, append(row, brackets...))
	}
	s.notes = []string{fmt.Sprintf("By the model: %d outages, and %d canaries for %.0f days, for each figure.",
		o.model.incidents/2, max(1, o.model.canaries/8), o.model.healthy.Hours()/24)}
	return s, nil
}

type candidate struct {
	name  string
	rules modelRules
}

func candidates() []candidate {
	never := 1e9
	return []candidate{
		{"no run; most of 5 minutes (2.7 nats), for 1m", modelRules{runNats: never, mostNats: 2.7, wait: time.Minute}},
		{"run of 16 nats, for 1m", modelRules{runNats: 16, mostNats: 2.7, wait: time.Minute}},
		{"run of 21 nats, for 1m", modelRules{runNats: 21, mostNats: 2.7, wait: time.Minute}},
		{"run of 11.5 nats, for 1m", modelRules{runNats: 11.5, mostNats: 2.7, wait: time.Minute}},
		{"run of 11.5 nats, for 1m, each 5 s", modelRules{runNats: 11.5, mostNats: 2.7, wait: time.Minute, every: 5 * time.Second}},
		{"run of 16 nats, for 45s", modelRules{runNats: 16, mostNats: 2.7, wait: 45 * time.Second}},
		{"run of 16 nats, for 30s", modelRules{runNats: 16, mostNats: 2.7, wait: 30 * time.Second}},
		{"run of 21 nats, longer than 1m", modelRules{runNats: 21, longer: time.Minute, mostNats: 3}},
		{"run of 16 nats, longer than 75s", modelRules{runNats: 16, longer: 75 * time.Second, mostNats: 3}},
		{"run of 16 nats, longer than 1m, each 5 s", modelRules{runNats: 16, longer: time.Minute, mostNats: 3, every: 5 * time.Second}},
		{"**run of 16 nats, longer than 1m (chosen)**", shipped()},
	}
}
