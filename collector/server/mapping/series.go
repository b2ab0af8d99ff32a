package mapping

import (
	"slices"
	"sync"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// join says how several series of a page become one, where they differ only by labels that are not kept.
type join uint8

const (
	add      join = iota
	greatest      // of what cannot be added: a share, a size, a state
	mean          // of shares of the past
	collect       // of a series that is labels: each gives those that it knows
)

// normalised is a series that pages are mapped to.
type normalised struct {
	metrics.Series
	join join
}

// Table lists every normalised series.
func Table() []metrics.Series {
	rows := allSeries()
	out := make([]metrics.Series, 0, len(rows))
	for i := range rows {
		out = append(out, rows[i].Series)
	}
	return out
}

// seriesByName finds the rows of the table.
//
//nolint:gochecknoglobals // never changes
var seriesByName = sync.OnceValue(func() map[string]*normalised {
	rows := allSeries()
	out := make(map[string]*normalised, len(rows))
	for i := range rows {
		out[rows[i].Name] = &rows[i]
	}
	return out
})

func allSeries() []normalised {
	return slices.Concat(requestSeries(), cacheSeries(), tokenSeries(), timeSeries(), engineSeries())
}

// all stands for requests of every reason together, other for a reason that is not in the list.
const (
	all   = "all"
	other = "other"
)

// Closed sets of values. A direction is empty where the server does not tell.
var (
	finishReasons = []string{"stop", "length", "abort", "error", "tool_calls", "repetition", other, all}
	blockStates   = []string{"total", "used", "free"}
	tokenStates   = []string{"available", "evictable", "used"}
	lookups       = []string{"hit", "miss"}
	directions    = []string{"load", "store"}
	adapterStates = []string{"running", "waiting"}
)

func gauge(name, unit, help string, j join, labels ...metrics.Label) normalised {
	return normalised{metrics.Series{Name: name, Kind: metrics.Gauge, Scope: metrics.PerServer, Unit: unit, Help: help, Labels: labels}, j}
}

func counter(name, unit, help string, labels ...metrics.Label) normalised {
	return normalised{metrics.Series{Name: name, Kind: metrics.Counter, Scope: metrics.PerServer, Unit: unit, Help: help, Labels: labels}, add}
}

func histogram(name, unit, help string) normalised {
	return normalised{metrics.Series{Name: name, Kind: metrics.Histogram, Scope: metrics.PerServer, Unit: unit, Help: help}, add}
}

// open is a label whose values are the server's own, closed one with a list of them.
func open(name string) metrics.Label { return metrics.Label{Name: name} }

func closed(name string, values []string) metrics.Label {
	return metrics.Label{Name: name, Values: values}
}
