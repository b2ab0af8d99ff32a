package generator_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// site is a generator in simulated time whose configuration changes while it runs.
type site struct {
	*rig
	generator *generator.Generator
	config    generator.Config
	anchor    int64
	stop      context.CancelFunc
	ended     chan struct{}

	mu      sync.Mutex
	asked   map[string][]time.Duration // when requests started, by URL
	most    map[string]int             // requests at a time, by URL
	open    map[string]int
	carried int // clients that are not closed
	removed []string
}

// call is a client of a site: its requests take as long as the total timeout of the target says.
type call struct {
	*simulated
	site *site
	url  string
}

// Do implements the generator's client.
func (c *call) Do(ctx context.Context, request *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer {
	c.site.note(c.url, 1)
	defer c.site.note(c.url, -1)
	return c.simulated.Do(ctx, request, timeline, handler)
}

// Close implements the generator's client.
func (c *call) Close() {
	c.site.mu.Lock()
	defer c.site.mu.Unlock()
	c.site.carried--
}

func (s *site) note(url string, change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[url] += change
	s.most[url] = max(s.most[url], s.open[url])
	if change > 0 {
		s.asked[url] = append(s.asked[url], time.Duration(s.clock.Now()-s.anchor))
	}
}

// newSite runs targets in a synctest bubble, until the test ends.
func newSite(t *testing.T, targets ...generator.TargetConfig) *site {
	t.Helper()
	s := &site{
		rig:   newRig(t, "", func(c *generator.TargetConfig) { c.Client.Timestamps = transport.ReadTimestamps }),
		asked: map[string][]time.Duration{}, most: map[string]int{}, open: map[string]int{}, ended: make(chan struct{}),
	}
	wait(time.Second)
	s.anchor = s.clock.Now()
	s.deps.Removed = func(names []string, series func()) {
		series()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.removed = append(s.removed, names...)
	}
	generator.CarryBy(&s.deps, func(c *generator.TargetConfig) *call {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.carried++
		return &call{&simulated{s.clock, s.anchor, always(c.Client.Timeouts.Total)}, s, c.URL}
	})
	var err error
	if s.deps.Ledger, err = budget.Open(""); err != nil {
		t.Fatal(err)
	}
	s.config.Targets = targets
	if s.generator, err = generator.New(s.config, s.deps); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() {
		defer close(s.ended)
		s.generator.Serve(ctx, time.Minute)
	}()
	t.Cleanup(s.end)
	return s
}

// end stops the traffic and wants nothing left.
func (s *site) end() {
	s.stop()
	<-s.ended
	s.generator.Close()
}

// simple is a target that asks once a second and gets its answers after so long.
func simple(name string, service time.Duration) generator.TargetConfig {
	r := rigConfig(name)
	r.Load.Rate, r.Client.Timeouts.Total, r.Client.Timestamps = 1, service, transport.ReadTimestamps
	return r
}

// change makes targets the configuration.
func (s *site) change(t *testing.T, targets ...generator.TargetConfig) generator.Summary {
	t.Helper()
	s.config.Targets = targets
	change, err := s.generator.Plan(s.config)
	if err != nil {
		t.Fatal(err)
	}
	return change.Commit()
}

// with is a target in which something is different.
func with(c generator.TargetConfig, change func(*generator.TargetConfig)) generator.TargetConfig {
	change(&c)
	return c
}

// gaps are the times between the starts of requests that were sent to a URL.
func (s *site) gaps(url string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []time.Duration
	for i := 1; i < len(s.asked[url]); i++ {
		out = append(out, s.asked[url][i]-s.asked[url][i-1])
	}
	return out
}

// balanced wants each arrival of each target accounted for, and gives what it has looked at.
func (s *site) balanced(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	families := s.gather(t)
	arrivals, sent := byTarget(families["aiperf_arrivals_total"]), byTarget(families["aiperf_arrivals_sent_total"])
	dropped, queued := byTarget(families["aiperf_arrivals_dropped_total"]), byTarget(families["aiperf_inflight_requests"], "queued")
	finished, warmup := byTarget(families["aiperf_requests_total"]), byTarget(families["aiperf_warmup_requests_total"])
	running := byTarget(families["aiperf_inflight_requests"], "prefill", "decode")
	for of, n := range arrivals {
		if n != sent[of]+dropped[of]+queued[of] {
			t.Fatalf("%s: %v arrivals, but %v sent, %v dropped and %v queued", of, n, sent[of], dropped[of], queued[of])
		}
		if sent[of] != finished[of]+warmup[of]+running[of] {
			t.Fatalf("%s: %v sent, but %v finished, %v of the warm-up and %v running", of, sent[of], finished[of], warmup[of], running[of])
		}
	}
	return families
}

// byTarget adds up the series of each target; phases are those that count, none = all.
func byTarget(family *dto.MetricFamily, phases ...string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range family.GetMetric() {
		key, counts := "", true
		for _, l := range m.GetLabel() {
			switch l.GetName() {
			case "target", "model", "workload":
				key += l.GetValue() + " "
			case "phase":
				counts = slices.Contains(phases, l.GetValue())
			}
		}
		if counts {
			out[key] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

func labels(m *dto.Metric) map[string]string {
	out := map[string]string{}
	for _, l := range m.GetLabel() {
		out[l.GetName()] = l.GetValue()
	}
	return out
}

// count adds up the series that have all of these labels.
func count(family *dto.MetricFamily, of map[string]string) (total float64) {
	for _, m := range family.GetMetric() {
		has := labels(m)
		if !slices.ContainsFunc([]string{"target", "model", "workload", "phase", "reason", "outcome"}, func(name string) bool {
			want, asked := of[name]
			return asked && has[name] != want
		}) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return total
}

// total is a series of a target, all its children added up.
func (s *site) total(t *testing.T, name, target string) float64 {
	t.Helper()
	return count(s.gather(t)[name], map[string]string{"target": target})
}

func TestAnUnchangedTargetNoticesNothingOfAReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := with(simple("a", 100*time.Millisecond), func(c *generator.TargetConfig) {
			c.Client.Credential, c.Client.CredentialKey = func() (string, string, error) { return "", "", nil }, "file x"
		})
		s := newSite(t, a)
		for i := range 20 {
			wait(330 * time.Millisecond)
			again := with(a, func(c *generator.TargetConfig) {
				c.Client.Credential = func() (string, string, error) { return "", "", nil }
			})
			got := s.change(t, again, simple(fmt.Sprint("other", i), time.Second))
			if diff := cmp.Diff([]string{"a"}, got.Kept); diff != "" {
				t.Fatalf("kept (-want +got):\n%s", diff)
			}
		}
		for _, gap := range s.gaps("http://a") {
			if gap != time.Second {
				t.Errorf("a gap of %v between requests, want 1 s", gap)
			}
		}
		if got := s.total(t, "aiperf_exporter_target_generation", "a"); got != 1 {
			t.Errorf("generation %v, want 1", got)
		}
		s.balanced(t)
	})
}

// TestWhatSurvivesAChange has the table of what a change of a target touches. The request that runs when it comes began 0.5 s before, and ends
// by what it began with.
func TestWhatSurvivesAChange(t *testing.T) {
	t.Parallel()
	before := simple("a", 1900*time.Millisecond)
	for name, test := range map[string]struct {
		change func(*generator.TargetConfig)
		// goesOn: the schedule keeps its phase. carries: how many clients have to be there after the change, while the old requests run.
		goesOn  bool
		carries int
	}{
		"rate":          {func(c *generator.TargetConfig) { c.Load.Rate = 2 }, false, 1},
		"max_in_flight": {func(c *generator.TargetConfig) { c.Load.MaxInFlight = 20 }, true, 1},
		"slo": {func(c *generator.TargetConfig) {
			c.SLOs = []metrics.SLO{{Name: "other", Objective: .9, Window: time.Hour, Thresholds: []metrics.Threshold{{Metric: metrics.SLORequestLatency, Limit: 5e9}}}}
		}, true, 1},
		"labels that are on info":  {func(c *generator.TargetConfig) { c.Labels = map[string]string{"team": "ml"} }, true, 1},
		"price":                    {func(c *generator.TargetConfig) { c.Budget.USDPerMillionInput = 1 }, true, 1},
		"url":                      {func(c *generator.TargetConfig) { c.URL = "http://b" }, true, 2},
		"timeouts":                 {func(c *generator.TargetConfig) { c.Client.Timeouts.Total = 1800 * time.Millisecond }, true, 2},
		"reuse":                    {func(c *generator.TargetConfig) { c.Client.Reuse = transport.Both }, true, 2},
		"fresh_every":              {func(c *generator.TargetConfig) { c.Client.FreshEvery = 3 }, true, 2},
		"dns_refresh":              {func(c *generator.TargetConfig) { c.Client.DNSRefresh = time.Minute }, true, 2},
		"ip_family":                {func(c *generator.TargetConfig) { c.Client.IPFamily = transport.OnlyIPv6 }, true, 2},
		"credential":               {func(c *generator.TargetConfig) { c.Client.CredentialKey = "another" }, true, 2},
		"header of the endpoint":   {func(c *generator.TargetConfig) { c.Endpoint.Headers = map[string]string{"X-A": "b"} }, true, 2},
		"content of the workload":  {func(c *generator.TargetConfig) { c.Workload.InputTokens.Mean = 5 }, true, 2},
		"content and load at once": {func(c *generator.TargetConfig) { c.Workload.InputTokens.Mean, c.Load.Rate = 5, 2 }, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, before)
				wait(2500 * time.Millisecond)
				after := with(before, test.change)
				if diff := cmp.Diff(generator.Summary{Changed: []string{"a"}}, s.change(t, after)); diff != "" {
					t.Errorf("summary (-want +got):\n%s", diff)
				}
				synctest.Wait()
				s.balanced(t)
				if got := s.carriers(); got != test.carries {
					t.Errorf("%d clients while old requests run, want %d", got, test.carries)
				}
				wait(7300 * time.Millisecond) // 9.8 s: between arrivals, so that each that was counted has begun
				s.balanced(t)
				if got := s.carriers(); got != 1 {
					t.Errorf("%d clients in the end, want 1", got)
				}
				var starts []time.Duration
				for _, url := range []string{"http://a", "http://b"} {
					starts = append(starts, s.starts(url)...)
				}
				slices.Sort(starts)
				var want []time.Duration
				for at := time.Duration(0); at < 10*time.Second; at += time.Second {
					want = append(want, at)
				}
				if test.goesOn {
					if diff := cmp.Diff(want, starts); diff != "" {
						t.Errorf("starts (-want +got):\n%s", diff)
					}
				} else if len(starts) < 17 || len(starts) > 18 || slices.Max(s.gaps("http://a")) > time.Second {
					t.Errorf("%d requests, want 3 and one each half second: %v", len(starts), starts)
				}
				if got := s.total(t, "aiperf_arrivals_total", "a"); got != float64(len(starts)) {
					t.Errorf("%v arrivals, want %d: series go on", got, len(starts))
				}
				if got := s.total(t, "aiperf_request_errors_total", "a"); got != 0 {
					t.Errorf("%v errors", got)
				}
			})
		})
	}
}

