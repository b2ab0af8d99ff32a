package mapping

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// plan says what is done with each family of a page. It holds for all pages with the same families.
type plan struct {
	hash   uint64
	names  map[string]int // families by canonical name
	kinds  []Kind         // whose tables are used
	steps  []step
	passed []passed
	// See Result.
	found   []Kind
	foreign bool
	unfed   []int
	// unknown counts families that are of the servers by their name and in no table, mistyped those that have another type than in the table.
	unknown, mistyped int
}

// step is a chain with the families that the page has of it.
type step struct {
	server string
	links  []bound
}

// bound is a recipe and the family that it is applied to.
type bound struct {
	*recipe
	family int
}

// shapeOf tells the families of a page from those of another.
func shapeOf(page *exposition.Page) uint64 {
	h := fnv.New64a()
	var buffer []byte
	for i := range page.Families {
		f := &page.Families[i]
		buffer = append(append(buffer[:0], f.Name...), 0xff, byte(f.Kind))
		_, _ = h.Write(buffer)
	}
	return h.Sum64()
}

// planner makes a plan.
type planner struct {
	plan

	page *exposition.Page
	// used and mistyped are families that a table knows, by index: with the type that it expects, and with another.
	used, mistyped map[int]bool
	byRule         map[string]bool // series that rules of the configuration feed
}

func (m *Mapper) newPlan(page *exposition.Page, hash uint64) plan {
	names := m.index(page)
	p := planner{
		plan: plan{hash: hash, names: names, kinds: m.detect(m.options.Kind, names), passed: m.pass.plan(page)}, page: page,
		used: map[int]bool{}, mistyped: map[int]bool{}, byRule: map[string]bool{},
	}
	server := m.options.Kind
	if len(p.kinds) > 0 {
		server = p.kinds[0]
	} else if server == Auto {
		server = Generic
	}
	for i, rule := range m.rules {
		links := p.bind([]link{rule})
		if len(links) == 0 {
			p.unfed = append(p.unfed, i)
			continue
		}
		p.steps = append(p.steps, step{string(server), links})
		p.byRule[rule.series.Name] = true
	}
	for _, kind := range p.kinds {
		p.addServer(servers()[kind])
	}
	p.count()
	p.judge(m)
	return p.plan
}

// judge tells whether the page is what the configuration says that it is. One without families says nothing, as an idle engine may.
func (p *planner) judge(m *Mapper) {
	p.found = p.kinds
	if len(p.page.Families) == 0 {
		p.unfed = nil
		return
	}
	shown := slices.ContainsFunc(p.kinds, func(kind Kind) bool { return servers()[kind].shows(p.names) })
	nothing := !shown && len(p.steps) == 0 && len(p.mistyped) == 0
	switch m.options.Kind {
	case None, Generic, Ollama:
	case Auto:
		p.foreign = nothing && len(p.passed) == 0
	default:
		if nothing {
			p.foreign, p.found = true, m.detect(Auto, p.names)
		}
	}
}

// addServer plans the rows of a server. Those with a condition come last: it is about what the others have found.
func (p *planner) addServer(s *known) {
	found := map[string]bool{}
	for _, conditional := range []bool{false, true} {
		for i := range s.chains {
			c := &s.chains[i]
			if (c.unless != "") != conditional {
				continue
			}
			links := p.bind(c.links)
			if len(links) == 0 || p.byRule[c.series.Name] || found[c.unless] || p.byRule[c.unless] {
				continue
			}
			p.steps = append(p.steps, step{string(s.kind), links})
			found[c.series.Name] = true
		}
	}
}

// bind finds the families of links on the page.
func (p *planner) bind(links []link) []bound {
	var out []bound
	for _, l := range links {
		for _, key := range l.keys {
			at, ok := p.names[key]
			if !ok {
				continue
			}
			if l.accepts(p.page.Families[at].Kind) {
				p.used[at] = true
				out = append(out, bound{l.recipe, at})
			} else {
				p.mistyped[at] = true
			}
			break
		}
	}
	return out
}

// count counts the families that no table maps.
func (p *planner) count() {
	for at := range p.mistyped {
		if !p.used[at] {
			p.plan.mistyped++
		}
	}
	for name, at := range p.names {
		if p.used[at] || p.mistyped[at] || strings.HasSuffix(name, "_created") {
			continue
		}
		for _, kind := range p.kinds {
			if s := servers()[kind]; s.owns(name) && !s.knows(name) {
				p.unknown++
			}
		}
	}
}

// started is when the process began that shows the page, 0 = it does not tell, or several do.
func (p *plan) started(page *exposition.Page) float64 {
	at, ok := p.names["process_start_time_seconds"]
	if !ok || len(page.Families[at].Series) != 1 {
		return 0
	}
	if v := page.Families[at].Series[0].Value; finite(v) && v > 0 {
		return v
	}
	return 0
}
