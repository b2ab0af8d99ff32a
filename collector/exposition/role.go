package exposition

import "strings"

// role is what the name of a sample makes of it.
type role struct {
	family string // "" = the name of the sample
	kind   kind
	part   part
	said   *declaration
}

// suffixes are what names of samples have behind the name of their family, and the families that have such samples. In OpenMetrics, the name of
// a counter goes without _total; where both may be meant, the family that has the whole name itself wins.
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

// roleOf tells what a sample is by its name.
func (m *metadata) roleOf(name string) role {
	if k, said := m.kindOf(name); k != undeclared {
		return wholeRole(k, said)
	}
	for i := range suffixes {
		s := &suffixes[i]
		base, ok := strings.CutSuffix(name, s.suffix)
		if !ok {
			continue
		}
		for _, want := range s.kinds {
			if k, said := m.kindOf(base); k == want {
				r := role{kind: k, part: s.part, said: said}
				if !s.whole {
					r.family = base
				}
				return r
			}
		}
	}
	_, said := m.kindOf(name)
	if m.beginning(name).part == creation {
		return role{part: creation}
	}
	return role{kind: unknown, part: value, said: said}
}

// beginning tells whose creation a sample tells by its name, and that it does. In OpenMetrics it has no other meaning; Python's client makes it a
// family of gauges of its own for older servers of Prometheus.
func (m *metadata) beginning(name string) role {
	base, ok := strings.CutSuffix(name, "_created")
	if !ok {
		return role{}
	}
	k, said := m.kindOf(base)
	switch k {
	case histogram, summary:
		return role{family: base, kind: k, part: creation, said: said}
	case counter:
		return role{family: base + "_total", kind: k, part: creation, said: said}
	case undeclared, unknown, gauge, info, gaugeHistogram:
	}
	if k, said := m.kindOf(base + "_total"); k == counter {
		return role{family: base + "_total", kind: k, part: creation, said: said}
	}
	return role{}
}

// wholeRole is that of a sample with the name of a family.
func wholeRole(k kind, said *declaration) role {
	r := role{kind: k, part: value, said: said}
	switch k {
	case summary:
		r.part = point
	case histogram, gaugeHistogram:
		r.part = misfit
	case undeclared, unknown, counter, gauge, info:
	}
	return r
}
