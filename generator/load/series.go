package load

import (
	"slices"
	"time"
)

// series is a rate that changes all the time: points that are joined by lines, over and over. Its time is that which clocks show, so that
// a rush at noon stays at noon; an hour that clocks show twice has its rates twice.
type series struct {
	points []PointConfig
	period int64
	zone   *time.Location
}

const (
	day           = int64(24 * time.Hour)
	defaultPeriod = 24 * time.Hour

	// firstMonday is the civil time at which periods begin.
	firstMonday = 4 * day
)

func newSeries(c *Config) *series {
	s := &series{points: c.RateSeries, period: int64(c.Period), zone: location(c.TZ)}
	if s.period == 0 {
		s.period = int64(defaultPeriod)
	}
	return s
}

// at is the rate at a wall-clock time, by how much it changes per second, and until when it does so.
func (s *series) at(wall int64) (hz, slope float64, until int64) {
	unix := floorDiv(wall, int64(time.Second))
	civil, end := civilOf(unix, s.zone)
	position := floorMod(wall+(civil-unix)*int64(time.Second)-firstMonday, s.period)

	i, found := slices.BinarySearchFunc(s.points, position, func(p PointConfig, at int64) int { return int(int64(p.At) - at) })
	if found {
		i++
	}
	last, next := s.point(i-1), s.point(i)
	slope = (next.Rate - last.Rate) / (next.At - last.At).Seconds()
	hz = last.Rate + slope*(time.Duration(position)-last.At).Seconds()
	until = wall + int64(next.At) - position
	if end != 0 {
		until = min(until, end*int64(time.Second))
	}
	return max(0, hz), slope, until
}

// point is the i-th point of the period, or its neighbour in the period before or after.
func (s *series) point(i int) PointConfig {
	switch n := len(s.points); i {
	case -1:
		p := s.points[n-1]
		return PointConfig{p.At - time.Duration(s.period), p.Rate}
	case n:
		p := s.points[0]
		return PointConfig{p.At + time.Duration(s.period), p.Rate}
	default:
		return s.points[i]
	}
}
