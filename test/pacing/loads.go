package main

import "time"

// configuration of the target: workload, load, URL. Connections are kept, so that opening them is no part of a gap.
const configuration = `
global: {max_in_flight: 1000}
workloads:
  short: {input_tokens: 32, output_tokens: 2, %s}
http_clients:
  kept: {reuse: keepalive}
loads:
  measured: {max_in_flight: 500, %s}
targets:
  - {name: truth, url: %q, model: truth, endpoint: {type: chat}, workload: short, load: measured, client: kept, seed: 7}
`

// scenario is a load and what is expected of it.
type scenario struct {
	name           string
	load, workload string // keys of the configuration
	length         time.Duration
	theory         string // coefficient of variation of the gaps
	// asked is the number of arrivals that the load wants in a time.
	asked func(time.Duration) float64
}

func steady(perSecond float64) func(time.Duration) float64 {
	return func(d time.Duration) float64 { return perSecond * d.Seconds() }
}

// ramped is a rate that grows evenly from 0 over a time, and stays then.
func ramped(perSecond float64, ramp time.Duration) func(time.Duration) float64 {
	return func(d time.Duration) float64 {
		growing := min(d, ramp).Seconds()
		return perSecond * (growing*growing/(2*ramp.Seconds()) + (d.Seconds() - growing))
	}
}

var loads = []scenario{
	{name: "constant 50/s", load: "mode: constant, rate: 50", length: time.Minute, theory: "0", asked: steady(50)},
	{name: "constant 1000/s", load: "mode: constant, rate: 1000", length: 30 * time.Second, theory: "0", asked: steady(1000)},
	{name: "poisson 40/s", load: "mode: poisson, rate: 40", length: time.Minute, theory: "1", asked: steady(40)},
	{name: "gamma-0.25 40/s", load: "mode: gamma, smoothness: 0.25, rate: 40", length: time.Minute, theory: "2", asked: steady(40)},
	{name: "gamma-4 40/s", load: "mode: gamma, smoothness: 4, rate: 40", length: time.Minute, theory: "0.5", asked: steady(40)},
	{
		name: "ramp 40/s", load: "mode: constant, rate: 40, ramp: {duration: 5s}", length: 20 * time.Second, theory: "–",
		asked: ramped(40, 5*time.Second),
	},
	{name: "probe 2/s", load: "mode: probe, interval: 500ms", length: 30 * time.Second, theory: "0", asked: steady(2)},
	{name: "users 5/s", load: "mode: users, users: 5, rate: 5", workload: "turns: 3", length: 30 * time.Second, theory: "0", asked: steady(5)},
}
