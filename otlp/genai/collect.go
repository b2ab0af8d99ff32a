package genai

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// collect reads the instruments of targets, and gives those of one name as one metric. What could be read is given with the error about the rest.
func collect(ctx context.Context, targets []*measured) ([]metricdata.Metrics, error) {
	var out []metricdata.Metrics
	errs := make([]error, 0, len(targets))
	places := map[string]int{} // in out, by name
	for _, t := range targets {
		var read metricdata.ResourceMetrics
		errs = append(errs, t.reader.Collect(ctx, &read))
		for _, scope := range read.ScopeMetrics {
			for _, m := range scope.Metrics {
				at, known := places[m.Name]
				if !known {
					places[m.Name] = len(out)
					out = append(out, m)
					continue
				}
				out[at].Data = joined(out[at].Data, m.Data)
			}
		}
	}
	return out, errors.Join(errs...)
}

// joined has the points of both, which are of one kind: the one of an instrument.
func joined(a, b metricdata.Aggregation) metricdata.Aggregation {
	switch a := a.(type) {
	case metricdata.Histogram[float64]:
		if b, ok := b.(metricdata.Histogram[float64]); ok {
			a.DataPoints = append(a.DataPoints, b.DataPoints...)
		}
		return a
	case metricdata.Sum[float64]:
		if b, ok := b.(metricdata.Sum[float64]); ok {
			a.DataPoints = append(a.DataPoints, b.DataPoints...)
		}
		return a
	}
	return a
}
