package otlp

import (
	"math/bits"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// What parts of a request take in protobuf beside their texts and lists, in bytes and from above.
const (
	attributeBytes = 16
	numberBytes    = 40
	histogramBytes = 100
	exemplarBytes  = 72
	quantileBytes  = 24
	metricBytes    = 40
	scopeBytes     = 40
	fixedBytes     = 8
)

// sizesOf are the sizes of the points of a metric.
func sizesOf(data metricdata.Aggregation) []int {
	switch data := data.(type) {
	case metricdata.Gauge[float64]:
		return each(data.DataPoints, numberSize)
	case metricdata.Sum[float64]:
		return each(data.DataPoints, numberSize)
	case metricdata.Histogram[float64]:
		return each(data.DataPoints, explicitSize)
	case metricdata.ExponentialHistogram[float64]:
		return each(data.DataPoints, exponentialSize)
	case metricdata.Summary:
		return each(data.DataPoints, summarySize)
	}
	return nil
}

func each[P any](points []P, size func(*P) int) []int {
	out := make([]int, len(points))
	for i := range points {
		out[i] = size(&points[i])
	}
	return out
}

func numberSize(p *metricdata.DataPoint[float64]) int {
	return numberBytes + setSize(&p.Attributes) + exemplarsSize(p.Exemplars)
}

func explicitSize(p *histogramPoint) int {
	return histogramBytes + setSize(&p.Attributes) + fixedBytes*(len(p.Bounds)+len(p.BucketCounts)) + exemplarsSize(p.Exemplars)
}

func exponentialSize(p *exponentialPoint) int {
	return histogramBytes + setSize(&p.Attributes) + varints(p.PositiveBucket.Counts) + varints(p.NegativeBucket.Counts) + exemplarsSize(p.Exemplars)
}

func summarySize(p *metricdata.SummaryDataPoint) int {
	return histogramBytes + setSize(&p.Attributes) + quantileBytes*len(p.QuantileValues)
}

func exemplarsSize(exemplars []metricdata.Exemplar[float64]) int {
	n := 0
	for i := range exemplars {
		n += exemplarBytes
		for _, kv := range exemplars[i].FilteredAttributes {
			n += attributeSize(kv)
		}
	}
	return n
}

func setSize(set *attribute.Set) int {
	n := 0
	for i := set.Iter(); i.Next(); {
		n += attributeSize(i.Attribute())
	}
	return n
}

func attributeSize(kv attribute.KeyValue) int {
	if kv.Value.Type() == attribute.STRING {
		return attributeBytes + len(kv.Key) + len(kv.Value.AsString())
	}
	return attributeBytes + len(kv.Key) + len(kv.Value.String())
}

// varints is how many bytes counts take, each seven bits of a byte.
func varints(counts []uint64) int {
	n := 0
	for _, count := range counts {
		n += (bits.Len64(count|1) + 6) / 7
	}
	return n
}

// resourceSize is what each request says of who is speaking.
func resourceSize(r *resource.Resource) int {
	return metricBytes + len(r.SchemaURL()) + setSize(r.Set())
}
