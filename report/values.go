package report

import (
	"math"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The values of the figures. A function that is given samples appends what one request contributes, which may be nothing.

type (
	measures = metrics.Measures
	value    = metrics.Value
)

// milliseconds converts seconds. Instants are whole nanoseconds, so a value that is one but for the error of the conversion is taken for
// it: 50.2, not 50.199999999999996.
func milliseconds(seconds float64) float64 {
	ns := seconds * 1e9
	if whole := math.Round(ns); math.Abs(ns-whole) < 1e-3 {
		ns = whole
	}
	return ns / 1e6
}

func latency(of func(*measures) value) func([]float64, *sample) []float64 {
	return func(dst []float64, s *sample) []float64 {
		if v := of(&s.measures); v.Defined {
			dst = append(dst, milliseconds(v.V))
		}
		return dst
	}
}

func figure(of func(*measures) value) func([]float64, *sample) []float64 {
	return func(dst []float64, s *sample) []float64 {
		if v := of(&s.measures); v.Defined {
			dst = append(dst, v.V)
		}
		return dst
	}
}

// connected is a phase of a request that asked for a connection. A phase that did not happen took 0 ms here, as in AIPerf and k6.
func connected(seconds func(*measures) float64) func([]float64, *sample) []float64 {
	return func(dst []float64, s *sample) []float64 {
		if s.measures.Phases.Blocked.Defined {
			dst = append(dst, milliseconds(seconds(&s.measures)))
		}
		return dst
	}
}

func overhead(m *measures) float64 {
	return m.Phases.Blocked.V + m.Phases.DNS.V + connecting(m)
}

// connecting is TCP and TLS together, as in AIPerf.
func connecting(m *measures) float64 { return m.Phases.Connect.V + m.Phases.TLS.V }

// exchange is the time from having a connection until the end of the answer.
func exchange(m *measures) float64 { return max(0, m.Total.V-overhead(m)) }

func reused(dst []float64, s *sample) []float64 {
	if !s.record.ConnObtained {
		return dst
	}
	if s.record.ConnReused {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// kibibytes: AIPerf writes KB and divides by 1024.
func kibibytes(of func(*metrics.Record) int64) func([]float64, *sample) []float64 {
	return func(dst []float64, s *sample) []float64 {
		if n := of(&s.record); n > 0 {
			dst = append(dst, float64(n)/1024)
		}
		return dst
	}
}

func chunkGaps(dst []float64, s *sample) []float64 {
	for _, gap := range s.gaps {
		dst = append(dst, float64(gap)/1e6)
	}
	return dst
}

// visibleTokens are the output tokens without reasoning; a request without any has no value, as in AIPerf.
func visibleTokens(dst []float64, s *sample) []float64 {
	usage := &s.record.Usage
	if n := usage.Output.N - usage.Reasoning.N; usage.Output.Known && n > 0 {
		dst = append(dst, float64(n))
	}
	return dst
}

// told is a count in the server's own words, never an estimate.
func told(of func(*metrics.Usage) metrics.Count) func([]float64, *sample) []float64 {
	return func(dst []float64, s *sample) []float64 {
		usage := s.record.Usage
		if !s.record.InputSource.Told() {
			usage.Input = metrics.Count{}
		}
		if !s.record.OutputSource.Told() {
			usage.Output, usage.Reasoning = metrics.Count{}, metrics.Count{}
		}
		if n := of(&usage); n.Known {
			dst = append(dst, float64(n.N))
		}
		return dst
	}
}

func inputAndOutput(u *metrics.Usage) metrics.Count {
	return metrics.Count{N: u.Input.N + u.Output.N, Known: u.Input.Known && u.Output.Known}
}

func lengthErrorPercent(dst []float64, s *sample) []float64 {
	if s.hasLength() {
		tokens, _ := s.record.LengthError()
		dst = append(dst, 100*float64(tokens)/float64(s.record.RequestedTokens))
	}
	return dst
}

// The scalars.

func perSecond(of func(*totals) float64) func(*totals) (float64, bool) {
	return func(t *totals) (float64, bool) { return share(of(t), t.window) }
}

func sum(tag string) func(*totals) (float64, bool) {
	return func(t *totals) (float64, bool) {
		total, ok := t.sums[tag]
		return total, ok
	}
}

// sumPerSecond divides the sum of all the figures by the window; it has no value if one of them has none.
func sumPerSecond(tags ...string) func(*totals) (float64, bool) {
	return func(t *totals) (float64, bool) {
		total := 0.0
		for _, tag := range tags {
			n, ok := t.sums[tag]
			if !ok {
				return 0, false
			}
			total += n
		}
		return share(total, t.window)
	}
}

func goodput(t *totals) (float64, bool) {
	rate, ok := share(float64(t.good), t.window)
	return rate, ok && t.judged
}

func goodFraction(t *totals) (float64, bool) {
	fraction, ok := share(float64(t.good), t.completed())
	return fraction, ok && t.judged
}

func cacheReadPercent(t *totals) (float64, bool) {
	read, ok := t.sums["usage_prompt_cache_read_tokens"]
	percent, some := share(100*read, t.sums["usage_prompt_tokens"])
	return percent, ok && some
}

func (t *totals) completed() float64 { return float64(t.successes + t.failures) }

// share divides; there is no share of nothing.
func share(part, whole float64) (float64, bool) {
	if whole <= 0 {
		return 0, false
	}
	return part / whole, true
}
