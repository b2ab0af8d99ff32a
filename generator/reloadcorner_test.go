package generator_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// TestAPlanWaitsForABurial: what a plan is followed by, such as that somebody remembers the target again, must not be undone by the end of the
// one that had its name.
func TestAPlanWaitsForABurial(t *testing.T) {
	t.Parallel()
	r := newRig(t, "http://127.0.0.1:1", func(c *generator.TargetConfig) { c.Load.Rate = 1e-6 })
	burying, goOn, planned := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	r.deps.Removed = func(_ []string, series func()) {
		close(burying)
		<-goOn
		series()
	}
	config := generator.Config{Targets: []generator.TargetConfig{r.config}}
	g, err := generator.New(config, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.Serve(ctx, 0)
	}()
	eventually(t, "the target runs", func() bool { return g.Status()[0].State == metrics.StateRunning })
	change, err := g.Plan(generator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	change.Commit()
	<-burying
	go func() {
		again, err := g.Plan(config)
		planned <- err
		if err == nil {
			again.Discard()
		}
	}()
	patience := time.NewTimer(50 * time.Millisecond)
	defer patience.Stop()
	select {
	case <-planned:
		t.Error("it was planned while the target was being buried")
	case <-patience.C:
		defer func() {
			if err := <-planned; err != nil {
				t.Error(err)
			}
		}()
	}
	close(goOn)
	stop()
	<-ended
}

// TestTargetsThatEndWhileOneIsBuriedAreBuriedTogether: what is done before series go may cost a look at all of them.
func TestTargetsThatEndWhileOneIsBuriedAreBuriedTogether(t *testing.T) {
	t.Parallel()
	const n = 8
	r := newRig(t, "http://127.0.0.1:1", func(c *generator.TargetConfig) { c.Load.Rate = 1e-6 })
	var config generator.Config
	for i := range n {
		config.Targets = append(config.Targets, with(r.config, func(c *generator.TargetConfig) { c.Name = fmt.Sprintf("t%d", i) }))
	}
	var g *generator.Generator
	var calls [][]string // one at a time
	r.deps.Removed = func(targets []string, series func()) {
		if calls = append(calls, slices.Clone(targets)); len(calls) == 1 {
			eventually(t, "all others wait", func() bool { return len(targets)+g.Ending() == n })
		}
		series()
	}
	g, err := generator.New(config, r.deps)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.Serve(ctx, 0)
	}()
	eventually(t, "all run", func() bool {
		return !slices.ContainsFunc(g.Status(), func(s generator.Status) bool { return s.State != metrics.StateRunning })
	})
	change, err := g.Plan(generator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	change.Commit()
	eventually(t, "all are gone", func() bool { return len(g.Status()) == 0 && r.series(t, "aiperf_exporter_targets") == 0 })
	stop()
	<-ended
	names := slices.Concat(calls...)
	slices.Sort(names)
	if len(calls) > 2 || len(slices.Compact(names)) != n {
		t.Errorf("told in %d parts, want 2 at most: %v", len(calls), calls)
	}
}

// TestAPanicOfAPlanIsCounted, and is an error of the plan.
func TestAPanicOfAPlanIsCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "http://127.0.0.1:1")
	var log strings.Builder
	r.deps.Logger = slog.New(slog.NewTextHandler(&log, nil))
	err := r.deps.InParallel([]func() error{func() error { panic("a dataset that nobody has thought of") }, func() error { return nil }})
	if err == nil || !strings.Contains(err.Error(), "a dataset that nobody has thought of") {
		t.Errorf("error: %v", err)
	}
	if n := r.series(t, "aiperf_exporter_panics_total", "component", "reload"); n != 1 {
		t.Errorf("%v panics, want 1", n)
	}
	if n := strings.Count(log.String(), "stack="); n != 1 {
		t.Errorf("the stack is told %d times: %s", n, log.String())
	}
}

