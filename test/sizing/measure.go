package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// The forms of histograms that are compared.
const (
	both   = "both"
	native = "native"
)

// idle is what so many targets cost that are asked every 30 seconds.
type idle struct {
	targets    int
	histograms string
	servers    bool // whether the metrics of servers are read

	memory  float64 // bytes, at the end of the measurement
	cpu     float64 // processors, without scrapes
	scrape  float64 // processor seconds of one, text
	bytes   int     // of one
	samples int     // of one
	native  int     // series of one in Protobuf, a histogram being one
}

// busy is what so many streams cost.
type busy struct {
	name     string
	requests float64 // that ended, a second
	chunks   float64 // a second
	streams  float64 // at a time, on average
	cpu      float64 // processors
	most     float64 // bytes
}

// trickle is a canary of many targets: form of histograms, whether their servers' metrics are read.
const trickle = `
global: {max_in_flight: 10000, max_start_per_second: 1000, max_targets: 1000}
metrics: {histograms: %[1]s}
collectors: {server: {enabled: %[2]t}}
workloads:
  short: {input_tokens: 64, output_tokens: 32}
slos:
  quick: {time_to_first_token: 1s}
loads:
  trickle: {mode: poisson, interval: 30s}
targets:
`

// scrapes are made to know what one costs.
const scrapes = 3

// fleetsOfTargets are measured. With classic histograms no configuration may have more than 150 targets, whose series are 200 000.
var fleetsOfTargets = []idle{
	{targets: 1, histograms: both},
	{targets: 10, histograms: both},
	{targets: 100, histograms: both},
	{targets: 150, histograms: both},
	{targets: 100, histograms: "classic"},
	{targets: 100, histograms: native},
	{targets: 1000, histograms: native},
	{targets: 100, histograms: both, servers: true},
}

// targets measures each of them that is not too large.
func (o *options) targets(ctx context.Context) ([]idle, error) {
	var all []idle
	for i := range fleetsOfTargets {
		one := fleetsOfTargets[i]
		if one.targets > o.most {
			continue
		}
		if err := o.idle(ctx, &one); err != nil {
			return nil, fmt.Errorf("%d targets: %w", one.targets, err)
		}
		fmt.Fprintf(o.log, "%+v\n", one)
		all = append(all, one)
	}
	return all, nil
}

func (o *options) idle(ctx context.Context, one *idle) error {
	var targets strings.Builder
	fmt.Fprintf(&targets, trickle, one.histograms, one.servers)
	for i := range one.targets {
		fmt.Fprintf(&targets, "  - {name: t%d, url: \"%%[1]s\", model: m, endpoint: {type: chat}, workload: short, load: trickle, slo: quick}\n", i)
	}
	r, err := o.start(ctx, targets.String(), "-itl=1ms")
	if err != nil {
		return err
	}
	err = o.look(ctx, r, one)
	if closed := r.close(ctx); err == nil {
		err = closed
	}
	return err
}

// look measures a rig of targets that trickle, when each of them has been asked with a probability of 1 - 1/e at least.
func (o *options) look(ctx context.Context, r *rig, one *idle) error {
	if err := pause(ctx, max(o.length, 30*time.Second)); err != nil {
		return err
	}
	used, wall, err := r.during(ctx, o.length)
	if err != nil {
		return err
	}
	one.cpu = used.Seconds() / wall.Seconds()
	before, err := r.cpu()
	if err != nil {
		return err
	}
	begin := time.Now()
	for range scrapes {
		var text []byte
		if text, err = scrape.Bytes(ctx, r.url+"/metrics", scrape.Text); err != nil {
			return err
		}
		one.bytes, one.samples = len(text), samples(text)
	}
	after, err := r.cpu()
	if err != nil {
		return err
	}
	one.scrape = max(0, (after-before).Seconds()-one.cpu*time.Since(begin).Seconds()) / scrapes
	if one.native, err = r.families(ctx); err != nil {
		return err
	}
	one.memory, _, err = r.memory()
	return err
}

