package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/report"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// watching is a configuration with one target and an exporter of GPUs that is asked each 15 s, as its server.
func watching() *config.Config {
	c := &config.Config{Collectors: config.DefaultCollectors(), Targets: []config.Target{{Name: "t", Enabled: true}}}
	c.Collectors.Server.Interval = 15 * time.Second
	c.Collectors.GPU.Source = gpu.Sources{"dcgm"}
	c.Collectors.GPU.DCGM.URLs = append(c.Collectors.GPU.DCGM.URLs, "http://user:secret@node-1:9400/metrics?token=secret")
	return c
}

// reading is what the exporter of a GPU that draws 400 W shows.
func reading(at int64) *gpu.Reading {
	return &gpu.Reading{Source: gpu.DCGM, State: gpu.OK, At: at, Devices: []gpu.Device{
		{
			Identity: gpu.Identity{Index: "3", UUID: "GPU-a", Hostname: "node-1"}, Info: gpu.Info{Model: "H100", Vendor: "nvidia", Pod: "vllm-0"},
			Samples: []gpu.Sample{
				{Name: "aiperf_gpu_power_watts", Value: 400},
				{Name: "aiperf_gpu_energy_joules_total", Value: 1e6 + 400*float64(at)/1e9},
				{Name: "aiperf_gpu_xid_errors_total", Value: 1, Labels: []string{"79"}},
			},
		},
		{Identity: gpu.Identity{Index: "3", UUID: "MIG-a", Hostname: "node-1", Instance: "1"}, Samples: []gpu.Sample{{Name: "aiperf_gpu_memory_used_bytes", Value: 1}}},
	}}
}

// tokensAt is the page of a server that generates 100 tokens per second.
func tokensAt(at int64) []*dto.MetricFamily {
	return []*dto.MetricFamily{{
		Name: new("aiperf_server_generation_tokens_total"), Type: dto.MetricType_COUNTER.Enum(),
		Metric: []*dto.Metric{{Counter: &dto.Counter{Value: new(1e6 + 100*float64(at)/1e9)}}},
	}}
}

func TestARunThatIsShorterThanTheIntervalsIsSeenWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, clock := watching(), metrics.NewSystemClock()
		<-time.NewTimer(time.Minute).C
		w, err := newWitnesses(c)
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		looking := make(chan struct{})
		go func() {
			defer close(looking)
			scrape.Loop(ctx, slog.New(slog.DiscardHandler), 15*time.Second, w.bell, func(context.Context) {
				<-time.NewTimer(50 * time.Millisecond).C
				w.look(reading(clock.Now()))
				w.servers.Observe("t", "a", clock.Now(), tokensAt(clock.Now()))
			}, func() {}, func(any) {})
		}()
		records := report.NewCollector(nil)
		w.attend(ctx, clock, []string{"t"}, func() {
			start := clock.Now()
			<-time.NewTimer(6 * time.Second).C
			r := &metrics.Record{Outcome: metrics.Success, Time: metrics.Timeline{Start: start, End: clock.Now()}}
			m := metrics.Measure(r)
			records.Add(r, &m, nil)
		})
		from, to, _ := records.Window()
		r := records.Report(report.Meta{Target: "t", GPUs: w.gpus("t", from, to), Servers: w.servers})
		for tag, want := range map[string]float64{"nvidia_average_gpu_power": 400, "nvidia_total_gpu_energy": 2400, "server_generation_token_throughput": 100} {
			if m, ok := r.Metric(tag); !ok || m.Stats.Avg < want-1e-6 || m.Stats.Avg > want+1e-6 {
				t.Errorf("%s is %v, %t, want %v", tag, m.Stats.Avg, ok, want)
			}
		}
		if w.gpus("other", from, to) != nil {
			t.Error("the GPU serves two targets")
		}
	})
}

func TestTheReportNamesTheGPUAndWhereItWasSeen(t *testing.T) {
	t.Parallel()
	c := watching()
	w, err := newWitnesses(c)
	if err != nil {
		t.Fatal(err)
	}
	for second := range int64(4) {
		w.look(reading(second * 1e9))
	}
	g := w.gpus("t", 1e9, 2e9)
	if g == nil || len(g.Devices) != 1 {
		t.Fatalf("devices are %+v", g)
	}
	d := g.Devices[0]
	if d.Endpoint != g.Endpoints[0] || strings.Contains(d.Endpoint, "secret") || !strings.Contains(d.Endpoint, "node-1:9400/metrics") {
		t.Errorf("seen at %q, endpoints are %q", d.Endpoint, g.Endpoints)
	}
	if d.Platform != report.NVIDIA || d.Index != 3 || d.Name != "H100" || d.UUID != "GPU-a" || d.Hostname != "node-1" || d.Pod != "vllm-0" {
		t.Errorf("device is %+v", d)
	}
	if len(d.Sensors) != 1 || len(d.Sensors[0].Values) != 2 || d.Energy.V != 400 || d.Integrated {
		t.Errorf("it showed %+v, used %+v", d.Sensors, d.Energy)
	}
	c.Collectors.GPU.DCGM.URLs = append(c.Collectors.GPU.DCGM.URLs, "http://node-2:9400/metrics")
	if g = w.gpus("t", 1e9, 2e9); g.Devices[0].Endpoint != "dcgm" || len(g.Endpoints) != 3 {
		t.Errorf("of two exporters it is %q, endpoints are %q", g.Devices[0].Endpoint, g.Endpoints)
	}
}

func TestOnlyServersThatMayHaveAPageAreWaitedFor(t *testing.T) {
	t.Parallel()
	c := watching()
	c.Targets = append(c.Targets, config.Target{Name: "none", Enabled: true}, config.Target{Name: "nowhere", Enabled: true}, config.Target{Name: "not chosen", Enabled: true})
	c.Targets[1].Server.Kind = mapping.None
	c.Targets[2].Server.MetricsURLs = []secret.URL{}
	chosen := []targetConfig{{Name: "t"}, {Name: "none"}, {Name: "nowhere"}}
	if got := askedServers(c, chosen); len(got) != 1 || got[0] != "t" {
		t.Errorf("asked are %q", got)
	}
	c.Collectors.Server.Enabled = false
	if got := askedServers(c, chosen); got != nil {
		t.Errorf("asked are %q though nobody is", got)
	}
}
