package metrics

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// process holds what the program says about itself, beside its targets.
type process struct {
	store                                   *Store
	wakeup, lag, instrument, prepare, dnsIn prometheus.Histogram
	decodeNs                                atomic.Int64
	panics                                  map[Component]*atomic.Int64
	suspicion                               Suspicion
	reloads                                 reloads

	mu         sync.Mutex // guards those below
	lastOffset time.Duration
	clockSteps int
	throttled  Value     // seconds; undefined outside containers
	selfTest   *SelfTest // nil = there is none
}

func newProcess(s *Store) *process {
	p := &process{store: s, panics: map[Component]*atomic.Int64{}, reloads: reloads{ok: true, lastSuccess: s.start, count: map[ReloadResult]int64{}}}
	for _, c := range Components {
		p.panics[c] = &atomic.Int64{}
	}
	p.wakeup = s.histogram("aiperf_scheduler_wakeup_delay_seconds")
	p.lag = s.histogram("aiperf_exporter_schedule_lag_seconds")
	p.instrument = s.histogram("aiperf_exporter_instrument_delay_seconds")
	p.prepare = s.histogram("aiperf_exporter_prepare_seconds")
	p.dnsIn = s.histogram("aiperf_exporter_dns_lookup_seconds")
	return p
}

// histogram makes one of the process, as the table has it.
func (s *Store) histogram(name string) prometheus.Histogram {
	for i := range s.series {
		if s.series[i].Name == name {
			return prometheus.NewHistogram(s.histogramOpts(&s.series[i]))
		}
	}
	panic("metrics: no series " + name)
}

// WokeUp notes that a scheduler that wanted to wake at one instant did at another, and tells whether the wall clock was found to have been
// set; that is told once for each time.
func (s *Store) WokeUp(wanted, now int64) (clockSet bool) {
	s.process.wakeup.Observe(Seconds(max(0, now-wanted)))
	if now-wanted > int64(lateWakeup) {
		s.Suspect(SuspectWakeup, now)
	}
	return s.process.watchClock()
}

// Suspect notes a fault of this program or of its host that was found at an instant.
func (s *Store) Suspect(cause SuspectCause, at int64) { s.process.suspicion.Note(cause, at) }

// CPUThrottled adds time for which the host denied this container the processor, summed over processors. The series begins with the first
// call, which only a process in a container makes.
func (s *Store) CPUThrottled(ns int64) {
	p := s.process
	p.mu.Lock()
	defer p.mu.Unlock()
	p.throttled = Value{V: p.throttled.V + Seconds(ns), Defined: true}
}

// Prepared notes how long a request took to build.
func (s *Store) Prepared(ns int64) { s.process.prepare.Observe(Seconds(ns)) }

// Decoded adds time spent on framing and decoding an answer.
func (s *Store) Decoded(ns int64) { s.process.decodeNs.Add(ns) }

// InstrumentDelay notes the largest time that bytes of an answer lay in the kernel before they were handled.
func (s *Store) InstrumentDelay(ns int64) { s.process.instrument.Observe(Seconds(ns)) }

// Panicked counts a panic that was caught.
func (s *Store) Panicked(c Component) { s.process.panics[c].Add(1) }

// totals are sums over the targets, as a scrape has seen them.
type totals struct {
	running float64
	states  map[TargetState]int
}

func (s *totals) add(now *snapshot) {
	if s.states == nil {
		s.states = map[TargetState]int{}
	}
	s.running += now.running
	s.states[now.state]++
}

func (p *process) collect(ch chan<- prometheus.Metric, f *facts, sums *totals) {
	for _, h := range []prometheus.Histogram{p.wakeup, p.lag, p.instrument, p.prepare, p.dnsIn} {
		h.Collect(ch)
	}
	s := p.store
	counter := func(name string, value float64, labels ...string) {
		s.emit(ch, name, Counter, s.start, value, labels...)
	}
	gauge := func(name string, value float64, labels ...string) { s.emit(ch, name, Gauge, s.start, value, labels...) }

	if f.Budgets != nil {
		used, writable := f.Budgets()
		for i, limit := range f.Budget {
			gauge("aiperf_exporter_budget_used", used[i], limit.Kind, limit.Period)
			gauge("aiperf_exporter_budget_limit", limit.Limit, limit.Kind, limit.Period)
		}
		gauge("aiperf_exporter_budget_state_writable", boolValue(writable))
	}
	counter("aiperf_exporter_decode_seconds_total", Seconds(p.decodeNs.Load()))
	for _, c := range Components {
		counter("aiperf_exporter_panics_total", float64(p.panics[c].Load()), string(c))
	}
	p.watchClock()
	p.mu.Lock()
	offset, steps := p.lastOffset, p.clockSteps
	p.mu.Unlock()
	gauge("aiperf_clock_offset_seconds", offset.Seconds())
	counter("aiperf_exporter_wall_clock_steps_total", float64(steps))
	p.collectFaults(ch)

	gauge("aiperf_exporter_inflight_requests", sums.running)
	for _, state := range TargetStates {
		gauge("aiperf_exporter_targets", float64(sums.states[state]), string(state))
	}
	if f.SecretReadErrors != nil {
		for name, n := range f.SecretReadErrors() {
			counter("aiperf_exporter_secret_read_errors_total", float64(n), name)
		}
	}
	gauge("aiperf_exporter_shards", float64(max(f.Shards, 1)), strconv.Itoa(f.Shard))
	gauge("aiperf_exporter_config_info", 1, f.ConfigHash)
	p.reloads.collect(ch, s)
}

// collectFaults tells how far this program and its host are to be trusted.
func (p *process) collectFaults(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	throttled, selfTest := p.throttled, p.selfTest
	p.mu.Unlock()
	s := p.store
	if throttled.Defined {
		s.emit(ch, "aiperf_exporter_cpu_throttled_seconds_total", Counter, s.start, throttled.V)
	}
	now := s.options.Clock.Now()
	for _, cause := range SuspectCauses {
		s.emit(ch, "aiperf_exporter_suspect", Gauge, s.start, boolValue(p.suspicion.Holds(cause, now)), string(cause))
	}
	if selfTest != nil {
		selfTest.collect(ch, now)
	}
}

// watchClock compares the wall clock's offset with that of the look before: more than a second apart is a step.
func (p *process) watchClock() (stepped bool) {
	offset := p.store.options.Clock.Offset()
	p.mu.Lock()
	defer p.mu.Unlock()
	stepped = (offset - p.lastOffset).Abs() > time.Second
	if stepped {
		p.clockSteps++
	}
	p.lastOffset = offset
	return stepped
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
