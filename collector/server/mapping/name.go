package mapping

import (
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// canonical is a family's name without what differs between the ways in which a server can show it: Ray puts ray_ before it and has no colons.
func canonical(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "ray_"), ":", "_")
}

// keys are the canonical names under which a family may stand. Whether a counter's name ends in _total depends on the library that wrote the
// page; of any other family it is a part of the name.
func keys(family string, counter bool) []string {
	name := canonical(family)
	if !counter {
		return []string{name}
	}
	if short, ok := strings.CutSuffix(name, "_total"); ok {
		return []string{name, short}
	}
	return []string{name, name + "_total"}
}

// frontend is the prefix of Dynamo that its environment can replace.
const frontend = "dynamo_frontend_"

// index finds families of a page by canonical name; of several with one name it has the first.
func (m *Mapper) index(page *exposition.Page) map[string]int {
	out := make(map[string]int, len(page.Families))
	for i := range page.Families {
		name := canonical(page.Families[i].Name)
		if m.prefix != "" {
			if rest, ok := strings.CutPrefix(name, m.prefix); ok {
				name = frontend + rest
			}
		}
		if _, ok := out[name]; !ok {
			out[name] = i
		}
	}
	return out
}

// detect tells which kinds of servers show families on a page: that which it is said to be, in any case, and those that may be in it.
func (m *Mapper) detect(said Kind, names map[string]int) []Kind {
	switch said {
	case Auto:
		var out []Kind
		for _, kind := range order {
			if servers()[kind].shows(names) {
				out = append(out, kind)
			}
		}
		return out
	case None, Generic, Ollama:
		return nil
	default:
		s := servers()[said]
		var out []Kind
		for _, kind := range order {
			if kind == s.kind || slices.Contains(s.also, kind) && servers()[kind].shows(names) {
				out = append(out, kind)
			}
		}
		return out
	}
}

// shows tells whether a page has families of the server.
func (s *known) shows(names map[string]int) bool {
	if len(s.prefixes) > 0 {
		for name := range names {
			if s.owns(name) {
				return true
			}
		}
		return false
	}
	for _, name := range s.families {
		if _, ok := names[name]; !ok {
			return false
		}
	}
	return len(s.families) > 0
}

// knows tells whether rows or Ignored name a family.
func (s *known) knows(name string) bool {
	return s.names[name] || slices.ContainsFunc(s.ignored, func(beginning string) bool { return strings.HasPrefix(name, beginning) })
}

// owns tells whether a family is one of the server's by its name.
func (s *known) owns(name string) bool {
	return slices.ContainsFunc(s.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
