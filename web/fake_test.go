package web

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// fakeDaemon shows what it is given.
type fakeDaemon struct {
	process    view.Process
	targets    []view.Target
	records    map[string][]view.Record
	discovery  []view.DiscoverySet
	collectors []view.Collector
}

func (d *fakeDaemon) Process() view.Process          { return d.process }
func (d *fakeDaemon) Targets() []view.Target         { return d.targets }
func (d *fakeDaemon) Records(n string) []view.Record { return d.records[n] }
func (d *fakeDaemon) Discovery() []view.DiscoverySet { return d.discovery }
func (d *fakeDaemon) Collectors() []view.Collector   { return d.collectors }
func (d *fakeDaemon) Config() (yaml []byte, hash string) {
	return []byte("targets: []\n"), d.process.Config.Hash
}
func (d *fakeDaemon) Flags() map[string]string { return nil }

func (d *fakeDaemon) Target(name string) (view.Target, bool) {
	i := slices.IndexFunc(d.targets, func(t view.Target) bool { return t.Name == name })
	if i < 0 {
		return view.Target{}, false
	}
	return d.targets[i], true
}

// testNow is when all pages of tests are looked at.
var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// emptyDaemon has started a while ago and has no targets.
func emptyDaemon(now time.Time) *fakeDaemon {
	return &fakeDaemon{process: view.Process{
		State: "ready", Version: "1.2.3", Start: now.Add(-26 * time.Hour),
		Config: view.Config{Hash: "0123456789ab", Loaded: now.Add(-3 * time.Hour)},
	}}
}

// fleetOf has n targets, all healths in turn, the worst first.
func fleetOf(n int, now time.Time) *fakeDaemon {
	d := emptyDaemon(now)
	d.records = map[string][]view.Record{}
	for i := range n {
		d.targets = append(d.targets, fakeTarget(i, n, now))
	}
	rank := func(t view.Target) int { return slices.Index(view.Healths, t.Health) }
	slices.SortStableFunc(d.targets, func(a, b view.Target) int { return rank(a) - rank(b) })
	for i := range d.targets {
		d.records[d.targets[i].Name] = fakeRecords(&d.targets[i], now)
	}
	d.process.Targets, d.process.InFlight = n, 2*n
	d.process.Instrument = view.Instrument{ErrorBar: new(0.00021), Samples: 4120}
	return d
}

// fakeHealth is healthy for most.
func fakeHealth(i int) view.Health {
	return [...]view.Health{view.Healthy, view.Healthy, view.Failing, view.Healthy, view.Degraded, view.Healthy, view.Idle, view.Healthy, view.Healthy, view.Unknown}[i%10]
}

func fakeTarget(i, n int, now time.Time) view.Target {
	models := []string{"Qwen/Qwen3-8B", "meta-llama/Llama-3.3-70B-Instruct", "openai/gpt-oss-120b", "mistralai/Mistral-Small-3.2-24B", "deepseek-ai/DeepSeek-V3.2"}
	where := []string{"prod-eu1", "prod-us2", "staging", "edge-fra", "canary"}
	t := view.Target{
		Name: fmt.Sprintf("%s-%s", []string{"qwen", "llama", "gptoss", "mistral", "deepseek"}[i%5], where[i/5%5]), Model: models[i%5],
		Workload: "chat-short", Endpoint: "chat", URL: "https://llm.example.net", Load: "trickle", LoadMode: "poisson",
		LoadText: "trickle, poisson 0.2/s", Labels: map[string]string{"team": "ml", "region": where[i/5%5]}, Source: "file", Generation: 1 + i%3,
		State: "running", AskedRate: new(0.2), AchievedRate: 0.197, InFlight: i % 3, Health: fakeHealth(i), Since: new(now.Add(-time.Duration(i+1) * 13 * time.Minute)),
		LastSuccess: new(now.Add(-4 * time.Second)),
		Window:      view.Window{Seconds: 300, Requests: 60, Goodput: new(0.998)},
		SLOs:        []view.SLO{{Name: "interactive", Objective: 0.99, Samples: 720, Good: 719, State: "met", Limits: []string{"ttft <= 800 ms", "itl <= 50 ms"}}},
		Budget:      []view.Budget{{Kind: "usd", Period: "day", Used: 3.1 + float64(i%7), Limit: 12}, {Kind: "tokens", Period: "hour", Used: 41200, Limit: 500000}},
	}
	if n > 25 {
		t.Name = fmt.Sprintf("%s-%03d", t.Name, i)
	}
	if i%4 == 3 {
		t.Budget = nil
	}
	base := 0.12 + 0.11*float64(i%5)
	t.Points = fakePoints(base, t.Health, now, uint64(i))
	quantiles := func(scale float64) view.Quantiles {
		return view.Quantiles{Samples: 60, P50: new(base * scale), P95: new(base * scale * 2.3), P99: new(base * scale * 3.7)}
	}
	t.Window.TTFT, t.Window.ITL, t.Window.Latency = quantiles(1), quantiles(0.06), quantiles(9)
	unwell(&t, now)
	return t
}

