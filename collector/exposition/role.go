package exposition

import (
	"slices"
	"strings"
)

// role is what the name of a sample makes of it.
type role struct {
	family string // that is shown
	said   string // that of which metadata speaks
	kind   kind
	part   part
}

// suffixes are what names of samples have behind the name of their family, and the families that have such samples. In OpenMetrics, the name of
// a counter goes without _total.
var suffixes = []struct {
	suffix string
	kinds  []kind
	part   part
	whole  bool // the family that is shown has the suffix, too
}{
	{"_total", []kind{counter}, value, true},
	{"_info", []kind{info}, value, true},
	{"_bucket", []kind{histogram, gaugeHistogram}, point, false},
	{"_sum", []kind{histogram, summary}, sum, false},
	{"_count", []kind{histogram, summary}, count, false},
	{"_gsum", []kind{gaugeHistogram}, sum, false},
	{"_gcount", []kind{gaugeHistogram}, count, false},
}

// roleOf tells what a sample is by its name. Where a family has the whole name itself, the sample is no part of another one.
func (m *metadata) roleOf(name string) role {
	if k := m.kindOf(name); k != undeclared {
		return wholeRole(name, k)
	}
	for i := range suffixes {
		s := &suffixes[i]
		base, ok := strings.CutSuffix(name, s.suffix)
		if !ok {
			continue
		}
		if k := m.kindOf(base); slices.Contains(s.kinds, k) {
			r := role{family: base, said: base, kind: k, part: s.part}
			if s.whole {
				r.family = name
			}
			return r
		}
	}
	if m.beginning(name).part == creation {
		return role{part: creation}
	}
	return role{family: name, said: name, kind: unknown, part: value}
}

// wholeRole is that of a sample with the name of a family.
func wholeRole(name string, k kind) role {
	r := role{family: name, said: name, kind: k, part: value}
	switch k {
	case summary:
		r.part = point
	case histogram, gaugeHistogram:
		r.part = misfit
	case undeclared, unknown, counter, gauge, info:
	}
	return r
}

// beginning tells whose creation a sample tells by its name, and that it does. In OpenMetrics it has no other meaning; Python's client makes it a
// family of gauges of its own for older servers of Prometheus.
func (m *metadata) beginning(name string) role {
	base, ok := strings.CutSuffix(name, "_created")
	if !ok {
		return role{}
	}
	switch k := m.kindOf(base); k {
	case histogram, summary:
		return role{family: base, said: base, kind: k, part: creation}
	case counter:
		return role{family: base + "_total", said: base, kind: k, part: creation}
	case undeclared, unknown, gauge, info, gaugeHistogram:
	}
	if total := base + "_total"; m.kindOf(total) == counter {
		return role{family: total, said: total, kind: counter, part: creation}
	}
	return role{}
}
