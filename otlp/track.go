package otlp

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// arithmetic is how points of one kind are reckoned with. Nobody changes a point.
type arithmetic[P any] interface {
	// points are those of a metric.
	points(data metricdata.Aggregation) []P
	// differences is the metric with points that are such.
	differences(points []P) metricdata.Aggregation
	attributes(p *P) attribute.Set
	times(p *P) (start, at time.Time)
	// restarted tells whether counting began anew between two readings of a series.
	restarted(before, now *P) bool
	plus(a, b *P) P
	// minus is what came between two readings of one run.
	minus(now, before *P) P
	// empty tells whether a difference says nothing.
	empty(p *P) bool
	// over is the point as what came in a time, with the exemplars of that time.
	over(p *P, from, to time.Time) P
}

// group is all series of one metric. It implements series.
type group[P any] struct {
	how    arithmetic[P]
	began  time.Time // of this process
	tracks map[attribute.Distinct]*track[P]
}

func newGroup[P any](how arithmetic[P], began time.Time) *group[P] {
	return &group[P]{how: how, began: began, tracks: map[attribute.Distinct]*track[P]{}}
}

// track is one series.
type track[P any] struct {
	last  *P // the newest reading
	sent  *P // the one that arrived last, of the same run; nil = none has
	carry *P // what came in runs before this one and has not arrived; nil = nothing
	since time.Time
	at    time.Time // of the newest reading
	round uint64    // in which it was last there
}

// turn implements series.
func (g *group[P]) turn(data metricdata.Aggregation, round uint64) metricdata.Aggregation {
	points := g.how.points(data)
	out := make([]P, 0, len(points))
	for i := range points {
		out = append(out, g.see(&points[i], round))
	}
	return g.how.differences(out)
}

// note implements series.
func (g *group[P]) note(data metricdata.Aggregation, round uint64) {
	points := g.how.points(data)
	for i := range points {
		g.see(&points[i], round)
	}
}

// baseline implements series. What is still owed of those that come back stays that.
func (g *group[P]) baseline(data metricdata.Aggregation, round uint64) {
	points := g.how.points(data)
	for i := range points {
		p := &points[i]
		attributes := g.how.attributes(p)
		_, at := g.how.times(p)
		switch key := attributes.Equivalent(); {
		case g.tracks[key] == nil:
			g.tracks[key] = &track[P]{last: p, sent: p, since: at, at: at, round: round}
		case g.tracks[key].round != round:
			t := g.tracks[key]
			if t.carry = t.pending(g.how); t.carry == nil {
				t.since = at
			}
			t.last, t.sent, t.at = p, p, at
		}
	}
}

// see notes a reading and gives what is new.
func (g *group[P]) see(p *P, round uint64) P {
	attributes := g.how.attributes(p)
	key := attributes.Equivalent()
	start, at := g.how.times(p)
	t, ok := g.tracks[key]
	switch {
	case !ok:
		t = &track[P]{since: start}
		if start.Before(g.began) { // somebody else has counted, and this process does not know what of that it has sent in an earlier life
			t.sent, t.since = p, at
		}
		g.tracks[key] = t
	case g.how.restarted(t.last, p):
		t.carry, t.sent = t.pending(g.how), nil
		if t.carry == nil && start.After(t.since) {
			t.since = start
		}
	}
	t.last, t.at, t.round = p, at, round
	return g.how.over(t.fresh(g.how), t.since, at)
}

// fresh is all that has not arrived.
func (t *track[P]) fresh(how arithmetic[P]) *P {
	p := t.last
	if t.sent != nil {
		difference := how.minus(p, t.sent)
		p = &difference
	}
	if t.carry != nil {
		sum := how.plus(t.carry, p)
		p = &sum
	}
	return p
}

// pending is the same, nil if it is nothing.
func (t *track[P]) pending(how arithmetic[P]) *P {
	if p := t.fresh(how); !how.empty(p) {
		return p
	}
	return nil
}

// remembered is for how many exports a series that is gone is known, so that one that comes back goes on where it was: a server that does not
// answer for a while goes on counting.
const remembered = 240

// owed is for how many exports what has not arrived of a series that is gone is kept, a day at the default interval: a collector that is away for
// longer must not make this program grow.
const owed = 5760

// gone implements series. Those of which everything has arrived are forgotten after a while.
func (g *group[P]) gone(round uint64) (data metricdata.Aggregation, some bool) {
	var out []P
	for key, t := range g.tracks {
		if t.round == round {
			continue
		}
		p := t.pending(g.how)
		if age := round - t.round; age > owed || p == nil && age > remembered {
			delete(g.tracks, key)
			continue
		}
		if p == nil {
			continue
		}
		out = append(out, g.how.over(p, t.since, t.at))
	}
	if len(out) > 0 {
		data = g.how.differences(out)
	}
	return data, len(g.tracks) > 0
}

// arrived implements series.
func (g *group[P]) arrived(data metricdata.Aggregation) {
	points := g.how.points(data)
	for i := range points {
		attributes := g.how.attributes(&points[i])
		if t := g.tracks[attributes.Equivalent()]; t != nil {
			t.sent, t.carry, t.since = t.last, nil, t.at
		}
	}
}
