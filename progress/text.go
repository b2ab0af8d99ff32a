package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// progress says how many requests of how many have ended, or how much of the time is over.
func (r *row) progress() string {
	if r.requests > 0 {
		return fmt.Sprintf("%d/%d", r.done(), r.requests)
	}
	return clock(r.elapsed) + "/" + clock(r.duration)
}

// failures counts them, with the class of the last one.
func (r *row) failures() string {
	if r.failed == 0 {
		return "0"
	}
	return fmt.Sprintf("%d %s", r.failed, r.class)
}

func (r *row) firstToken(q float64) string {
	v, known := r.firstTokens.quantile(q)
	if !known {
		return nothing
	}
	return latency(v)
}

// remaining says how long it takes yet; what is beyond the plan is coming to its end.
func (r *row) remaining() string {
	switch {
	case r.known && r.left > 0:
		return clock(r.left)
	case r.share() < 1:
		return nothing
	case r.inFlight > 0:
		return "ending"
	}
	return "done"
}

// nothing stands where there is nothing to say.
const nothing = "–"

// clock writes a time as clocks do: 1:05, 1:00:00.
func clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// figure writes a number with three digits, or all of it.
func figure(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// latency writes seconds with a unit that suits them.
func latency(seconds float64) string {
	if seconds < 0.9995 {
		return figure(seconds*1000) + " ms"
	}
	return figure(seconds) + " s"
}

// sentence is a row for a log: everything that the columns say, in one line.
func (r *row) sentence() string {
	parts := []string{clock(r.elapsed)}
	if r.duration > 0 {
		parts[0] += " of " + clock(r.duration)
	}
	requests := fmt.Sprintf("%d requests", r.done())
	if r.requests > 0 {
		requests = fmt.Sprintf("%d of %d requests", r.done(), r.requests)
	}
	parts = append(parts, requests, figure(r.rateHz)+"/s", fmt.Sprintf("%d in flight", r.inFlight), r.failures()+" failed")
	if r.failed > 0 {
		parts[len(parts)-1] = fmt.Sprintf("%d failed (last %s)", r.failed, r.class)
	}
	if r.dropped > 0 {
		parts = append(parts, fmt.Sprintf("%d dropped", r.dropped))
	}
	if r.firstTokens.total > 0 {
		parts = append(parts, fmt.Sprintf("TTFT p50 %s p95 %s", r.firstToken(0.50), r.firstToken(0.95)))
	}
	if r.known && r.left > 0 {
		parts = append(parts, clock(r.left)+" left")
	}
	return strings.Join(parts, ", ")
}