func (s *site) carriers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.carried
}

// atOnce is how many requests to a URL run now, and have at most.
func (s *site) atOnce(url string) struct{ now, most int } {
	s.mu.Lock()
	defer s.mu.Unlock()
	return struct{ now, most int }{s.open[url], s.most[url]}
}

// gone are the names of targets that were removed.
func (s *site) gone() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.removed)
}

func (s *site) starts(url string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked[url])
}

// TestALabelMakesAnotherTarget: the old one drains beside the new one, which begins at once.
func TestALabelMakesAnotherTarget(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*generator.TargetConfig){
		"name":     func(c *generator.TargetConfig) { c.Name = "b" },
		"model":    func(c *generator.TargetConfig) { c.Model = "other" },
		"workload": func(c *generator.TargetConfig) { c.WorkloadName = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				old := simple("a", 3*time.Second)
				s := newSite(t, old)
				wait(1500 * time.Millisecond)
				next := with(old, change)
				want := generator.Summary{Added: []string{next.Name}, Removed: []string{"a"}}
				if diff := cmp.Diff(want, s.change(t, next)); diff != "" {
					t.Errorf("summary (-want +got):\n%s", diff)
				}
				wait(time.Millisecond)
				s.balanced(t)
				of := func(c generator.TargetConfig) map[string]string {
					return map[string]string{"target": c.Name, "model": c.Model, "workload": c.WorkloadName}
				}
				sent := s.gather(t)["aiperf_arrivals_sent_total"]
				if was, is := count(sent, of(old)), count(sent, of(next)); was != 2 || is != 1 {
					t.Errorf("%v requests of the old and %v of the new one, want 2 and 1", was, is)
				}
				wait(2 * time.Second) // its last request has begun 0.5 s before the change
				if got := count(s.gather(t)["aiperf_arrivals_sent_total"], of(old)); got != 2 {
					t.Errorf("%v requests of the old target, want 2 until the last has ended", got)
				}
				wait(time.Second)
				if got := len(s.gather(t)["aiperf_arrivals_sent_total"].GetMetric()); got != 1 {
					t.Errorf("series of %d targets, want 1", got)
				}
				if want := map[bool][]string{true: {"a"}}[next.Name != "a"]; !slices.Equal(want, s.gone()) {
					t.Errorf("told of %v, want %v: a name that lives is not removed", s.gone(), want)
				}
			})
		})
	}
}

func TestARemovedTargetDrainsAndIsThenCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, simple("a", 5*time.Second), simple("b", time.Hour), simple("c", time.Millisecond))
		s.config.Limits.Linger = 10 * time.Second
		wait(3500 * time.Millisecond)
		got := s.change(t, simple("c", time.Millisecond))
		if diff := cmp.Diff(generator.Summary{Kept: []string{"c"}, Removed: []string{"a", "b"}}, got); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
		wait(4 * time.Second)
		if got := s.total(t, "aiperf_arrivals_total", "a"); got != 4 {
			t.Errorf("%v arrivals, want 4: they stop at once", got)
		}
		states := map[string]metrics.TargetState{}
		for _, status := range s.generator.Status() {
			states[status.Config.Name] = status.State
		}
		want := map[string]metrics.TargetState{"a": metrics.StateDraining, "b": metrics.StateDraining, "c": metrics.StateRunning}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		wait(2 * time.Second) // the last request of a has ended
		if got := s.total(t, "aiperf_requests_total", "a"); got != 4 || len(s.gone()) != 0 {
			t.Errorf("%v requests ended, want 4; told of %v", got, s.gone())
		}
		wait(10 * time.Second)
		if !slices.Equal(s.gone(), []string{"a"}) || s.total(t, "aiperf_requests_total", "a") != 0 {
			t.Errorf("told of %v, want a, whose series are gone", s.gone())
		}
		wait(15 * time.Second) // 31 s after the change
		if got := count(s.gather(t)["aiperf_requests_total"], map[string]string{"target": "b", "outcome": "cancelled"}); got != 4 {
			t.Errorf("%v cancelled, want 4", got)
		}
		s.balanced(t)
		wait(10 * time.Second)
		if !slices.Equal(s.gone(), []string{"a", "b"}) || s.carriers() != 1 {
			t.Errorf("told of %v, and %d clients are left, want 1", s.gone(), s.carriers())
		}
	})
}

