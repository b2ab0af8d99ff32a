package main

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/version"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu/nvml"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
	"github.com/aiperf-exporter/aiperf-exporter/series"
)

// watchers see what happens, beside the series. Each may be nil.
type watchers struct {
	requests generator.Observer
	servers  func(target, instance string, at int64, families []*dto.MetricFamily)
	gpus     func(*gpu.Reading)
	bell     *scrape.Bell // makes collectors look beside their intervals
	run      string       // id of a one-shot, which a collector of OpenTelemetry must not take for the daemon beside it; "" = it is the daemon
}

// others are those outside this process beside the endpoints: servers and GPUs that are read, and a collector of OpenTelemetry that is told.
type others struct {
	collectors []collector.Collector
	trace      func() metrics.Trace
	observer   generator.Observer
}

// newOthers makes what the configuration asks for, and the engine's gatherer.
func newOthers(c *config.Config, e *engine, w watchers, instance string) (*others, error) {
	o := &others{observer: w.requests}
	userAgent := program + "/" + version.Version
	if c.Collectors.Server.Enabled {
		servers, err := server.New(c.Collectors.Server, serversOf(c, e.targets), server.Deps{
			Clock: e.clock, Logger: e.logger.With(slog.String("component", "server metrics")), UserAgent: userAgent, Observe: w.servers, Bell: w.bell,
		})
		if err != nil {
			return nil, fmt.Errorf("collectors.server: %w", err)
		}
		o.collectors = append(o.collectors, servers)
	}
	gpuLogger := e.logger.With(slog.String("component", "gpu"))
	gpus, err := gpu.New(c.Collectors.GPU, gpu.Deps{
		Clock: e.clock, Logger: gpuLogger, UserAgent: userAgent, HTTP: c.GPUClient(), Targets: c.GPUTargets(),
		NVML:    func(nc gpu.NVMLConfig) gpu.Source { return nvml.Open(nc, gpuLogger) },
		Observe: w.gpus, Bell: w.bell,
	})
	if err != nil {
		return nil, fmt.Errorf("collectors.gpu: %w", err)
	}
	o.collectors = append(o.collectors, gpus)
	if c.OTLP.Enabled {
		if w.run != "" {
			instance += "-run-" + w.run
		}
		if err := o.tell(c, e, instance); err != nil {
			return nil, fmt.Errorf("otlp: %w", err)
		}
	}
	e.gatherer = prometheus.Gatherers{e.registry, collector.NewGatherer(c.Global.Labels, o.collectors...)}
	return o, nil
}

// serversOf are the servers behind targets, of which a one-shot may have chosen some.
func serversOf(c *config.Config, targets []targetConfig) []server.Target {
	return slices.DeleteFunc(c.ServerTargets(), func(s server.Target) bool {
		return !slices.ContainsFunc(targets, func(t targetConfig) bool { return t.Name == s.Name })
	})
}

// tell makes what sends to a collector of OpenTelemetry. It is a collector itself, of how its exports went.
func (o *others) tell(c *config.Config, e *engine, instance string) error {
	exporter, err := otlp.New(c.OTLP, otlp.Deps{
		Clock: e.clock, Logger: e.logger.With(slog.String("component", "otlp")), Table: series.Table(), Version: version.Version, Instance: instance, Env: os.Environ(),
		// Asked later: what is gathered includes how the exports went.
		Gatherer: prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return e.gatherer.Gather() }),
	})
	if err != nil {
		return err
	}
	targets := make([]genai.Target, 0, len(e.targets))
	for i := range e.targets {
		t := &e.targets[i]
		targets = append(targets, genai.Target{
			Name: t.Name, Workload: t.WorkloadName, Model: t.Model, URL: t.PublicURL(), EndpointType: string(t.Endpoint.Type), Provider: t.Provider,
		})
	}
	conventions, err := genai.New(genai.Options{
		Semconv: c.OTLP.Semconv, Targets: targets, SLOs: c.AllSLOs(), Clock: e.clock, Meter: exporter.Meter(), Tracer: exporter.Tracer(),
	})
	if err != nil {
		return err
	}
	if exporter.Tracer() != nil {
		o.trace = genai.NewTraces(c.OTLP.Traces.Ratio, rand.Uint64)
	}
	o.collectors = append(o.collectors, exporter)
	o.observer = both(o.observer, conventions)
	return nil
}

// both tells two observers, of which the first may be nil.
func both(first, second generator.Observer) generator.Observer {
	if first == nil {
		return second
	}
	return pair{first, second}
}

type pair struct{ first, second generator.Observer }

// Finished implements generator.Observer.
func (p pair) Finished(target string, r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
	p.first.Finished(target, r, m, verdicts)
	p.second.Finished(target, r, m, verdicts)
}

// Dropped implements generator.Observer.
func (p pair) Dropped(target string, reason metrics.DropReason, n int64) {
	p.first.Dropped(target, reason, n)
	p.second.Dropped(target, reason, n)
}
