package metrics

import (
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

	mu         sync.Mutex // guards the two below
	lastOffset time.Duration
	clockSteps int
}

func newProcess(s *Store) *process {
	p := &process{store: s, panics: map[Component]*atomic.Int64{}}
	for _, c := range Components {
		p.panics[c] = &atomic.Int64{}
	}
	histogram := func(name string) prometheus.Histogram {
		for i := range s.series {
			if s.series[i].Name == name {
				return prometheus.NewHistogram(s.histogramOpts(&s.series[i]))
			}
		}
		panic("metrics: no series " + name)
	}
	p.wakeup = histogram("aiperf_scheduler_wakeup_delay_seconds")
	p.lag = histogram("aiperf_exporter_schedule_lag_seconds")
	p.instrument = histogram("aiperf_exporter_instrument_delay_seconds")
	p.prepare = histogram("aiperf_exporter_prepare_seconds")
	p.dnsIn = histogram("aiperf_exporter_dns_lookup_seconds")
	return p
}

// WokeUp notes that a scheduler that wanted to wake at one instant did at another, and tells whether the wall clock was found to have been
// set; that is told once for each time.
func (s *Store) WokeUp(wanted, now int64) (clockSet bool) {
	s.process.wakeup.Observe(Seconds(max(0, now-wanted)))
	return s.process.watchClock()
}

// Prepared notes how long a request took to build.
func (s *Store) Prepared(ns int64) { s.process.prepare.Observe(Seconds(ns)) }

// Decoded adds time spent on framing and decoding an answer.
func (s *Store) Decoded(ns int64) { s.process.decodeNs.Add(ns) }

// InstrumentDelay notes the largest time that bytes of an answer lay in the kernel before they were handled.
func (s *Store) InstrumentDelay(ns int64) { s.process.instrument.Observe(Seconds(ns)) }

// Panicked counts a panic that was caught.
func (s *Store) Panicked(c Component) { s.process.panics[c].Add(1) }

func (p *process) collect(ch chan<- prometheus.Metric) {
	for _, h := range []prometheus.Histogram{p.wakeup, p.lag, p.instrument, p.prepare, p.dnsIn} {
		h.Collect(ch)
	}
	s := p.store
	counter := func(name string, value float64, labels ...string) {
		s.emit(ch, name, Counter, s.start, value, labels...)
	}
	gauge := func(name string, value float64, labels ...string) { s.emit(ch, name, Gauge, s.start, value, labels...) }

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

	inflight := 0.0
	states := map[TargetState]int{}
	for name, t := range s.targets {
		sum := t.summary()
		inflight += sum.running
		states[sum.state]++
		gauge("aiperf_exporter_target_generation", float64(s.generations[name]), name)
		gauge("aiperf_exporter_series", float64(s.options.Config.SeriesOf(t.info.SLOs, s.options.SLOs)), name)
		counter("aiperf_exporter_connections_opened_total", sum.opened, name)
		counter("aiperf_exporter_connections_reused_total", sum.reused, name)
	}
	gauge("aiperf_exporter_inflight_requests", inflight)
	for _, state := range TargetStates {
		gauge("aiperf_exporter_targets", float64(states[state]), string(state))
	}
	if s.options.SecretReadErrors != nil {
		for name, n := range s.options.SecretReadErrors() {
			counter("aiperf_exporter_secret_read_errors_total", float64(n), name)
		}
	}
	gauge("aiperf_exporter_config_info", 1, s.options.ConfigHash)
	gauge("aiperf_exporter_config_last_reload_successful", 1)
	gauge("aiperf_exporter_config_last_reload_success_timestamp_seconds", unixSeconds(s.start))
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