// TestATargetThatComesBackGoesOn while it drains, while it lingers, and anew when it is gone.
func TestATargetThatComesBackGoesOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		absent time.Duration
		kept   bool
	}{
		"while it drains":         {time.Second, true},
		"while it lingers":        {8 * time.Second, true},
		"when it has been buried": {20 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := simple("a", 5*time.Second)
				s := newSite(t, a)
				s.config.Limits.Linger = 10 * time.Second
				wait(3500 * time.Millisecond) // four requests
				s.change(t)
				wait(test.absent)
				got := s.change(t, with(a, func(c *generator.TargetConfig) { c.URL = "http://b" }))
				if diff := cmp.Diff(generator.Summary{Added: []string{"a"}}, got); diff != "" {
					t.Errorf("summary (-want +got):\n%s", diff)
				}
				wait(3500 * time.Millisecond)
				s.balanced(t)
				before := 0.0
				if test.kept {
					before = 4
				}
				if got := s.total(t, "aiperf_arrivals_sent_total", "a") - before; got < 3 || got > 4 {
					t.Errorf("%v requests since it came back, want one each second", got)
				}
				if got := len(s.starts("http://b")); got < 3 || got > 4 {
					t.Errorf("%v requests to its new server", got)
				}
				if want := []string{"a"}; test.kept == slices.Equal(s.gone(), want) {
					t.Errorf("told of %v", s.gone())
				}
				wait(time.Minute)
				s.balanced(t)
				if s.carriers() != 1 {
					t.Errorf("%d clients are left", s.carriers())
				}
			})
		})
	}
}

func TestATargetThatFlapsLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := with(simple("a", 2*time.Second), func(c *generator.TargetConfig) { c.Load.Rate = 10; c.Load.MaxInFlight = 100 })
		steady := simple("steady", time.Millisecond)
		s := newSite(t, a, steady)
		highest := 0.0
		for i := range 60 {
			wait(270 * time.Millisecond)
			switch i % 3 {
			case 0:
				s.change(t, steady)
			case 1:
				s.change(t, a, steady)
			default:
				s.change(t, with(a, func(c *generator.TargetConfig) { c.Model = fmt.Sprint("m", i%2) }), steady)
			}
			s.balanced(t)
			arrivals := s.total(t, "aiperf_arrivals_total", "steady")
			if arrivals < highest {
				t.Fatalf("a counter of a target that does not change moved from %v to %v", highest, arrivals)
			}
			highest = arrivals
		}
		s.change(t, steady)
		wait(time.Minute)
		s.balanced(t)
		if got := len(s.gather(t)["aiperf_arrivals_total"].GetMetric()); got != 1 || s.carriers() != 1 {
			t.Errorf("%d targets and %d clients are left, want 1", got, s.carriers())
		}
		for _, gap := range s.gaps("http://steady") {
			if gap != time.Second {
				t.Errorf("the target beside it had a gap of %v", gap)
			}
		}
	})
}

func TestAPlanThatFailsOrIsDiscardedLeavesEverythingAsItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := simple("a", 100*time.Millisecond)
		s := newSite(t, a)
		changed := with(a, func(c *generator.TargetConfig) { c.URL, c.Load.Rate = "http://b", 50 })
		for name, targets := range map[string][]generator.TargetConfig{
			"a bad target": {changed, simple("new", time.Second), with(simple("bad", 1), func(c *generator.TargetConfig) {
				c.Workload.Dataset.File = "/nowhere"
				c.Workload.Dataset.Format = "openai_chat"
			})},
			"two of one name":   {changed, simple("a", 1)},
			"nothing but wrong": {with(a, func(c *generator.TargetConfig) { c.Endpoint.Type = "none" })},
		} {
			if _, err := s.generator.Plan(generator.Config{Targets: targets}); err == nil {
				t.Errorf("%s: no error", name)
			}
			wait(time.Second)
		}
		change, err := s.generator.Plan(generator.Config{Targets: []generator.TargetConfig{changed, simple("new", time.Second)}})
		if err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		change.Discard()
		wait(2500 * time.Millisecond)
		if diff := cmp.Diff(slices.Repeat([]time.Duration{time.Second}, 6), s.gaps("http://a")); diff != "" {
			t.Errorf("gaps between requests (-want +got):\n%s", diff)
		}
		if s.carriers() != 1 {
			t.Errorf("%d clients are open, want 1", s.carriers())
		}
	})
}

func TestALoadThatChangesKeepsItsConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed := func(workers int) generator.TargetConfig {
			return with(simple("a", 10*time.Second), func(c *generator.TargetConfig) {
				c.Load.Rate, c.Load.Mode, c.Load.Concurrency, c.Load.MaxInFlight = 0, load.Closed, workers, 50
			})
		}
		s := newSite(t, closed(4))
		for i := range 10 {
			wait(1300 * time.Millisecond)
			s.change(t, with(closed(4), func(c *generator.TargetConfig) { c.Load.MinInterval = time.Second + time.Duration(i) }))
			s.balanced(t)
		}
		if got := s.atOnce("http://a").most; got != 4 {
			t.Errorf("%d requests at a time, want 4", got)
		}
		s.change(t, closed(6))
		wait(30 * time.Second)
		if got := s.atOnce("http://a").most; got != 6 {
			t.Errorf("%d requests at a time, want 6", got)
		}
		s.change(t, closed(2))
		wait(15 * time.Second)
		if got := s.atOnce("http://a").now; got != 2 {
			t.Errorf("%d requests at a time, want 2", got)
		}
		s.balanced(t)
	})
}

func TestQueuedArrivalsKeepTheirPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queueing := with(simple("a", 4*time.Second), func(c *generator.TargetConfig) {
			c.Load.MaxInFlight, c.Load.OnFull, c.Load.Queue = 1, load.Queue, load.QueueConfig{Size: 10, MaxWait: time.Hour}
		})
		s := newSite(t, queueing)
		wait(6500 * time.Millisecond) // two sent, five queued
		inflight := s.gather(t)["aiperf_inflight_requests"]
		if queued, all := count(inflight, map[string]string{"phase": "queued"}), count(inflight, nil); queued != 5 || all != 6 {
			t.Fatalf("%v queued of %v", queued, all)
		}
		s.change(t, with(queueing, func(c *generator.TargetConfig) { c.Load.Rate, c.Load.OnFull = 0.001, load.Drop }))
		s.balanced(t)
		wait(time.Minute)
		s.balanced(t)
		if got := s.total(t, "aiperf_requests_total", "a"); got < 7 || s.total(t, "aiperf_arrivals_dropped_total", "a") > 1 {
			t.Errorf("%v requests ended, want the 7 that had arrived", got)
		}
	})
}

func TestWhatIsSpentStaysSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := func(requests int64) generator.TargetConfig {
			return with(simple("a", time.Millisecond), func(c *generator.TargetConfig) { c.Budget = budget.Config{RequestsPerDay: requests, TZ: "UTC"} })
		}
		s := newSite(t, limited(3))
		wait(5500 * time.Millisecond)
		sent := func() float64 { return s.total(t, "aiperf_arrivals_sent_total", "a") }
		if sent() != 3 {
			t.Fatalf("%v sent, want 3", sent())
		}
		s.change(t, limited(5))
		wait(5 * time.Second)
		if sent() != 5 {
			t.Errorf("%v sent, want 5: three were sent before the limit was raised", sent())
		}
		s.config.Limits.Budget = budget.Config{RequestsPerDay: 2, TZ: "UTC"}
		s.change(t, limited(100))
		wait(5 * time.Second)
		if sent() != 7 || s.generator.Account() == nil {
			t.Errorf("%v sent, want 7: all together may send two", sent())
		}
		s.config.Limits.Budget = budget.Config{}
		s.change(t, limited(100))
		wait(5 * time.Second)
		if sent() != 12 || s.generator.Account() != nil {
			t.Errorf("%v sent, want 12", sent())
		}
		s.change(t)
		wait(time.Second)
		s.change(t, limited(13))
		wait(5 * time.Second)
		if sent() != 1 {
			t.Errorf("%v sent by the target that came back, want 1, which is what was left", sent())
		}
		s.balanced(t)
	})
}

func TestAPauseSurvivesAReloadUnlessTheFileSaysOtherwise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := simple("a", time.Millisecond)
		s := newSite(t, a)
		wait(1500 * time.Millisecond)
		if err := s.generator.Pause("a", true); err != nil {
			t.Fatal(err)
		}
		faster := with(a, func(c *generator.TargetConfig) { c.Load.Rate = 2 })
		s.change(t, faster)
		wait(10 * time.Second)
		if got := s.total(t, "aiperf_arrivals_total", "a"); got != 2 {
			t.Errorf("%v arrivals, want 2", got)
		}
		if got := s.generator.Status()[0]; got.State != metrics.StatePaused || got.Since.IsZero() {
			t.Errorf("state %s since %v", got.State, got.Since)
		}
		paused := with(faster, func(c *generator.TargetConfig) { c.Load.Paused = true })
		s.change(t, paused)
		s.change(t, faster)
		wait(10 * time.Second)
		if got := s.total(t, "aiperf_arrivals_total", "a"); got < 20 || got > 23 {
			t.Errorf("%v arrivals, want 2 and 2 each second since the file resumed it", got)
		}
		s.balanced(t)
	})
}

func TestTargetsThatComeLaterBeginOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.config.Limits.MaxStartRate = 2
		wait(time.Second)
		var all []generator.TargetConfig
		for i := range 5 {
			all = append(all, simple(fmt.Sprint(i), time.Millisecond))
		}
		s.change(t, all...)
		wait(1100 * time.Millisecond)
		if got := s.generator.Status()[4]; got.State != metrics.StateStarting {
			t.Errorf("the last target is %s, want starting", got.State)
		}
		s.change(t, all[:4]...) // the fifth has not begun, and never does
		wait(3 * time.Second)
		var first []time.Duration
		for i := range 5 {
			first = append(first, s.starts(fmt.Sprint("http://", i))...)
		}
		slices.Sort(first)
		want := []time.Duration{time.Second, 1500 * time.Millisecond}
		if diff := cmp.Diff(want, first[:2]); diff != "" {
			t.Errorf("first requests (-want +got):\n%s", diff)
		}
		if got := len(s.starts("http://4")); got != 0 || !slices.Equal(s.gone(), []string{"4"}) {
			t.Errorf("%d requests of the removed target; told of %v", got, s.gone())
		}
	})
}
