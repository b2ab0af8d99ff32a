package gpu

import "sort"

// Of what the energy in a window is made. Samples are in the order of time.
//
// A counter is interpolated at both ends of the window between the samples around them. It is never taken from the last sample before the window
// however old that is: what was used in between is not the window's.

// point is a sample: joules of a counter, or watts.
type point struct {
	at    int64
	value float64
	// again is when a counter that had not moved yet was last told before this sample; 0 if it was not.
	again int64
}

// slow tells whether the exporter was asked shortly before the sample and had nothing new: it measures more rarely than it is asked.
func (p *point) slow(interval int64) bool { return p.again != 0 && p.at-p.again <= reach(interval) }

// reach is how far away the samples around an instant may be.
func reach(interval int64) int64 { return interval + interval/2 }

// slowestExporter is the longest interval at which an exporter measures, if it does so more rarely than it is asked: dcgm-exporter's default.
const slowestExporter = 30e9

// around finds the samples before (or at) and at (or after) an instant that are near enough to interpolate between.
func around(points []point, at, interval int64) (before, after int, ok bool) {
	after = sort.Search(len(points), func(i int) bool { return points[i].at >= at })
	if after == len(points) {
		return 0, 0, false
	}
	before = after
	if points[after].at > at {
		before--
	}
	if before < 0 {
		return 0, 0, false
	}
	far := reach(interval)
	if points[after].slow(interval) {
		far = max(far, reach(slowestExporter))
	}
	return before, after, at-points[before].at <= far && points[after].at-at <= far
}

// between interpolates the values at two samples.
func between(points []point, values []float64, before, after int, at int64) float64 {
	if before == after {
		return values[after]
	}
	share := float64(at-points[before].at) / float64(points[after].at-points[before].at)
	return values[before] + share*(values[after]-values[before])
}

// counted gives the joules between two instants by a counter.
//
// An exporter that measures more rarely than it is asked only tells in steps. Such a window must not be shorter than a step, or most of what is
// told were the step's.
func counted(points []point, t0, t1, interval int64) (joules float64, ok bool) {
	from, fromEnd, ok0 := around(points, t0, interval)
	until, untilEnd, ok1 := around(points, t1, interval)
	if !ok0 || !ok1 || t1 <= t0 {
		return 0, false
	}
	for _, end := range [][2]int{{from, fromEnd}, {until, untilEnd}} {
		step := points[end[1]].at - points[end[0]].at
		if points[end[1]].slow(interval) && step > reach(interval) && step > t1-t0 {
			return 0, false
		}
	}
	used := make([]float64, len(points)) // since the first sample
	for i := 1; i < len(points); i++ {
		step := points[i].value - points[i-1].value
		if step < 0 { // the counter began anew: what it has since is all that is known
			step = points[i].value
		}
		used[i] = used[i-1] + step
	}
	return between(points, used, until, untilEnd, t1) - between(points, used, from, fromEnd, t0), true
}

// integrated gives the joules between two instants by samples of the power: the area below the lines that join them. Where two follow each other
// too far apart nobody knows what was in between.
func integrated(points []point, t0, t1, interval int64) (joules float64, ok bool) {
	from, fromEnd, ok0 := around(points, t0, interval)
	until, untilEnd, ok1 := around(points, t1, interval)
	if !ok0 || !ok1 || t1 <= t0 {
		return 0, false
	}
	watts := make([]float64, len(points))
	for i := range points {
		watts[i] = points[i].value
	}
	at, power := t0, between(points, watts, from, fromEnd, t0)
	for i := fromEnd; i <= untilEnd; i++ {
		next, nextPower := points[i].at, watts[i]
		if i > 0 && next-points[i-1].at > 2*reach(interval) {
			return 0, false
		}
		if next >= t1 {
			next, nextPower = t1, between(points, watts, until, untilEnd, t1)
		}
		joules += (power + nextPower) / 2 * float64(next-at) / 1e9
		at, power = next, nextPower
	}
	return joules, true
}
