package main

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

const ourRules = "../../alerts/rules/*.yml"

func testPlan(t *testing.T, objective float64, canaries int) *plan {
	t.Helper()
	set, err := loadRules(ourRules, objective, measured()...)
	if err != nil {
		t.Fatal(err)
	}
	return &plan{rules: map[float64]*ruleSet{objective: set}, seed: 3, scrape: 15 * time.Second, canaries: canaries}
}

// disk is Prometheus's database, which tells the store what is recorded.
type disk struct {
	*tsdb.DB
	store *store
}

func (d disk) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return diskAppender{d.DB.AppenderV2(ctx), appender{d.store}}
}

type diskAppender struct {
	storage.AppenderV2
	also appender
}

func (a diskAppender) Append(ref storage.SeriesRef, set labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o storage.AppendV2Options) (
	storage.SeriesRef, error,
) {
	if _, err := a.also.Append(ref, set, st, t, v, h, fh, o); err != nil {
		return 0, err
	}
	return a.AppenderV2.Append(ref, set, st, t, v, h, fh, o)
}

// fill writes all samples of the store into the database.
func (d disk) fill(t *testing.T, until int64) {
	t.Helper()
	app := d.DB.AppenderV2(t.Context())
	for _, all := range d.store.series {
		for _, s := range all {
			for i := range s.canary.bad {
				if at := s.canary.at(i); at <= until {
					if _, err := app.Append(0, s.labels, 0, at, s.value(i), nil, nil, storage.AppendV2Options{}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestRulesFireAtTheSameTimesOverPrometheusOwnDatabase(t *testing.T) {
	t.Parallel()
	p := testPlan(t, 0.99, 2)
	c := cell{objective: 0.99, rate: rate{"0.2/s", 0.2}, kind: kind{name: "20x", times: 20, patient: 40 * time.Minute}}
	run := func(over func(*store) database) ledger {
		l := ledger{}
		s := newStore(15*time.Minute, nil)
		s.firing = func(alert labels.Labels, at int64) {
			l.fires(alert.Get(labels.AlertName), int(alert.Get("target")[0]-'0'), p.canaries, at)
		}
		watching := &engine{store: s}
		for number := range p.canaries {
			one, _ := c.canary(p.seed, number, 0, p.scrape)
			watching.watch(number, one, c.objective)
		}
		e, err := newEngineOver(over(s), s, p.rules[c.objective], c.start(), c.random(p.seed, "groups", 0))
		if err != nil {
			t.Fatal(err)
		}
		for now := epoch(); now.Before(c.end(p)); {
			if now, err = e.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	want := run(func(s *store) database {
		o := tsdb.DefaultOptions()
		o.MinBlockDuration, o.MaxBlockDuration = (1000 * time.Hour).Milliseconds(), (1000 * time.Hour).Milliseconds() // all of it in memory
		o.RetentionDuration = 0
		db, err := tsdb.Open(t.TempDir(), promslog.NewNopLogger(), nil, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		d := disk{db, s}
		d.fill(t, c.end(p).UnixMilli())
		return d
	})
	got := run(func(s *store) database { return s })
	if !reflect.DeepEqual(want, got) {
		t.Errorf("got %v, over Prometheus's database %v", got, want)
	}
	if len(want[burnTicketAlert]) == 0 {
		t.Error("nothing fired")
	}
}

func TestTheModelFiresWhenTheEngineDoes(t *testing.T) {
	t.Parallel()
	p := testPlan(t, 0.95, 3)
	for _, c := range []cell{
		{objective: 0.95, rate: rate{"1/min", 1. / 60}, kind: kind{name: "outage", outage: true, patient: time.Hour}},
		{objective: 0.95, rate: rate{"5/s", 5}, kind: kind{name: "5x", times: 5, patient: 90 * time.Minute}},
	} {
		engine, err := evaluate(t.Context(), []cell{c}, p)
		if err != nil {
			t.Fatal(err)
		}
		model, err := c.imitate(t.Context(), p, shipped())
		if err != nil {
			t.Fatal(err)
		}
		if alike, apart := agree(engine[0], model, c.end(p).UnixMilli()); alike == 0 || apart > 0 {
			t.Errorf("%s: %d episodes began alike, %d did not: engine %v, model %v", &c, alike, apart, engine[0].ledger, model.ledger)
		}
	}
}

func TestRulesThatAlertsDoNotNeedAreLeftOut(t *testing.T) {
	t.Parallel()
	set, err := loadRules(ourRules, 0.99, targetDown)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range set.groups {
		for _, r := range g.Rules {
			if r.Alert != "" && r.Alert != targetDown || r.Record == "slo:aiperf_burn_rate:ratio3d" {
				t.Errorf("group %s has %s%s", g.Name, r.Alert, r.Record)
			}
		}
	}
	if _, err := loadRules(ourRules, 0.99, "NoSuchAlert"); err == nil {
		t.Error("an alert that is not there was found")
	}
}
