package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// stoodStill tells that the machine was no fair judge: the process has missed arrivals by a second, or targets failed that are always well.
func stoodStill(groups map[string]*count) bool {
	for name, c := range groups {
		if c.dropped[metrics.DropSchedulerLate] > 0 || (name == direct || name == proxied) && c.failures() > 0 {
			return true
		}
	}
	return false
}

// limits are the classes of requests that took too long.
var limits = []metrics.ErrorClass{metrics.ErrTimeoutConnect, metrics.ErrTimeoutFirstToken, metrics.ErrTimeoutIdle, metrics.ErrTimeoutTotal}

// judgeGroup says what is wrong about how the requests of a group ended in a phase. Where the machine stood still meanwhile, those that may be ill
// may also have reached a limit, which are short.
func (s *seen) judgeGroup(m *member, p phase, c *count, stood bool) {
	for reason, n := range c.dropped {
		// A machine that stands still makes this process miss arrivals, and its twin, too.
		if reason != metrics.DropSchedulerLate {
			s.complainf("%s: %v arrivals dropped as %s", m.group, n, reason)
		}
	}
	may := allowed(m.ill, p)
	if stood && m.ill != nil {
		may = append(may, limits...)
	}
	for class, n := range c.failed {
		if !slices.Contains(may, class) {
			s.complainf("%s: %v requests failed as %s, may as %v", phaseNames[p]+" "+m.group, n, class, may)
		}
	}
	s.judgeSuccesses(m, p, c)
}

// judgeSuccesses checks that requests succeed when they should, and only then.
func (s *seen) judgeSuccesses(m *member, p phase, c *count) {
	switch broken := m.ill != nil && m.ill.class != ""; {
	case p == ill && broken && (c.succeeded > 0 || c.failures() == 0):
		s.complainf("%s: %v requests succeeded and %v failed while it was ill", m.group, c.succeeded, c.failures())
	case (p == well || p == ill && !broken) && c.succeeded == 0:
		s.complainf("%s: no request succeeded in the phase %q", m.group, phaseNames[p])
	}
}

// phaseNames are for people.
var phaseNames = [phases]string{onset: "onset", ill: "ill", relief: "relief", well: "well"}

// allowed are the classes that failures may have.
func allowed(f *fault, p phase) []metrics.ErrorClass {
	switch {
	case f == nil || f.class == "" || p == well:
		return nil
	case p == ill:
		return []metrics.ErrorClass{f.class}
	}
	return append([]metrics.ErrorClass{f.class}, f.edges...)
}

// Tolerances.
const (
	// arrivals of a target may be so many more or fewer than time times rate: the looks at both ends take time.
	arrivalTolerance = 2
	// restTolerance is by how much goroutines and descriptors at rest may differ.
	restTolerance = 1.02
	// growth is how much more the second half may take than the first, in which what is remembered of each target is still filling.
	growth = 1.15
)

// judge says what is wrong about the whole.
func (s *seen) judge() {
	s.judgeSchedule()
	s.judgeMemory()
	if n := s.after.f.Sum("aiperf_exporter_panics_total", nil); n > 0 {
		s.complainf("%v panics", n)
	}
	if n := s.after.f.Sum("aiperf_exporter_config_reloads_total", scrape.Labels{"result": "success"}); n != float64(s.reloads) {
		s.complainf("%v reloads succeeded, want %d", n, s.reloads)
	}
	ended := s.after.f.By("aiperf_requests_total", "target", nil)
	for target, n := range s.after.f.By("aiperf_arrivals_sent_total", "target", nil) {
		if n != ended[target] {
			s.complainf("%s: %v requests were sent, and %v have ended", target, n, ended[target])
		}
	}
	s.judgeLateness()
}

// judgeLateness checks that no target has had to wait for a request of one that is ill, which would be until its limit.
func (s *seen) judgeLateness() {
	for _, group := range []string{direct, proxied} {
		if late := s.latest[group]; late >= connectLimit.Seconds() {
			s.complainf("%s: a request left %v s late, while nothing stood still", group, late)
		}
	}
}

// judgeSchedule checks that all targets had as many arrivals as their rate says, whatever became of requests.
func (s *seen) judgeSchedule() {
	from, to := &s.first[0], &s.last[0]
	before, now := from.f.By("aiperf_arrivals_total", "target", nil), to.f.By("aiperf_arrivals_total", "target", nil)
	want := s.rig.options.rate / float64(len(s.rig.fleet)) * to.at.Sub(from.at).Seconds()
	for _, m := range s.rig.fleet {
		if got := now[m.name] - before[m.name]; math.Abs(got-want) > arrivalTolerance {
			s.complainf("%s: %v arrivals, want %.1f", m.name, got, want)
		}
	}
}

// judgeMemory checks that what requests have taken is given back, and what is kept of them is bounded.
func (s *seen) judgeMemory() {
	for _, what := range s.left() {
		s.complainf("%s", what)
	}
	if s.captures > capturesSize || s.captures == 0 {
		s.complainf("captures took %v bytes, want some and at most %d", s.captures, capturesSize)
	}
	if s.history > historySize || s.history == 0 {
		s.complainf("the history took %v bytes, want some and at most %d", s.history, historySize)
	}
	for name, values := range map[string][]float64{"heap": s.heaps, "resident memory": s.resident} {
		if half := len(values) / 2; half > 0 && mean(values[len(values)-half:]) > growth*mean(values[:half]) {
			s.complainf("%s: %v in the first half, %v in the second", name, values[:half], values[len(values)-half:])
		}
	}
}

// left says what is taken at rest that was not before the faults.
func (s *seen) left() (out []string) {
	for _, name := range []string{"go_goroutines", "process_open_fds"} {
		before, after := s.before.f.Sum(name, nil), s.after.f.Sum(name, nil)
		if after > max(before*restTolerance, before+2) {
			out = append(out, fmt.Sprintf("%s: %v at rest before the faults, %v after them", name, before, after))
		}
	}
	return out
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// delays are how late the requests of a group left in the whole time, of the exporter (0) or its twin (1).
func (s *seen) delays(of int, group string) map[float64]float64 {
	return since(s.last[of].delays(group), s.first[of].delays(group))
}

// since takes out of counts by bound what was counted before.
func since(out, before map[float64]float64) map[float64]float64 {
	for bound, n := range before {
		out[bound] -= n
	}
	for bound, n := range out {
		if n == 0 {
			delete(out, bound)
		}
	}
	return out
}

// lateness writes a quantile of how late requests left, in milliseconds: of the exporter, of its twin, and their ratio.
func (s *seen) lateness(group string, q float64) string {
	told, twin := 1e3*scrape.Quantile(s.delays(0, group), q), 1e3*scrape.Quantile(s.delays(1, group), q)
	return fmt.Sprintf("%.3g (%.3g, ratio %.2g)", told, twin, told/twin)
}
