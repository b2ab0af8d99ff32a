package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/report"
)

// How long a one-shot waits for a look at servers and GPUs: before its first request, when it is not known yet whether there are any, and after
// its last one. The time between looks is the configured one; these two come at once.
const (
	patienceBefore = time.Second
	patienceAfter  = 5 * time.Second
	// ringing is the time between two looks at what did not show anything new after the last request.
	ringing = 500 * time.Millisecond
)

// witnesses remember what servers and GPUs said of themselves while a one-shot ran, for its reports.
type witnesses struct {
	config  *gpu.Config
	bell    *scrape.Bell
	servers *report.ServerWindow
	meter   *gpu.EnergyMeter
	sensors *report.SensorWindow
}

func newWitnesses(c *config.Config) (*witnesses, error) {
	meter, err := gpu.NewEnergyMeter(c.Collectors.GPU, c.GPUTargets())
	if err != nil {
		return nil, err
	}
	return &witnesses{
		config: &c.Collectors.GPU, bell: scrape.NewBell(), servers: report.NewServerWindow(c.Collectors.Server.Interval),
		meter: meter, sensors: report.NewSensorWindow(),
	}, nil
}

// look takes in what a source saw of GPUs.
func (w *witnesses) look(r *gpu.Reading) {
	w.meter.Observe(r)
	for i := range r.Devices {
		d := &r.Devices[i]
		if d.Instance != "" || d.Lost {
			continue
		}
		for _, s := range d.Samples {
			if len(s.Labels) == 0 {
				w.sensors.Observe(deviceKey(r.Source, &d.Identity), r.At, s.Name, s.Value)
			}
		}
	}
}

// deviceKey tells devices apart, and what different sources say of one.
func deviceKey(source gpu.SourceName, id *gpu.Identity) string {
	return string(source) + " " + id.Hostname + " " + id.Index + " " + id.UUID
}

// attend sees to it that there is a look before traffic, and one after it. targets are those whose servers are asked.
func (w *witnesses) attend(ctx context.Context, clock *metrics.SystemClock, targets []string, traffic func()) {
	w.await(ctx, patienceBefore, clock.Now(), targets)
	traffic()
	if ctx.Err() != nil {
		return // whoever interrupts does not want to wait
	}
	at := clock.Now()
	patient, cancel := context.WithTimeout(ctx, patienceAfter)
	defer cancel()
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		w.await(patient, patienceAfter, at, nil)
	}()
	again := time.NewTicker(ringing)
	defer again.Stop()
	for {
		w.bell.Ring()
		select {
		case <-seen:
			return
		case <-again.C:
		}
	}
}

// await waits until all servers and GPUs were looked at after an instant.
func (w *witnesses) await(ctx context.Context, patience time.Duration, at int64, targets []string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w.meter.Await(ctx, at)
	w.servers.Await(ctx, at, targets...)
}

// gpus are those that served a target, over the window of its report; nil = none was seen.
func (w *witnesses) gpus(target string, from, to int64) *report.GPUs {
	out := &report.GPUs{}
	for _, name := range gpu.SourceNames {
		if e := w.config.Exporter(name); e != nil && w.config.Reads(name) {
			for _, u := range e.URLs {
				out.Endpoints = append(out.Endpoints, u.Public())
			}
		}
	}
	for _, d := range w.meter.Energy(from, to) {
		if d.Target != target {
			continue
		}
		endpoint := w.endpoint(d.Source)
		if !slices.Contains(out.Endpoints, endpoint) {
			out.Endpoints = append(out.Endpoints, endpoint)
		}
		index, _ := strconv.Atoi(d.Index) // some have none
		out.Devices = append(out.Devices, report.Device{
			Endpoint: endpoint, Platform: report.Platform(cmp.Or(d.Info.Vendor, string(report.NVIDIA))), Index: index, Name: d.Info.Model,
			UUID: d.UUID, Hostname: d.Hostname, Namespace: d.Info.Namespace, Pod: d.Info.Pod,
			Energy: metrics.Value{V: d.Joules, Defined: d.Known}, Integrated: d.Method == gpu.ByPower,
			Sensors: w.sensors.Sensors(deviceKey(d.Source, &d.Identity), from, to),
		})
	}
	if len(out.Devices) == 0 {
		return nil
	}
	return out
}

// endpoint is where a source is: its URL if it has one, else its name.
func (w *witnesses) endpoint(source gpu.SourceName) string {
	if e := w.config.Exporter(source); e != nil && len(e.URLs) == 1 {
		return e.URLs[0].Public()
	}
	return string(source)
}

// askedServers are the targets of a run whose servers may have a page of metrics.
func askedServers(c *config.Config, targets []targetConfig) []string {
	if !c.Collectors.Server.Enabled {
		return nil
	}
	var out []string
	for _, t := range serversOf(c, targets) {
		if t.Config.Asks() {
			out = append(out, t.Name)
		}
	}
	return out
}