// TestARecordingBeginsAnewWithItsTarget: the schedule that ended had read ahead.
func TestARecordingBeginsAnewWithItsTarget(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	var rows strings.Builder
	for second := range 100 {
		fmt.Fprintf(&rows, `{"timestamp": %d, "text_input": "x", "output_length": 1}`+"\n", 10_000*second)
	}
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	replaying := with(simple("a", time.Second), func(c *generator.TargetConfig) {
		c.Load.Rate, c.Load.Mode, c.Load.StartOffset = 0, load.Replay, 10*time.Second
		c.Workload.Dataset = dataset.DefaultConfig()
		c.Workload.Dataset.Format, c.Workload.Dataset.File = dataset.MooncakeTrace, path
	})
	for name, absent := range map[string]time.Duration{"while it drains": 500 * time.Millisecond, "when it has drained": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, replaying)
				s.config.Limits.Linger = time.Minute
				wait(20*time.Second + 100*time.Millisecond)
				s.change(t)
				wait(absent)
				s.change(t, replaying)
				wait(25 * time.Second)
				back := 20*time.Second + 100*time.Millisecond + absent
				want := []time.Duration{0, 10 * time.Second, 20 * time.Second, back, back + 10*time.Second, back + 20*time.Second}
				if diff := cmp.Diff(want, s.starts("http://a")); diff != "" {
					t.Errorf("starts (-want +got):\n%s", diff)
				}
				s.balanced(t)
				if got := s.total(t, "aiperf_request_errors_total", "a"); got != 0 {
					t.Errorf("%v errors", got)
				}
			})
		})
	}
}

// TestUsersThatComeWithAChangeAreInTheMiddleOfTheirConversations, also where the change comes before the target has begun.
func TestUsersThatComeWithAChangeAreInTheMiddleOfTheirConversations(t *testing.T) {
	t.Parallel()
	users := with(simple("b", time.Millisecond), func(c *generator.TargetConfig) {
		c.Load.Mode, c.Load.Users, c.Workload.Turns.Mean = load.Users, 4, 5
	})
	conversations := func(t *testing.T, before *generator.TargetConfig) (lengths []int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			first := with(simple("first", 1), func(c *generator.TargetConfig) { c.Paused = true })
			s := newSite(t)
			s.config.Limits.MaxStartRate = 0.1
			s.change(t, first)
			if before != nil {
				s.change(t, first, *before)
			}
			s.change(t, first, users)
			wait(time.Minute)
			turns := map[string]int{}
			var sessions []string
			for _, o := range s.records() {
				if o.record.Session == "" {
					continue
				}
				if turns[o.record.Session]++; turns[o.record.Session] == 1 {
					sessions = append(sessions, o.record.Session)
				}
			}
			for _, session := range sessions[:min(4, len(sessions))] {
				lengths = append(lengths, turns[session])
			}
		})
		return lengths
	}
	want := conversations(t, nil)
	constant := with(users, func(c *generator.TargetConfig) { c.Load.Mode, c.Load.Users = load.Constant, 0 })
	if diff := cmp.Diff(want, conversations(t, &constant)); diff != "" || len(want) != 4 || slices.Min(want) == slices.Max(want) {
		t.Errorf("turns of the first conversations (-of a new target +of a changed one):\n%s\n%v", diff, want)
	}
}

// TestAPauseByHandHoldsForTheName: who has stopped the traffic to a target does not expect another model of it to be asked.
func TestAPauseByHandHoldsForTheName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := simple("a", time.Millisecond)
		s := newSite(t, a, simple("b", time.Millisecond))
		wait(1500 * time.Millisecond)
		if err := s.generator.Pause("a", true); err != nil {
			t.Fatal(err)
		}
		other := func(c *generator.TargetConfig) { c.Model = "other" }
		s.change(t, with(a, other), with(simple("b", time.Millisecond), other))
		wait(5 * time.Second)
		if a, b := len(s.starts("http://a")), len(s.starts("http://b")); a != 2 || b < 6 {
			t.Errorf("%d requests to a, which was paused, and %d to b", a, b)
		}
		if got := s.generator.Status()[0]; got.State != metrics.StatePaused {
			t.Errorf("a is %s", got.State)
		}
		if err := s.generator.Pause("a", false); err != nil {
			t.Fatal(err)
		}
		wait(5 * time.Second)
		if got := len(s.starts("http://a")); got < 6 {
			t.Errorf("%d requests to a, want one each second since it was resumed", got)
		}
	})
}
