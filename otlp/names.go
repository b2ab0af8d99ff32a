package otlp

import (
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// prefix begins the names of all series of ours; those of others keep their names.
const prefix = "aiperf_"

// namespaces are the beginnings of names that have dots in the place of some of their underscores; the first one that fits is taken. What
// follows keeps its underscores. A receiver that makes Prometheus names of ours gives back the ones that a scrape shows, wherever dots are.
var namespaces = []string{
	"aiperf.server.kv_cache.", "aiperf.server.kv_transfer.", "aiperf.server.prefix_cache.", "aiperf.server.external_cache.",
	"aiperf.server.mm_cache.", "aiperf.server.spec_decode.", "aiperf.server.lora.", "aiperf.server.",
	"aiperf.gpu.memory.", "aiperf.gpu.pcie.", "aiperf.gpu.nvlink.", "aiperf.gpu.",
	"aiperf.exporter.config.", "aiperf.exporter.otlp.", "aiperf.exporter.",
	"aiperf.scrape.", "aiperf.selftest.", "aiperf.http.", "aiperf.sse.", "aiperf.phase.", "aiperf.slo.", "aiperf.load.", "aiperf.budget.",
	"aiperf.backoff.", "aiperf.target.", "aiperf.output_fingerprint.",
	"aiperf.",
}

// suffixed are the units that a receiver writes behind the name, by how the table calls them: their code, and the suffix that goes.
var suffixed = map[string]struct{ code, suffix string }{
	"seconds": {"s", "_seconds"},
	"bytes":   {"By", "_bytes"},
	"joules":  {"J", "_joules"},
	"watts":   {"W", "_watts"},
	"celsius": {"Cel", "_celsius"},
	"hertz":   {"Hz", "_hertz"},
	"ratio":   {"1", "_ratio"},
}

// naming is what a series is called over OTLP.
type naming struct {
	name, unit string
	// foreign: a server or a GPU counts it, and has done so since before anybody looked.
	foreign bool
}

// namer knows the names of all series of ours.
type namer map[string]naming

// newNamer makes the names of a table. Where two series would have the same one, they keep the unit in it; where that is still the same, counters
// keep their _total, too. Receivers write neither twice.
func newNamer(table []metrics.Series) namer {
	short, withUnit := map[string]int{}, map[string]int{}
	for i := range table {
		short[shortName(&table[i])]++
		withUnit[dotted(withoutTotal(table[i].Name, table[i].Kind))]++
	}
	out := make(namer, len(table))
	for i := range table {
		s := &table[i]
		name := shortName(s)
		if short[name] > 1 {
			name = dotted(withoutTotal(s.Name, s.Kind))
			if withUnit[name] > 1 {
				name = dotted(s.Name)
			}
		}
		out[s.Name] = naming{name: name, unit: unitCode(s), foreign: s.Scope == metrics.PerServer || s.Scope == metrics.PerGPU}
	}
	return out
}

// of names a family.
func (n namer) of(family string, counter bool) naming {
	switch known, ok := n[family]; {
	case ok:
		return known
	case !strings.HasPrefix(family, prefix):
		return naming{name: family, foreign: !ofRuntime(family)}
	case counter:
		return naming{name: dotted(withoutTotal(family, metrics.Counter))}
	}
	return naming{name: dotted(family)}
}

// ofRuntime tells whether a series is of client_golang, about this process. What else has no name of ours is passed through from a server.
func ofRuntime(family string) bool {
	return slices.ContainsFunc([]string{"go_", "process_", "promhttp_"}, func(prefix string) bool { return strings.HasPrefix(family, prefix) })
}

// shortName is a name without its unit.
func shortName(s *metrics.Series) string {
	name := withoutTotal(s.Name, s.Kind)
	if hasUnit(s) {
		name = strings.TrimSuffix(name, suffixed[s.Unit].suffix)
	}
	return dotted(name)
}

// hasUnit tells whether the unit stands at the end of the name, where a receiver will write it again. It writes "ratio" only behind gauges.
func hasUnit(s *metrics.Series) bool {
	u, ok := suffixed[s.Unit]
	return ok && strings.HasSuffix(withoutTotal(s.Name, s.Kind), u.suffix) && (s.Unit != "ratio" || s.Kind == metrics.Gauge)
}

// unitCode is the unit in UCUM. One in braces is a remark: receivers do not put it into names.
func unitCode(s *metrics.Series) string {
	if s.Unit == "" {
		return ""
	}
	if hasUnit(s) {
		return suffixed[s.Unit].code
	}
	counted, per, rate := strings.Cut(s.Unit, " per ")
	remark := singular(counted)
	if rate {
		remark += "/" + singular(per)
	}
	return "{" + strings.ReplaceAll(remark, " ", "_") + "}"
}

// singular says what one of the unit is.
func singular(unit string) string {
	switch unit {
	case "seconds", "second":
		return "s"
	case "bytes":
		return "By"
	case "series", "celsius", "hertz":
		return unit
	case "passes":
		return "pass"
	}
	return strings.TrimSuffix(unit, "s")
}

func withoutTotal(name string, kind metrics.Kind) string {
	if kind != metrics.Counter {
		return name
	}
	return strings.TrimSuffix(name, "_total")
}

func dotted(name string) string {
	for _, namespace := range namespaces {
		if rest, ok := strings.CutPrefix(name, strings.ReplaceAll(namespace, ".", "_")); ok && rest != "" {
			return namespace + rest
		}
	}
	return name
}
