package otlp

import (
	"encoding/hex"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// exemplarFilter says which exemplars are sent.
type exemplarFilter string

// The filters, as OTEL_METRICS_EXEMPLAR_FILTER calls them. Without one, those of the series are sent as they are, and those of instruments
// if they belong to a span that is sent.
const (
	exemplarsAsMade exemplarFilter = ""
	exemplarsAll    exemplarFilter = "always_on"
	exemplarsNone   exemplarFilter = "always_off"
	exemplarsTraced exemplarFilter = "trace_based"
)

// exemplarFilters is the closed list of what the variable may say.
var exemplarFilters = []exemplarFilter{exemplarsAll, exemplarsNone, exemplarsTraced}

// instruments is the filter of the SDK's own.
func (f exemplarFilter) instruments() exemplar.Filter {
	switch f {
	case exemplarsAll:
		return exemplar.AlwaysOnFilter
	case exemplarsNone:
		return exemplar.AlwaysOffFilter
	case exemplarsAsMade, exemplarsTraced:
	}
	return exemplar.TraceBasedFilter
}

// Labels of exemplars that are no attributes.
const (
	traceLabel = "trace_id"
	spanLabel  = "span_id"
)

// convert says the exemplars that pass the filter. Their ids of 16 and 8 bytes are in hexadecimal on /metrics; other labels are attributes.
func (f exemplarFilter) convert(exemplars ...*dto.Exemplar) []metricdata.Exemplar[float64] {
	if f == exemplarsNone || len(exemplars) == 0 {
		return nil
	}
	out := make([]metricdata.Exemplar[float64], 0, len(exemplars))
	for _, e := range exemplars {
		made := metricdata.Exemplar[float64]{Value: e.GetValue()}
		if e.Timestamp != nil {
			made.Time = e.Timestamp.AsTime()
		}
		for _, l := range e.Label {
			switch id, ok := idOf(l); {
			case ok && l.GetName() == traceLabel:
				made.TraceID = id
			case ok:
				made.SpanID = id
			default:
				made.FilteredAttributes = append(made.FilteredAttributes, attribute.String(valid(l.GetName()), valid(l.GetValue())))
			}
		}
		if f != exemplarsTraced || made.TraceID != nil {
			out = append(out, made)
		}
	}
	return out
}

// idOf reads the id of a trace or a span.
func idOf(l *dto.LabelPair) (id []byte, ok bool) {
	size := map[string]int{traceLabel: 16, spanLabel: 8}[l.GetName()]
	id, err := hex.DecodeString(l.GetValue())
	return id, err == nil && size > 0 && len(id) == size
}