// unwell makes what is known about a target fit its health.
func unwell(t *view.Target, now time.Time) {
	w := &t.Window
	switch t.Health {
	case view.Failing:
		t.Reason = "48 of 60 requests failed: timeout_first_token"
		w.Failures, w.Errors, w.Goodput = 48, map[string]int{"timeout_first_token": 41, "http_5xx": 7}, new(0.17)
		w.Dropped = map[string]int{"in_flight": 5}
		t.SLOs[0].State, t.SLOs[0].Good, t.LastSuccess = "missed", 611, new(now.Add(-95*time.Second))
	case view.Degraded:
		t.Reason = "TTFT p95 of 2.9 s misses interactive (800 ms): 91.2 % good, 99 % wanted"
		w.Goodput = new(0.912)
		t.SLOs[0].State, t.SLOs[0].Good = "missed", 672
		t.SLOs = append(t.SLOs, view.SLO{Name: "available", Objective: 0.999, Samples: 211, Good: 211, State: "unproved"})
	case view.Idle:
		t.Reason, t.State, t.AchievedRate = "paused by an operator", "paused", 0
		*w = view.Window{Seconds: 300}
	case view.Unknown:
		t.Reason, t.State, t.AchievedRate, t.LastSuccess, t.Points = "no request has ended yet", "starting", 0, nil, nil
		*w = view.Window{Seconds: 300}
		t.SLOs[0] = view.SLO{Name: "interactive", Objective: 0.99, State: "unproved"}
	case view.Healthy:
	}
}

func fakePoints(base float64, h view.Health, now time.Time, seed uint64) []view.Point {
	random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a picture, not a secret
	var out []view.Point
	for i := range 120 {
		wave := base * (1 + 0.15*math.Sin(float64(i)/9) + 0.25*random.Float64())
		p := view.Point{At: now.Add(-time.Duration(119-i) * view.PointSeconds * time.Second), Requests: 6, Judged: 6, Good: 6}
		bad := i > 96
		if bad && h == view.Degraded {
			wave *= 3
			p.Good = 4
		}
		if bad && h == view.Failing {
			wave *= 2
			p.Failures, p.Good, p.Dropped = 4+i%3, i%2, i%2
		}
		if p.Failures < p.Requests && (h != view.Idle || i <= 80) {
			p.TTFT50, p.TTFT95, p.Latency, p.Rate = new(wave), new(wave*(1.7+random.Float64())), new(wave*9), new(42+20*random.Float64())
		}
		out = append(out, p)
	}
	return out
}

func fakeRecords(t *view.Target, now time.Time) []view.Record {
	if t.Health == view.Unknown {
		return nil
	}
	random := rand.New(rand.NewPCG(uint64(len(t.Name)), 3)) //nolint:gosec // as above
	var out []view.Record
	for i := range 60 {
		r := view.Record{
			ID: fmt.Sprintf("req-%s-%04d", t.Name, 9000-i), TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Target: t.Name, At: now.Add(-time.Duration(i)*5*time.Second - 2*time.Second),
			Outcome: "success", Status: 200, Finish: "length", InputTokens: new(int64(512)), OutputTokens: new(int64(64)),
		}
		wait, decode := 0.1+0.25*random.Float64(), 0.9+random.Float64()
		at := 0.0
		phase := func(name string, took float64) {
			r.Phases = append(r.Phases, view.Phase{Name: view.PhaseName(name), Start: at, End: at + took})
			at += took
		}
		phase("queue", 0.002+0.05*random.Float64())
		phase("prepare", 0.004)
		phase("dns", 0.02+0.02*random.Float64())
		phase("connect", 0.03)
		phase("tls", 0.055)
		phase("send", 0.008)
		if t.Health == view.Failing && i%5 != 4 {
			phase("wait", 10)
			r.Outcome, r.Class, r.Status, r.Finish, r.OutputTokens = "error", "timeout_first_token", 0, "", nil
			r.Detail, r.Captured = "no token within 10s; the server had answered with headers and 3 keep-alives", i%3 == 0
			if i%7 == 3 {
				r.Class, r.Status, r.Detail = "http_5xx", 503, `{"error":{"message":"upstream connect error or disconnect/reset before headers. reset reason: overflow","type":"server_error"}}`
				r.Phases[6].End = at - 9.9
				at -= 9.9
			}
		} else {
			phase("wait", wait)
			r.TTFT, r.ITL, r.Latency = new(at), new(decode/63), new(at+decode)
			for k := range 64 {
				r.Ticks = append(r.Ticks, at+decode*(float64(k)+0.4*random.Float64())/64)
			}
			phase("decode", decode)
			phase("rest", 0.01)
			if t.Health == view.Degraded && i%4 == 1 {
				r.Missed = []string{"interactive"}
			}
		}
		r.Total = at
		out = append(out, r)
	}
	return out
}
