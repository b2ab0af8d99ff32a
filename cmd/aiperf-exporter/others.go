package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/version"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu/nvml"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/history"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
	"github.com/aiperf-exporter/aiperf-exporter/probe"
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

func userAgent() string { return program + "/" + version.Version }

// buildOthers makes what reads servers and GPUs, and what tells a collector of OpenTelemetry.
func (e *engine) buildOthers(c *config.Config, targets []targetConfig, w watchers) error {
	var err error
	e.servers, err = server.New(c.Collectors.Server, serversOf(c, targets), server.Deps{
		Clock: e.clock, Logger: e.component("server metrics"), UserAgent: userAgent(), Observe: w.servers, Bell: w.bell,
		Panicked: e.panicked(metrics.ComponentCollector), Redactor: &e.redaction,
	})
	if err != nil {
		return fmt.Errorf("collectors.server: %w", err)
	}
	gpuLogger := e.component("gpu")
	e.gpus, err = gpu.New(c.Collectors.GPU, c.GPUClient(), c.GPUTargets(), gpu.Deps{
		Clock: e.clock, Logger: gpuLogger, UserAgent: userAgent(),
		NVML:    func(nc gpu.NVMLConfig) gpu.Source { return nvml.Open(nc, gpuLogger) },
		Observe: w.gpus, Bell: w.bell, Panicked: e.panicked(metrics.ComponentCollector), Redactor: &e.redaction,
	})
	if err != nil {
		return fmt.Errorf("collectors.gpu: %w", err)
	}
	if err := e.buildExporter(c, targets, w.run); err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	return nil
}

// buildExporter makes what tells a collector of OpenTelemetry, and what speaks its conventions.
func (e *engine) buildExporter(c *config.Config, targets []targetConfig, run string) error {
	instance := e.instance
	if run != "" {
		instance += "-run-" + run
	}
	var err error
	e.exporter, err = otlp.New(c.OTLP, otlp.Deps{
		Clock: e.clock, Logger: e.component("otlp"), Table: series.Table(), Version: version.Version, Instance: instance, Env: os.Environ(),
		Gatherer: e, Panicked: e.panicked(metrics.ComponentOTLP),
		// Asked later: the conventions need to know whether the exporter wants spans.
		Instruments: func(ctx context.Context) (now, gone []metricdata.Metrics, err error) {
			return e.conventions.Metrics(ctx)
		},
	})
	if err != nil {
		return err
	}
	e.conventions, err = genai.New(genai.Options{
		Settings: conventionsOf(c, targets), Clock: e.clock, Tracer: e.exporter.Tracer, Exemplars: e.exporter.ExemplarFilter(),
	})
	return err
}

// conventionsOf are the targets as OpenTelemetry's conventions know them; none where nobody is told.
func conventionsOf(c *config.Config, targets []targetConfig) genai.Settings {
	if !c.OTLP.Enabled {
		return genai.Settings{Semconv: "none"}
	}
	out := genai.Settings{Semconv: c.OTLP.Semconv, SLOs: c.AllSLOs()}
	for i := range targets {
		t := &targets[i]
		out.Targets = append(out.Targets, genai.Target{
			Name: t.Name, Workload: t.WorkloadName, Model: t.Model, URL: t.PublicURL(), EndpointType: string(t.Endpoint.Type), Provider: t.Provider,
		})
	}
	return out
}

// serversOf are the servers behind targets, of which a one-shot may have chosen some.
func serversOf(c *config.Config, targets []targetConfig) []server.Target {
	return slices.DeleteFunc(c.ServerTargets(), func(s server.Target) bool {
		return !slices.ContainsFunc(targets, func(t targetConfig) bool { return t.Name == s.Name })
	})
}

// newProber makes what answers /probe.
func (e *engine) newProber() *probe.Prober {
	now := func() *config.Config { return e.effect.Load().config }
	return probe.New(probe.Deps{
		Config: func() probe.Config { return now().Probe },
		Target: func(name string) (generator.TargetConfig, bool) {
			targets := e.effect.Load().targets
			if i := slices.IndexFunc(targets, func(t targetConfig) bool { return t.Name == name }); i >= 0 {
				return targets[i], true
			}
			return generator.TargetConfig{}, false
		},
		Module:  func(name string) (probe.Module, bool) { return now().Module(name) },
		Modules: func() []string { return now().ModuleNames() },
		Clock:   e.clock, Limiter: e.limiter, Ledger: e.ledger, Budget: e.generator.Account, Poller: e.poller, Logger: e.component("probe"),
		Instance: e.instance, UserAgent: userAgent(), Redact: e.redaction.Redact,
	})
}

// settings are what the series show of a configuration.
func (e *engine) settings(c *config.Config, gc *generator.Config) metrics.Settings {
	limits := generator.BudgetLimits(&gc.Limits.Budget)
	return metrics.Settings{
		SLOs: c.AllSLOs(), InfoLabels: c.LabelNames(), ConfigHash: c.Hash(), SecretReadErrors: c.SecretReadErrors, Budget: limits,
		Shard: e.session.shard.Index, Shards: e.session.shard.Count,
		Budgets: func() (used []float64, writable bool) {
			used = make([]float64, len(limits))
			if account := e.generator.Account(); account != nil {
				for i, use := range account.State(e.clock.Wall(e.clock.Now())) {
					if i < len(used) { // else a reload is changing them at this moment
						used[i] = use.Used
					}
				}
			}
			return used, e.ledger.Err() == nil
		},
	}
}

// gatherer gathers everything that there is, with the labels of a configuration.
func (e *engine) gatherer(c *config.Config) (prometheus.Gatherer, error) {
	measured := prometheus.NewRegistry()
	labelled := prometheus.WrapRegistererWith(c.Global.Labels, measured)
	if err := labelled.Register(e.store); err != nil {
		return nil, fmt.Errorf("register series: %w", err)
	}
	if err := labelled.Register(versioncollector.NewCollector("aiperf_exporter")); err != nil {
		return nil, fmt.Errorf("register build info: %w", err)
	}
	read := collector.NewGatherer(c.Global.Labels, e.servers, e.gpus, e.exporter, e.history, e.captures, e.discovery, e.prober)
	return prometheus.Gatherers{e.own, measured, read}, nil
}

// historyConfig is how much is remembered.
func historyConfig(c *config.Config) history.Config {
	return history.Config{Records: c.Debug.History, KeepBodies: c.Debug.KeepBodies}
}

// remembered are the targets of which something is.
func remembered(targets []targetConfig) []history.Target {
	out := make([]history.Target, len(targets))
	for i := range targets {
		out[i] = history.Target{Name: targets[i].Name, SLOs: targets[i].SLOs}
	}
	return out
}

// observers are those who see what becomes of arrivals.
func (e *engine) observers(w watchers) observers {
	out := observers{e.conventions, e.history, e.captures}
	if w.requests != nil {
		out = append(out, w.requests)
	}
	return out
}

// observers are told one after the other.
type observers []generator.Observer

// Finished implements generator.Observer.
func (o observers) Finished(target string, r *metrics.Record, m *metrics.Measures, verdicts []metrics.Verdict) {
	for _, each := range o {
		each.Finished(target, r, m, verdicts)
	}
}

// Dropped implements generator.Observer.
func (o observers) Dropped(target string, reason metrics.DropReason, n int64) {
	for _, each := range o {
		each.Dropped(target, reason, n)
	}
}
