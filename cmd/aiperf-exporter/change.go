package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/reload"
)

// change is a configuration for which everything was prepared beside what runs. Nothing of it is seen before commit, which cannot fail.
type change struct {
	engine    *engine
	next      *effect
	generator generator.Config
	found     []discovery.Set
	targets   *generator.Change
	parts     []part
}

// part is what a room has prepared.
type part interface {
	Commit()
	Discard()
}

// reload reads the files and puts them into effect.
func (e *engine) reload(ctx context.Context) (reload.Summary, error) {
	before := e.effect.Load().config
	c, err := reload.Do(ctx, &e.reading, func() (c *config.Config, err error) {
		err = e.contained(func() (err error) {
			c, err = e.session.read(before)
			return err
		})
		return c, err
	})
	if err != nil {
		return reload.Summary{}, err
	}
	return e.apply(ctx, c, time.Now())
}

// refresh puts what was discovered since into effect, with the files that are.
func (e *engine) refresh(ctx context.Context) (reload.Summary, error) {
	now := e.effect.Load()
	return e.apply(ctx, now.config, now.loaded)
}

// apply puts a configuration into effect, with what its sets have found by now. What is not ready when ctx ends is given up.
func (e *engine) apply(ctx context.Context, c *config.Config, loaded time.Time) (reload.Summary, error) {
	if !e.planning.TryLock() {
		return reload.Summary{}, errors.New("an attempt that was given up has not come to its end")
	}
	planned, failed := make(chan *change), make(chan error, 1)
	go func() {
		ch, err := e.plan(c, loaded) //nolint:contextcheck // clients are made for longer than the plan takes
		if err != nil {
			e.planning.Unlock() // before anybody hears of it, who may begin the next one
			failed <- err
			return
		}
		select {
		case planned <- ch:
		case <-ctx.Done():
			ch.discard()
			e.planning.Unlock()
		}
	}()
	select {
	case ch := <-planned:
		defer e.planning.Unlock()
		return ch.commit(), nil
	case err := <-failed:
		return reload.Summary{}, err
	case <-ctx.Done():
		return reload.Summary{}, context.Cause(ctx)
	}
}

// plan prepares a configuration in all rooms. With an error nothing is left of it.
func (e *engine) plan(c *config.Config, loaded time.Time) (*change, error) {
	ch := &change{engine: e, found: e.discovery.Found(), next: &effect{loaded: loaded}}
	if err := e.contained(func() error { return ch.plan(c) }); err != nil {
		ch.discard()
		return nil, err
	}
	return ch, nil
}

// contained does work on files and labels of others: whatever is in them, it is an error at most.
func (e *engine) contained(work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			e.store.Panicked(metrics.ComponentReload)
			e.component(string(metrics.ComponentReload)).Error("panic", slog.Any("err", cause), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return work()
}

// plan prepares the rooms, one after the other.
func (ch *change) plan(c *config.Config) (err error) {
	e, next := ch.engine, ch.next
	next.config, next.dropped = c.WithDiscovered(ch.found)
	if ch.generator, err = next.config.Generator(); err != nil {
		return err
	}
	ch.generator = ch.generator.Part(e.session.shard)
	next.targets = ch.generator.Targets
	if err = e.generator.Rehearse(&ch.generator); err != nil {
		return err
	}
	if next.gatherer, err = e.gatherer(next.config); err != nil {
		return err
	}
	next.restart = e.restartFor(next.config)
	if ch.targets, err = e.generator.Plan(ch.generator); err != nil {
		return err
	}
	return ch.planParts()
}

// planParts prepares the rooms beside the generator.
func (ch *change) planParts() error {
	e, c := ch.engine, ch.next.config
	servers, err := e.servers.Plan(c.Collectors.Server, serversOf(c, ch.next.targets))
	if err != nil {
		return fmt.Errorf("collectors.server: %w", err)
	}
	ch.parts = append(ch.parts, servers)
	gpus, err := e.gpus.Plan(c.Collectors.GPU, c.GPUClient(), c.GPUTargets())
	if err != nil {
		return fmt.Errorf("collectors.gpu: %w", err)
	}
	ch.parts = append(ch.parts, gpus)
	exporter, err := e.exporter.Plan(c.OTLP)
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	ch.parts = append(ch.parts, exporter)
	sets, err := e.discovery.Plan(c.Discovery())
	if err != nil {
		return fmt.Errorf("target_discovery: %w", err)
	}
	ch.parts = append(ch.parts, sets)
	return nil
}

// discard gives up what was prepared.
func (ch *change) discard() {
	if ch.targets != nil {
		ch.targets.Discard()
	}
	for _, p := range ch.parts {
		p.Discard()
	}
}

// commit puts it into effect. Those who show and remember what happens come before those who make it happen.
func (ch *change) commit() reload.Summary {
	e, next := ch.engine, ch.next
	c := next.config
	e.redaction.learn(c.Redactor())
	e.store.Apply(e.settings(c, &ch.generator))
	e.store.RestartRequired(len(next.restart) > 0)
	if err := e.conventions.Apply(conventionsOf(c, next.targets)); err != nil {
		e.logger.Error("conventions of OpenTelemetry stay as they were", slog.Any("err", err)) // the configuration was checked
	}
	e.history.Reconfigure(historyConfig(c))
	e.history.SetTargets(remembered(next.targets))
	e.captures.Reconfigure(c.Debug.Capture.Ring())
	e.effect.Store(next)
	done := ch.targets.Commit()
	for _, p := range ch.parts {
		p.Commit()
	}
	e.discovery.Settled(ch.found, next.dropped)
	return reload.Summary{Added: len(done.Added), Changed: len(done.Changed), Removed: len(done.Removed), Kept: len(done.Kept)}
}

// restartFor lists the keys for which a configuration needs a restart: what they say is built into all series.
func (e *engine) restartFor(c *config.Config) []string {
	var out []string
	for _, key := range []struct {
		name  string
		stays bool
	}{
		{"metrics.histograms", c.Metrics.Histograms == e.start.Metrics.Histograms},
		{"metrics.extra_labels", slices.Equal(c.Metrics.ExtraLabels, e.start.Metrics.ExtraLabels)},
		{"selftest", c.SelfTest == e.start.SelfTest},
		{"slos (bucket boundaries)", e.store.HasBoundaries(c.AllSLOs())},
	} {
		if !key.stays {
			out = append(out, key.name)
		}
	}
	return out
}
