package history

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// objectives tells how the target does by each of its objectives, over the last hour. The lock is held.
func (t *target) objectives() []view.SLO {
	out := make([]view.SLO, len(t.slos))
	for i := range t.slos {
		slo := &t.slos[i]
		sum := t.points.hour(i)
		out[i] = view.SLO{
			Name: slo.Name, Objective: slo.Objective, Samples: sum.judged, Good: sum.good,
			State: proved(sum.good, sum.judged, slo.Objective), Limits: make([]string, len(slo.Thresholds)),
		}
		for k := range slo.Thresholds {
			out[i].Limits[k] = limitText(&slo.Thresholds[k])
		}
	}
	return out
}

// proved tells what so many good ones of n say about the share that should be good.
func proved(good, n int, objective float64) view.SLOState {
	low, high := wilson(good, n)
	switch {
	case low >= objective:
		return view.Met
	case high < objective:
		return view.Missed
	}
	return view.Unproved
}

// z95 is the quantile of the normal distribution that leaves 5 % outside, half on each side.
const z95 = 1.959963984540054

// wilson is the interval in which the true share is at 95 % confidence (E. B. Wilson 1927). Without samples it can be anywhere.
func wilson(good, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	size, share := float64(n), float64(good)/float64(n)
	scale := 1 + z95*z95/size
	middle := share + z95*z95/(2*size)
	spread := z95 * math.Sqrt(share*(1-share)/size+z95*z95/(4*size*size))
	return max(0, (middle-spread)/scale), min(1, (middle+spread)/scale)
}

// limitText is a limit as people write it.
func limitText(limit *metrics.Threshold) string {
	if limit.Metric.Rate() {
		return fmt.Sprintf("%s >= %s tokens/s", limit.Metric, plainNumber(limit.Limit))
	}
	return fmt.Sprintf("%s <= %v", limit.Metric, time.Duration(limit.Limit))
}

func percent(share float64) string { return plainNumber(share*100) + "%" }

// plainNumber has as many digits as people read.
func plainNumber(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
