package config

import (
	"slices"
	"strconv"
	"strings"
)

// place is the way from the root of the configuration to a value. nil is the root. It is a chain, because most places are never
// printed.
type place struct {
	parent *place
	name   string
	index  int // of a list item, whose name is ""
}

func (p *place) key(name string) *place { return &place{parent: p, name: name} }

func (p *place) item(index int) *place { return &place{parent: p, index: index} }

// lastName is the last key on the way, without indexes.
func (p *place) lastName() string {
	for p.name == "" && p.parent != nil {
		p = p.parent
	}
	return p.name
}

// String gives the place as a user would write it: "targets[2].endpoint.type".
func (p *place) String() string {
	var chain []*place
	for ; p != nil; p = p.parent {
		chain = append(chain, p)
	}
	var b strings.Builder
	for _, step := range slices.Backward(chain) {
		switch {
		case step.name == "":
			b.WriteString("[" + strconv.Itoa(step.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + step.name)
		default:
			b.WriteString(step.name)
		}
	}
	return b.String()
}

// parentPath cuts the last step from a printed place, "" from a first one.
func parentPath(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// related tells whether a and b are the same place or one holds the other.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (len(a) == len(b) || a == "" || b[len(a)] == '.' || b[len(a)] == '[')
}
