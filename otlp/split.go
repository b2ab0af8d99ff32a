package otlp

import (
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// split cuts what is to be sent into requests that are no larger than limit bytes, before compression, of which fixed are needed for what each
// has. A single point that is larger is a request of its own. Sizes are estimates from above.
func split(scopes []metricdata.ScopeMetrics, fixed, limit int) [][]metricdata.ScopeMetrics {
	s := splitter{room: limit - fixed}
	for i := range scopes {
		for j := range scopes[i].Metrics {
			s.add(&scopes[i].Scope, &scopes[i].Metrics[j])
		}
	}
	return s.requests
}

// splitter fills one request after the other.
type splitter struct {
	room     int // in each request
	used     int // of the last one
	requests [][]metricdata.ScopeMetrics
}

// add puts the points of a metric into as many requests as they need.
func (s *splitter) add(scope *instrumentation.Scope, m *metricdata.Metrics) {
	sizes := sizesOf(m.Data)
	own := metricBytes + len(m.Name) + len(m.Description) + len(m.Unit) + scopeBytes + len(scope.Name) + len(scope.Version) + len(scope.SchemaURL)
	for from := 0; from < len(sizes); {
		if len(s.requests) == 0 || s.used > 0 && s.used+own+sizes[from] > s.room {
			s.requests, s.used = append(s.requests, nil), 0
		}
		s.used += own + sizes[from]
		to := from + 1
		for to < len(sizes) && s.used+sizes[to] <= s.room {
			s.used += sizes[to]
			to++
		}
		s.put(scope, metricdata.Metrics{Name: m.Name, Description: m.Description, Unit: m.Unit, Data: cut(m.Data, from, to)})
		from = to
	}
}

func (s *splitter) put(scope *instrumentation.Scope, m metricdata.Metrics) {
	request := &s.requests[len(s.requests)-1]
	if n := len(*request); n == 0 || (*request)[n-1].Scope != *scope {
		*request = append(*request, metricdata.ScopeMetrics{Scope: *scope})
	}
	in := &(*request)[len(*request)-1]
	in.Metrics = append(in.Metrics, m)
}

// cut is a metric with a part of its points.
func cut(data metricdata.Aggregation, from, to int) metricdata.Aggregation {
	switch data := data.(type) {
	case metricdata.Gauge[float64]:
		data.DataPoints = data.DataPoints[from:to:to]
		return data
	case metricdata.Sum[float64]:
		data.DataPoints = data.DataPoints[from:to:to]
		return data
	case metricdata.Histogram[float64]:
		data.DataPoints = data.DataPoints[from:to:to]
		return data
	case metricdata.ExponentialHistogram[float64]:
		data.DataPoints = data.DataPoints[from:to:to]
		return data
	case metricdata.Summary:
		data.DataPoints = data.DataPoints[from:to:to]
		return data
	}
	return data
}
