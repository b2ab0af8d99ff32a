package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func observed(t *traffic) *canary {
	return t.observe(epoch(), 15*time.Second, rand.New(rand.NewPCG(1, 2)))
}

func TestHealthyCanariesSpendHalfOfTheBudget(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]*traffic{
		"one by one":          {rate: 5, budget: 0.01, length: 30 * 24 * time.Hour},
		"in bursts":           {rate: 5, budget: 0.01, length: 300 * 24 * time.Hour, bursty: true},
		"a request in 5 days": {rate: 1.0 / 60, budget: 0.05, length: 300 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := observed(one)
			last := len(c.bad) - 1
			if share := float64(c.bad[last]) / float64(c.requests(last)); math.Abs(share/one.budget-0.5) > 0.05 {
				t.Errorf("%.3f of the budget were spent, want half", share/one.budget)
			}
			if !slices.IsSorted(c.bad) || c.failed[last] != 0 {
				t.Error("bad requests go back, or failed")
			}
		})
	}
}

func TestAnOutageIsARunThatGrowsWithEachRequest(t *testing.T) {
	t.Parallel()
	one := &traffic{rate: 0.2, budget: 1e-9, length: 2 * time.Hour, incident: incident{at: time.Hour, outage: true}}
	c := observed(one)
	for i := range c.run {
		want := max(0, c.requests(i)-c.before(time.Hour.Seconds()))
		if int64(c.run[i]) != want || c.bad[i] != c.run[i] || c.failed[i] != c.run[i] {
			t.Fatalf("scrape %d: run %d, bad %d, failed %d, want %d of each", i, c.run[i], c.bad[i], c.failed[i], want)
		}
	}
	if c.run[len(c.run)-1] < 700 {
		t.Errorf("the last run is %d, want about 720", c.run[len(c.run)-1])
	}
}

func TestAGoodRequestEndsTheRun(t *testing.T) {
	t.Parallel()
	c := observed(&traffic{rate: 5, budget: 0.4, length: time.Hour})
	ended := 0
	for i, run := range c.run {
		if i > 0 && run == 0 && c.bad[i] > 0 {
			ended++
		}
		if int64(run) > int64(c.bad[i]) {
			t.Fatalf("scrape %d: %d bad in a row of %d in all", i, run, c.bad[i])
		}
	}
	if ended < 100 {
		t.Errorf("only %d of %d scrapes see no run", ended, len(c.run))
	}
}
