package load

import (
	"math"
	"testing"
	"time"
)

func hourly(pairs ...float64) []PointConfig {
	var out []PointConfig
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, PointConfig{At: time.Duration(pairs[i] * float64(time.Hour)), Rate: pairs[i+1]})
	}
	return out
}

func TestSeriesJoinsItsPoints(t *testing.T) {
	t.Parallel()
	budapest := &Config{RateSeries: hourly(6, 1, 12, 7, 18, 1), TZ: "Europe/Budapest"}
	week := &Config{RateSeries: hourly(0, 0, 24, 24, 48, 0), Period: 7 * 24 * time.Hour}
	for name, test := range map[string]struct {
		config    *Config
		at        string
		hz, slope float64 // per hour
		until     string
	}{
		"at a point":                                 {budapest, "2026-06-01T04:00:00Z", 1, 1, "2026-06-01T10:00:00Z"},
		"between two points":                         {budapest, "2026-06-01T06:00:00Z", 3, 1, "2026-06-01T10:00:00Z"},
		"downwards":                                  {budapest, "2026-06-01T12:00:00Z", 5, -1, "2026-06-01T16:00:00Z"},
		"the last point is joined to the first":      {budapest, "2026-06-01T18:00:00Z", 1, 0, "2026-06-02T04:00:00Z"},
		"and the first to the last":                  {budapest, "2026-06-01T02:00:00Z", 1, 0, "2026-06-01T04:00:00Z"},
		"in winter by the clocks of winter":          {budapest, "2026-01-05T07:00:00Z", 3, 1, "2026-01-05T11:00:00Z"},
		"until clocks are set forward":               {budapest, "2026-03-28T18:00:00Z", 1, 0, "2026-03-29T01:00:00Z"},
		"after clocks were set forward":              {budapest, "2026-03-29T01:00:00Z", 1, 0, "2026-03-29T04:00:00Z"},
		"a week begins on Monday":                    {week, "2026-06-01T12:00:00Z", 12, 1, "2026-06-02T00:00:00Z"},
		"and goes on":                                {week, "2026-06-02T06:00:00Z", 18, -1, "2026-06-03T00:00:00Z"},
		"to its end, which is joined to its start":   {week, "2026-06-06T12:00:00Z", 0, 0, "2026-06-08T00:00:00Z"},
		"before the epoch":                           {week, "1969-12-29T12:00:00Z", 12, 1, "1969-12-30T00:00:00Z"},
		"a fraction of a second before a point":      {budapest, "2026-06-01T09:59:59.5Z", 7 - 0.5/3600, 1, "2026-06-01T10:00:00Z"},
		"in the middle of a step of clocks backward": {budapest, "2026-10-25T00:30:00Z", 1, 0, "2026-10-25T01:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hz, slope, until := newSeries(test.config).at(instant(t, test.at))
			if math.Abs(hz-test.hz) > 1e-12 || math.Abs(slope*3600-test.slope) > 1e-12 || until != instant(t, test.until) {
				t.Errorf("%v/s, %v/s more each hour, until %v; want %v, %v, %v",
					hz, slope*3600, time.Unix(0, until).UTC(), test.hz, test.slope, test.until)
			}
		})
	}
}
