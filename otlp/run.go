package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// lastWords is how long sending goes on after the end.
const lastWords = 5 * time.Second

// Run sends each interval, until ctx ends; then once more. What is under way at the end and what comes after it have 5 s together.
func (e *Exporter) Run(ctx context.Context) {
	if e.wire == nil {
		return
	}
	defer e.wire.close(e.logger)
	e.logger.Info("series are sent over OTLP", slog.String("endpoint", secret.RedactURL(e.config.Endpoint)), slog.Duration("interval", e.config.Interval))
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, end) })()
	var sending sync.WaitGroup
	if e.queue != nil {
		sending.Go(func() { e.queue.run(ctx, life) })
	}
	tick := time.NewTicker(e.config.Interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			e.export(life)
		}
	}
	e.warnings.ending()
	e.export(life)
	sending.Wait()
	e.shutdown(life)
}

// shutdown lets go of what the SDK holds.
func (e *Exporter) shutdown(ctx context.Context) {
	errs := []error{e.metrics.Shutdown(ctx), e.meters.Shutdown(ctx)}
	if e.queue != nil {
		errs = append(errs, e.tracers.Shutdown(ctx), e.queue.exporter.Shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		e.warnings.warn("the end", err)
	}
}

// export sends everything once. What does not arrive is sent with the next one: nothing waits but the values themselves.
func (e *Exporter) export(ctx context.Context) {
	err := e.guarded(ctx)
	if err == nil {
		e.tally.exported(success, e.now())
		if e.failing {
			e.logger.Info("metrics arrive again over OTLP")
		}
		e.failing = false
		return
	}
	e.failing = true
	e.tally.exported(failure, e.now())
	problem := "metrics did not arrive, the next export has them"
	if e.warnings.isEnding() {
		problem = "the last metrics did not arrive, the collector never gets them"
	}
	e.warnings.warn(problem, err)
}

// guarded keeps a fault of this room in it.
func (e *Exporter) guarded(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e.tally.failed(reasonInternal)
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	return e.exportAll(ctx)
}

// exportAll sends what there is in as many requests as it needs. One that the collector does not want, or finds too large, is left out; any other that
// fails ends it: those that follow would fail alike.
func (e *Exporter) exportAll(ctx context.Context) error {
	var all metricdata.ResourceMetrics
	if err := e.reader.Collect(ctx, &all); err != nil {
		if len(all.ScopeMetrics) == 0 {
			e.tally.failed(reasonInternal)
			return fmt.Errorf("collect: %w", err)
		}
		e.warnings.warn("a part of the series cannot be shown", err)
	}
	scopes := all.ScopeMetrics
	if e.deltas != nil {
		scopes = e.deltas.turn(scopes)
	}
	var unwanted error
	for _, request := range split(scopes, resourceSize(e.resource), int(e.config.MaxRequestSize)) {
		err := e.metrics.Export(ctx, &metricdata.ResourceMetrics{Resource: e.resource, ScopeMetrics: request})
		why := reasonOf(err)
		switch {
		case err == nil && e.deltas != nil:
			e.deltas.arrived(request)
		case err == nil:
		case why == reasonRefused || why == reasonExhausted:
			unwanted = cmp.Or(unwanted, err)
		default:
			return err
		}
	}
	return unwanted
}
