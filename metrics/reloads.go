package metrics

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ReloadResult is how a reload of the configuration ended.
type ReloadResult string

// The results.
const (
	ReloadSuccess ReloadResult = "success"
	ReloadFailure ReloadResult = "failure" // what was configured before stays in use
)

// ReloadResults is the closed list.
var ReloadResults = []ReloadResult{ReloadSuccess, ReloadFailure}

// reloads is what became of the attempts to load the configuration. That of the start has succeeded, and does not count as a reload.
type reloads struct {
	mu              sync.Mutex // guards those below
	ok              bool
	lastSuccess     time.Time
	count           map[ReloadResult]int64
	restartRequired bool
}

// Reloaded notes that a reload has ended at an instant, and whether its configuration is in use now.
func (s *Store) Reloaded(at time.Time, ok bool) {
	r := &s.process.reloads
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ok = ok
	result := ReloadFailure
	if ok {
		r.lastSuccess, result = at, ReloadSuccess
	}
	r.count[result]++
}

// RestartRequired notes whether the configuration in use asks for something that only the next start of the process gives.
func (s *Store) RestartRequired(required bool) {
	r := &s.process.reloads
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restartRequired = required
}

func (r *reloads) collect(ch chan<- prometheus.Metric, s *Store) {
	r.mu.Lock()
	ok, lastSuccess, restart, count := r.ok, r.lastSuccess, r.restartRequired, maps.Clone(r.count)
	r.mu.Unlock()
	s.emit(ch, "aiperf_exporter_config_last_reload_successful", Gauge, s.start, boolValue(ok))
	s.emit(ch, "aiperf_exporter_config_last_reload_success_timestamp_seconds", Gauge, s.start, unixSeconds(lastSuccess))
	s.emit(ch, "aiperf_exporter_config_restart_required", Gauge, s.start, boolValue(restart))
	for _, result := range ReloadResults {
		s.emit(ch, "aiperf_exporter_config_reloads_total", Counter, s.start, float64(count[result]), string(result))
	}
}
