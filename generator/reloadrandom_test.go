package generator_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// TestNothingIsLostWhateverChanges gives targets any load after any other at any time, takes them away and brings them back, by any of the ways
// in which a plan may end.
func TestNothingIsLostWhateverChanges(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(trace, []byte(anyTrace), 0o600); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 2))
				s := newSite(t)
				var targets []generator.TargetConfig
				for range 40 {
					targets = anyChange(random, targets, trace)
					s.config.Targets, s.config.Limits.MaxInFlight = targets, random.IntN(3)*4
					change, err := s.generator.Plan(s.config)
					if err != nil {
						t.Fatal(err)
					}
					if random.IntN(5) == 0 {
						wait(time.Duration(random.IntN(40)) * time.Second) // what leaves may be gone by now, but for this plan
					}
					if random.IntN(4) == 0 {
						change.Discard()
						targets = slices.Clone(targets[:min(1, len(targets))])
						continue
					}
					change.Commit()
					s.balanced(t)
					wait(time.Duration(random.IntN(3000)) * time.Millisecond)
					s.balanced(t)
				}
				s.change(t)
				wait(2 * time.Minute)
				if left := s.generator.Status(); len(left) != 0 || s.carriers() != 0 {
					t.Errorf("%d targets and %d clients are left", len(left), s.carriers())
				}
				if running := s.atOnce("http://a").now + s.atOnce("http://b").now; running != 0 {
					t.Errorf("%d requests run", running)
				}
			})
		})
	}
}

// anyChange changes, removes and adds targets.
func anyChange(random *rand.Rand, before []generator.TargetConfig, trace string) (out []generator.TargetConfig) {
	for _, name := range []string{"a", "b", "c"} {
		i := slices.IndexFunc(before, func(c generator.TargetConfig) bool { return c.Name == name })
		switch {
		case random.IntN(4) == 0:
			continue
		case i >= 0 && random.IntN(3) == 0:
			out = append(out, before[i])
			continue
		}
		c := simple(name, time.Duration(1+random.IntN(4000))*time.Millisecond)
		c.Load.Rate = 0
		anyLoad(random, &c, trace)
		c.URL = "http://" + []string{"a", "b"}[random.IntN(2)]
		c.Model = []string{"m", "m", "n"}[random.IntN(3)]
		out = append(out, c)
	}
	return out
}

// TestAReplayThatChangesAsksWhatWasQueued of the old recording, before it begins the new one.
func TestAReplayThatChangesAsksWhatWasQueued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	replaying := func(file, rows string) generator.TargetConfig {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
		return with(simple("a", 3*time.Second), func(c *generator.TargetConfig) {
			c.Load.Rate, c.Load.Mode, c.Load.Loop = 0, load.Replay, new(bool)
			c.Load.MaxInFlight, c.Load.OnFull, c.Load.Queue = 1, load.Queue, load.QueueConfig{Size: 10, MaxWait: time.Hour}
			c.Workload.Dataset = dataset.DefaultConfig()
			c.Workload.Dataset.Format, c.Workload.Dataset.File = dataset.MooncakeTrace, path
		})
	}
	old := replaying("old", `{"timestamp": 0, "text_input": "1", "output_length": 1}
{"timestamp": 100, "text_input": "2", "output_length": 1}
{"timestamp": 200, "text_input": "3", "output_length": 1}
{"timestamp": 90000, "text_input": "never comes", "output_length": 1}
`)
	next := replaying("new", `{"timestamp": 0, "text_input": "4", "output_length": 1}
{"timestamp": 100, "text_input": "5", "output_length": 1}
`)
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, old)
		wait(time.Second)
		s.change(t, with(old, func(c *generator.TargetConfig) { c.Client.Timeouts.Total = 3100 * time.Millisecond })) // goes on where it is
		wait(time.Second)
		s.change(t, next)
		s.balanced(t)
		wait(30 * time.Second)
		s.balanced(t)
		const slower = 3100 * time.Millisecond // the second and third by the client of the second configuration
		want := []time.Duration{0, 3 * time.Second, 3*time.Second + slower, 3*time.Second + 2*slower, 6*time.Second + 2*slower}
		if diff := cmp.Diff(want, s.starts("http://a")); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		if got := s.total(t, "aiperf_request_errors_total", "a"); got != 0 {
			t.Errorf("%v errors", got)
		}
		if s.carriers() != 1 {
			t.Errorf("%d clients are left", s.carriers())
		}
	})
}

func TestAPlanWorksBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.end()
		var err error
		if s.generator, err = generator.New(generator.Config{Targets: []generator.TargetConfig{simple("a", 1), simple("b", 1)}}, s.deps); err != nil {
			t.Fatal(err)
		}
		got := s.change(t, with(simple("a", 1), func(c *generator.TargetConfig) { c.URL = "http://z" }), simple("c", 1))
		want := generator.Summary{Added: []string{"c"}, Changed: []string{"a"}, Removed: []string{"b"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"b"}, s.gone()); diff != "" {
			t.Errorf("gone (-want +got):\n%s", diff)
		}
		s.generator.Run(t.Context(), time.Minute, 2)
		if a, b, z := len(s.starts("http://a")), len(s.starts("http://b")), len(s.starts("http://z")); a != 0 || b != 0 || z != 2 {
			t.Errorf("requests to a %d, b %d, z %d, want 0, 0, 2", a, b, z)
		}
	})
}

// TestABudgetFollowsTheNameOfATarget: another model of the same name has no budget of its own.
func TestABudgetFollowsTheNameOfATarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := func(model string) generator.TargetConfig {
			return with(simple("a", time.Minute), func(c *generator.TargetConfig) {
				c.Model, c.Budget = model, budget.Config{RequestsPerDay: 4, TZ: "UTC"}
			})
		}
		s := newSite(t, limited("m"))
		wait(1500 * time.Millisecond)
		s.change(t, limited("n")) // two of m run on for 30 s
		wait(time.Minute)
		if got := s.total(t, "aiperf_budget_used", "a"); got != 4 || len(s.starts("http://a")) != 4 {
			t.Errorf("used %v of the budget with %d requests, want 4", got, len(s.starts("http://a")))
		}
		s.balanced(t)
	})
}
