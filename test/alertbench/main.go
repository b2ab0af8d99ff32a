package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"
)

// options are the flags.
type options struct {
	rules   string
	page    string
	only    string
	check   bool
	seed    uint64
	scrape  time.Duration
	workers int
	engine  size
	model   size
	// regressing canaries become slower
	regressing int
}

// size is how much is gone through.
type size struct {
	canaries  int
	healthy   time.Duration
	incidents int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := parse()
	run := o.bench
	if o.check {
		run = o.accept
	}
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1) //nolint:gocritic // stopped
	}
}

func parse() *options {
	o := &options{}
	flag.StringVar(&o.rules, "rules", "../../alerts/rules/*.yml", "`pattern` of the files with our rules")
	flag.StringVar(&o.page, "markdown", "", "`page` into which the results are also written, between its two marks")
	flag.StringVar(&o.only, "only", "", "one `part` of it: delays, alarms, tried, regressions; no page is written then")
	flag.BoolVar(&o.check, "check", false, "a small part of it, which fails unless alerts are as good as they are said to be")
	flag.Uint64Var(&o.seed, "seed", 1, "of all chance")
	flag.DurationVar(&o.scrape, "scrape", 15*time.Second, "from scrape to scrape")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "kinds of canaries gone through at a time")
	flag.IntVar(&o.engine.canaries, "engine-canaries", 4, "healthy canaries of each kind that the rule engine goes through, half as many where bad requests come in bursts")
	flag.DurationVar(&o.engine.healthy, "engine-time", 2*24*time.Hour, "of each of them")
	flag.IntVar(&o.engine.incidents, "engine-incidents", 50, "incidents of each kind that the rule engine goes through")
	flag.IntVar(&o.model.canaries, "canaries", 32, "healthy canaries of each kind that the model goes through")
	flag.DurationVar(&o.model.healthy, "time", 30*24*time.Hour, "of each of them")
	flag.IntVar(&o.model.incidents, "incidents", 200, "incidents of each kind that the model goes through")
	flag.IntVar(&o.regressing, "regressions", 120, "canaries of each rate that become slower")
	flag.Parse()
	return o
}

// rates and objectives are those of the canaries.
func rates() []rate            { return []rate{{"1/min", 1. / 60}, {"0.2/s", 0.2}, {"5/s", 5}} }
func objectives() []float64    { return []float64{0.95, 0.99, 0.999} }
func percent(v float64) string { return fmt.Sprintf("%.4g %%", v*100) }

// kinds are what goes wrong.
func kinds() []kind {
	return []kind{
		{name: "5x", times: 5, patient: 2 * 24 * time.Hour},
		{name: "20x", times: 20, patient: 24 * time.Hour},
		{name: "outage", outage: true, patient: 24 * time.Hour},
	}
}

// shipped is how our rules find an outage.
func shipped() modelRules {
	return modelRules{runNats: 16, longer: time.Minute, mostNats: 3, wait: -1}
}

// load reads the rules, once for each objective.
func (o *options) load() (map[float64]*ruleSet, error) {
	sets := map[float64]*ruleSet{}
	for _, objective := range objectives() {
		set, err := loadRules(o.rules, objective, measured()...)
		if err != nil {
			return nil, err
		}
		sets[objective] = set
	}
	return sets, nil
}

// bench measures everything.
func (o *options) bench(ctx context.Context, out io.Writer) error {
	began := time.Now()
	sets, err := o.load()
	if err != nil {
		return err
	}
	var sections []*section
	for _, part := range []struct {
		name string
		run  func(context.Context, map[float64]*ruleSet) (*section, error)
	}{{"delays", o.delays}, {"alarms", o.alarms}, {"tried", o.tried}, {"regressions", o.regressions}} {
		if o.only != "" && o.only != part.name {
			continue
		}
		var s *section
		if s, err = part.run(ctx, sets); err != nil {
			return err
		}
		if err = s.text(out); err != nil {
			return err
		}
		sections = append(sections, s)
	}
	head := fmt.Sprintf("Measured on %s, seed %d, scraped each %v, in %v; %s, %d kinds of canaries at a time.\n", time.Now().UTC().Format(time.DateOnly), o.seed, o.scrape,
		time.Since(began).Round(time.Second), runtime.Version(), o.workers)
	fmt.Fprint(out, "\n", head)
	if o.page == "" || o.only != "" {
		return nil
	}
	return paste(o.page, head, sections)
}
