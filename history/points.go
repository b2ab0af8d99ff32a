package history

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

const (
	pointLength = int64(view.PointSeconds * time.Second)
	maxPoints   = int(hourLength / pointLength)
)

// drops counts arrivals that were not sent, by index in metrics.DropReasons.
type drops [8]int64

// tally is what an objective says of requests.
type tally struct{ judged, good int }

// bucket gathers what becomes a point.
type bucket struct {
	requests, failures, judged, good int
	dropped                          drops
	slos                             []tally
	tokens                           float64
	life                             float64 // seconds that requests with tokens took, added up
	ttft, latency                    thinned
}

// request adds one.
func (b *bucket) request(s *sample, r *metrics.Record, m *metrics.Measures) {
	b.requests++
	if s.failed() {
		b.failures++
	}
	if s.judged && len(b.slos) > 0 {
		b.judged++
		if s.bad == 0 {
			b.good++
		}
		for i := range b.slos {
			b.slos[i].judged++
			if s.bad&mask(i) == 0 {
				b.slos[i].good++
			}
		}
	}
	b.ttft.add(s.ttft)
	b.latency.add(s.latency)
	if r.Outcome == metrics.Success && m.OutputTokens.Defined && m.Total.Defined {
		b.tokens += m.OutputTokens.V
		b.life += m.Total.V
	}
}

// drop adds arrivals that were not sent; those that the server prevented are bad ones for objectives that count them, as on /metrics.
func (b *bucket) drop(reason int, n int64, slos []metrics.SLO) {
	b.dropped[reason] += n
	if !metrics.DropReasons[reason].CausedByServer() {
		return
	}
	for i := range min(len(slos), len(b.slos)) {
		if slos[i].CountDrops {
			b.slos[i].judged += int(n)
		}
	}
}

// closedPoint is a bucket that is over.
type closedPoint struct {
	end     int64
	point   view.Point // without its time
	dropped drops
	slos    []tally
}

// points are those of the last hour, one for each pointLength since the epoch of the process. Not safe for concurrent use.
type points struct {
	over []closedPoint // oldest first
	now  bucket
	slot int64 // number of the bucket
}

func newPoints(at int64, slos int) points {
	return points{slot: at / pointLength, now: bucket{slos: make([]tally, slos)}}
}

// advance closes buckets that are over.
func (p *points) advance(at int64) {
	slot := at / pointLength
	if slot-p.slot > int64(maxPoints) { // nothing happened for more than an hour
		p.over = p.over[:0]
		p.now = bucket{slos: make([]tally, len(p.now.slos)), ttft: p.now.ttft, latency: p.now.latency}
		p.now.ttft.take()
		p.now.latency.take()
		p.slot = slot - int64(maxPoints)
	}
	for p.slot < slot {
		p.close()
		p.slot++
	}
}

func (p *points) close() {
	b := &p.now
	ttft, latency := b.ttft.take(), b.latency.take()
	c := closedPoint{
		end: (p.slot + 1) * pointLength, dropped: b.dropped, slos: b.slos,
		point: view.Point{
			Requests: b.requests, Failures: b.failures, Judged: b.judged, Good: b.good,
			TTFT50: quantile(ttft, 0.5), TTFT95: quantile(ttft, 0.95), Latency: quantile(latency, 0.5),
		},
	}
	for _, n := range b.dropped {
		c.point.Dropped += int(n)
	}
	if b.life > 0 {
		c.point.Rate = new(b.tokens / b.life)
	}
	// The counts of the point that leaves are those of the next one.
	var counts []tally
	if len(p.over) == maxPoints {
		counts = p.over[0].slos
		copy(p.over, p.over[1:])
		p.over = p.over[:maxPoints-1]
	}
	p.over = append(p.over, c)
	if len(counts) != len(b.slos) {
		counts = make([]tally, len(b.slos))
	}
	clear(counts)
	p.now = bucket{slos: counts, ttft: b.ttft, latency: b.latency}
}

// closed are the points, oldest first.
func (p *points) closed(clock Clock) []view.Point {
	out := make([]view.Point, len(p.over))
	for i := range p.over {
		out[i] = p.over[i].point
		out[i].At = wall(clock, p.over[i].end)
	}
	return out
}

// droppedSince adds up what was dropped since an instant, to within a point.
func (p *points) droppedSince(at int64) drops {
	sum := p.now.dropped
	for i := len(p.over) - 1; i >= 0 && p.over[i].end > at; i-- {
		for reason, n := range p.over[i].dropped {
			sum[reason] += n
		}
	}
	return sum
}

// hour adds up what an objective says of the last hour.
func (p *points) hour(slo int) tally {
	sum := p.now.slos[slo]
	for i := range p.over {
		sum.judged += p.over[i].slos[slo].judged
		sum.good += p.over[i].slos[slo].good
	}
	return sum
}

// reorder gives the objectives their new places; was is the old one of each, -1 where it is new.
func (p *points) reorder(was []int) {
	move := func(old []tally) []tally {
		out := make([]tally, len(was))
		for now, before := range was {
			if before >= 0 {
				out[now] = old[before]
			}
		}
		return out
	}
	p.now.slos = move(p.now.slos)
	for i := range p.over {
		p.over[i].slos = move(p.over[i].slos)
	}
}
