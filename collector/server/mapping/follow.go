package mapping

import (
	"cmp"
	"math"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// identity is what a series of a page speaks about. Without a model or an engine it speaks of all of them.
type identity struct{ model, engine string }

func identify(s *exposition.Series) identity {
	id := identity{model: s.Label("model_name"), engine: s.Label("engine")}
	if id.model == "" {
		id.model = s.Label("model")
	}
	if id.engine == "" {
		id.engine = s.Label("dp_rank")
	}
	return id
}

// followAll maps the page.
func (m *Mapper) followAll(page *exposition.Page) {
	m.cells.begin()
	for i := range m.plan.steps {
		m.follow(&m.plan.steps[i], page)
	}
}

// follow maps the families of a step. A link is heard only about models and engines of which the ones before it told nothing.
func (m *Mapper) follow(s *step, page *exposition.Page) {
	var told []identity
	for i := range s.links {
		l := &s.links[i]
		before := len(told)
		series := page.Families[l.family].Series
		low := lowestRanks(l.recipe, series)
		for j := range series {
			if !l.matches(&series[j]) {
				continue
			}
			id := identify(&series[j])
			if overlaps(told[:before], id) || low != nil && !low[id].takes(l.recipe, &series[j], j) {
				continue
			}
			m.take(s.server, l.recipe, id, &series[j])
			if len(s.links) > 1 && !slices.Contains(told[before:], id) {
				told = append(told, id)
			}
		}
	}
}

// overlaps tells whether one of the identities is, or is a part of, or contains the other.
func overlaps(told []identity, id identity) bool {
	return slices.ContainsFunc(told, func(t identity) bool {
		return overlap(t.model, id.model) && overlap(t.engine, id.engine)
	})
}

func overlap(a, b string) bool { return a == b || a == "" || b == "" }

// lowest is the series with the lowest rank of a model and engine.
type lowest struct {
	rank float64
	at   int
}

// lowestRanks finds them, nil = all series are taken.
func lowestRanks(r *recipe, series []exposition.Series) map[identity]*lowest {
	if !r.latest && len(r.ranks) == 0 {
		return nil
	}
	out := map[identity]*lowest{}
	for i := range series {
		if !r.matches(&series[i]) {
			continue
		}
		id, rank := identify(&series[i]), r.rank(&series[i])
		if math.IsNaN(rank) {
			continue
		}
		if low, ok := out[id]; !ok || rank < low.rank {
			out[id] = &lowest{rank, i}
		}
	}
	return out
}

// takes tells whether a series has the lowest rank. The latest is one series, of equal ones the first.
func (l *lowest) takes(r *recipe, s *exposition.Series, at int) bool {
	return l != nil && (at == l.at || !r.latest && r.rank(s) == l.rank)
}

// take joins a series of the page to ours.
func (m *Mapper) take(server string, r *recipe, id identity, s *exposition.Series) {
	if id.model != "" && len(m.cells.models) < 2 && !slices.Contains(m.cells.models, id.model) {
		m.cells.models = append(m.cells.models, id.model)
	}
	if id.model == "" {
		id.model = cmp.Or(m.named, m.options.Model)
	}
	if r.each == "" {
		m.put(server, r, id, s, "")
		return
	}
	for _, item := range itemsOf(s.Label(r.each)) {
		m.put(server, r, id, s, item)
	}
}

func (m *Mapper) put(server string, r *recipe, id identity, s *exposition.Series, item string) {
	value, histogram := 0., r.series.Kind == metrics.Histogram
	if !histogram {
		var ok bool
		if value, ok = r.number(s); !ok {
			return
		}
	}
	c := m.cells.labelled(r, append(m.cells.labels[:0], m.options.Target, m.options.Instance, server, exposition.Clip(id.model), exposition.Clip(id.engine)), s, item)
	if c == nil {
		return
	}
	c.began(s.Created)
	if histogram {
		c.joinHistogram(s.Histogram, r.scale)
	} else {
		c.join(r.series.join, value)
	}
}
