package transport

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// stampClock translates the kernel's stamps, which are of the wall clock, to the process epoch.
//
// No offset between the clocks is kept that could be out of date: each read takes one reading of both, together, so the time in the
// kernel is a difference of two wall-clock instants and is taken off the monotonic one. It may be long, when this process was stopped;
// only if the wall clock was set since the last look is it worth nothing.
type stampClock struct {
	clock  *metrics.SystemClock
	offset int64 // of the wall clock from the monotonic one, at the last look
}

// maxDrift is how far the wall clock may have moved against the monotonic one between two looks before it must have been set: slewing
// stays far below.
const maxDrift = 20 * time.Millisecond

// look notes the clocks before anything has arrived.
func (s *stampClock) look() {
	now := time.Now()
	s.offset = now.UnixNano() - s.clock.At(now)
}

// arrival tells when bytes arrived that a read returned at now, with the kernel's stamp, 0 = none; ok is false where the return of the
// read has to stand in.
func (s *stampClock) arrival(now time.Time, kernelWall int64) (a arrival, ok bool) {
	return s.translate(s.clock.At(now), now.UnixNano(), kernelWall)
}

// translate is arrival with the two readings of the clocks apart.
func (s *stampClock) translate(mono, wall, kernelWall int64) (a arrival, ok bool) {
	offset, delay := wall-mono, wall-kernelWall
	drift := time.Duration(offset - s.offset)
	s.offset = offset
	if kernelWall == 0 || delay < 0 || drift.Abs() > maxDrift {
		return arrival{at: mono, now: mono}, false
	}
	return arrival{at: mono - delay, now: mono}, true
}