// samples counts the lines of an exposition that have a value.
func samples(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		if line[0] != '#' && line[0] != '\n' {
			n++
		}
	}
	return n
}

// families counts series as Prometheus keeps them where it takes native histograms: one each.
func (r *rig) families(ctx context.Context) (n int, err error) {
	all, err := scrape.Get(ctx, r.url+"/metrics")
	for _, family := range all {
		n += len(family.GetMetric())
	}
	return n, err
}

// flow is a load that keeps streams open.
type flow struct {
	name   string
	rate   float64 // requests a second
	tokens int
	gap    time.Duration // between tokens
}

// flows are short answers, whose cost is that of a request, and long ones, whose cost is that of their chunks. Those of three differ in the number of
// streams alone, and not in the chunks that they bring; the last has many of both.
var flows = []flow{
	{"short answers", 50, 2, 0},
	{"10 streams, 200 tokens a second each", 10. / 2.5, 500, 5 * time.Millisecond},
	{"100 streams, 20 tokens a second each", 100. / 25, 500, 50 * time.Millisecond},
	{"500 streams, 4 tokens a second each", 500. / 25, 100, 250 * time.Millisecond},
	{"500 streams, 50 tokens a second each", 500. / 10, 500, 20 * time.Millisecond},
}

// flowing is a target with a rate: rate, tokens.
const flowing = `
global: {max_in_flight: 10000}
workloads:
  fixed: {input_tokens: 64, output_tokens: %[2]d}
loads:
  steady: {mode: constant, rate: %[3]g, max_in_flight: 5000}
targets:
  - {name: t, url: "%[1]s", model: m, endpoint: {type: chat}, workload: fixed, load: steady}
`

func (o *options) streams(ctx context.Context) ([]busy, error) {
	var all []busy
	for i := range flows {
		f := &flows[i]
		r, err := o.start(ctx, fmt.Sprintf(flowing, "%[1]s", f.tokens, f.rate), "-ttft="+f.gap.String(), "-itl="+f.gap.String())
		if err != nil {
			return nil, err
		}
		one, err := o.flow(ctx, r, f)
		if closed := r.close(ctx); err == nil {
			err = closed
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(o.log, "%+v\n", *one)
		all = append(all, *one)
	}
	return all, nil
}

// flow measures a load once its number of streams no longer grows.
func (o *options) flow(ctx context.Context, r *rig, f *flow) (*busy, error) {
	answer := time.Duration(f.tokens) * f.gap
	if err := pause(ctx, answer+5*time.Second); err != nil {
		return nil, err
	}
	// Both the counters and the processor time are looked at around a scrape, which may take long on a busy machine.
	before, err := scrape.Get(ctx, r.url+"/metrics")
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	usedBefore, err := r.cpu()
	if err != nil {
		return nil, err
	}
	if err = pause(ctx, o.length); err != nil {
		return nil, err
	}
	after, err := scrape.Get(ctx, r.url+"/metrics")
	if err != nil {
		return nil, err
	}
	wall := time.Since(begin)
	usedAfter, err := r.cpu()
	if err != nil {
		return nil, err
	}
	since := func(name string, labels scrape.Labels) float64 {
		return (after.Sum(name, labels) - before.Sum(name, labels)) / wall.Seconds()
	}
	one := &busy{
		name: f.name, requests: since("aiperf_requests_total", scrape.Labels{"outcome": "success"}), cpu: (usedAfter - usedBefore).Seconds() / wall.Seconds(),
	}
	one.chunks, one.streams = one.requests*float64(f.tokens), after.Sum("aiperf_exporter_inflight_requests", nil)
	if one.requests == 0 {
		return nil, fmt.Errorf("no request has ended: %s", r.exporter.Output())
	}
	_, one.most, err = r.memory()
	return one, err
}
