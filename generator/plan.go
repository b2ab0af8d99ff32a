package generator

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Change is another configuration, prepared beside the one that runs. It ends with Commit or Discard.
type Change struct {
	generator *Generator
	config    Config
	kept      []*Target
	revisions []*revision
	fresh     []*Target // that have not begun
}

// Summary is what a change has done, by name of the targets. One whose labels have changed is another target: it is removed and added.
type Summary struct {
	Added, Changed, Removed, Kept []string
}

// Plan builds what a configuration needs beside what runs, which notices nothing. With an error nothing is left behind. A second plan has to
// wait until the first has ended.
func (g *Generator) Plan(config Config) (*Change, error) {
	deps := g.deps
	if deps.Tokenizers == nil {
		deps.Tokenizers = &tokenizer.Shelf{}
	}
	known, err := g.claim(config.Targets)
	if err != nil {
		return nil, err
	}
	c := &Change{generator: g, config: config}
	var jobs []func() error
	var mu sync.Mutex // guards what the jobs add
	for i := range config.Targets {
		tc := config.Targets[i] // a copy: the caller may keep the slice
		t := known[tc.Name]
		switch {
		case t == nil || !t.series.Continues(tc.info()):
			jobs = append(jobs, func() error {
				fresh, err := prepareTarget(&tc, deps)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				c.fresh = append(c.fresh, fresh)
				return nil
			})
		case !t.leaving.Load() && tc.same(t.config.Load()) && !t.newest.stale():
			c.kept = append(c.kept, t)
		default:
			jobs = append(jobs, func() error {
				r, err := newRevision(t, &tc, &deps)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				c.revisions = append(c.revisions, r)
				return nil
			})
		}
	}
	if err := deps.inParallel(jobs); err != nil {
		c.Discard()
		return nil, err
	}
	return c, nil
}

// inParallel does jobs, as many at a time as there are processors, and joins their errors.
func (d *Deps) inParallel(jobs []func() error) error {
	errs := make([]error, len(jobs))
	var working sync.WaitGroup
	next := make(chan int)
	for range min(len(jobs), runtime.GOMAXPROCS(0)) {
		working.Go(func() {
			for i := range next {
				errs[i] = d.safely(jobs[i])
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	working.Wait()
	return errors.Join(errs...)
}

// safely does a job that reads files of others: whatever is in them, it is an error at most, and a panic that is counted.
func (d *Deps) safely(job func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			d.Store.Panicked(metrics.ComponentReload)
			d.Logger.Error("panic", slog.String("component", string(metrics.ComponentReload)), slog.Any("err", cause),
				slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return job()
}

// Discard gives back what the plan has built.
func (c *Change) Discard() {
	for _, t := range c.fresh {
		t.newest.release()
	}
	for _, r := range c.revisions {
		r.discard()
	}
	c.generator.unclaim()
}

// Commit makes the change and tells what it was. It cannot fail, and waits for no request.
func (c *Change) Commit() Summary {
	g := c.generator
	g.changing.Lock()
	defer g.changing.Unlock()
	g.limit(&c.config.Limits)
	var s Summary
	living := make(map[string]*Target, len(c.config.Targets))
	for _, t := range c.kept {
		living[t.name] = t
		s.Kept = append(s.Kept, t.name)
	}
	for _, r := range c.revisions {
		living[r.target.name] = r.target
		if r.target.leaving.Load() {
			s.Added = append(s.Added, r.target.name)
		} else {
			s.Changed = append(s.Changed, r.target.name)
		}
	}
	for _, t := range c.fresh {
		living[t.name] = t
		s.Added = append(s.Added, t.name)
	}
	paused := map[string]bool{}
	for _, t := range g.living() {
		if living[t.name] != t {
			s.Removed = append(s.Removed, t.name)
			paused[t.name] = t.pausedByHand()
		}
	}
	for _, r := range c.revisions {
		r.target.revise(r)
	}
	for _, t := range c.fresh {
		if t.begin(); paused[t.name] {
			t.pause(true)
		}
	}
	g.replace(c.inOrder(living))
	s.sort()
	return s
}

// inOrder are the targets in the order of the configuration.
func (c *Change) inOrder(living map[string]*Target) []*Target {
	out := make([]*Target, 0, len(living))
	for i := range c.config.Targets {
		out = append(out, living[c.config.Targets[i].Name])
	}
	return out
}

func (s *Summary) sort() {
	for _, names := range [][]string{s.Added, s.Changed, s.Removed, s.Kept} {
		slices.Sort(names)
	}
}
