package otlp

import (
	"math"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// HistogramForm is a form of histograms.
type HistogramForm string

// The forms.
const (
	Exponential HistogramForm = "exponential" // native ones, eight buckets for each power of two
	Explicit    HistogramForm = "explicit"    // classic ones, with the limits of SLOs
)

// Valid tells whether it is one of them.
func (f HistogramForm) Valid() bool { return f == Exponential || f == Explicit }

// histograms says histograms in the form that is wanted if all of them have it, else in the other if all have that, else each as it can be.
func (p *producer) histograms(metrics []*dto.Metric, w when) []metricdata.Aggregation {
	form := formOf(metrics, p.form)
	explicit := make([]metricdata.HistogramDataPoint[float64], 0, len(metrics))
	var exponential []metricdata.ExponentialHistogramDataPoint[float64]
	for _, m := range metrics {
		classic, native := isClassic(m.Histogram), isNative(m.Histogram)
		switch {
		case native && (form == Exponential || !classic):
			exponential = append(exponential, p.exponential(m, w))
		case classic:
			explicit = append(explicit, p.explicit(m, w))
		}
	}
	var out []metricdata.Aggregation
	if len(explicit) > 0 {
		out = append(out, metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: explicit})
	}
	if len(exponential) > 0 {
		out = append(out, metricdata.ExponentialHistogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: exponential})
	}
	return out
}

// formOf is the form of a family: the wanted one unless only the other one is common to all.
func formOf(metrics []*dto.Metric, wanted HistogramForm) HistogramForm {
	classic, native := 0, 0
	for _, m := range metrics {
		if isClassic(m.Histogram) {
			classic++
		}
		if isNative(m.Histogram) {
			native++
		}
	}
	switch {
	case wanted == Exponential && native < len(metrics) && classic == len(metrics):
		return Explicit
	case wanted == Explicit && classic < len(metrics) && native == len(metrics):
		return Exponential
	}
	return wanted
}

// isClassic tells whether there are buckets with bounds; that of +Inf alone only carries an exemplar, or says that there is nothing else.
func isClassic(h *dto.Histogram) bool {
	if !integral(h) {
		return false
	}
	for _, b := range h.GetBucket() {
		if !math.IsInf(b.GetUpperBound(), 1) {
			return true
		}
	}
	return h.Schema == nil
}

// isNative tells whether there are buckets that OpenTelemetry can say: at resolutions that both know.
func isNative(h *dto.Histogram) bool {
	return integral(h) && h.GetSchema() >= minSchema && h.GetSchema() <= maxSchema && h.Schema != nil
}

// integral tells whether the counts are numbers of observations; OpenTelemetry has no other ones.
func integral(h *dto.Histogram) bool {
	return h != nil && h.SampleCountFloat == nil && h.ZeroCountFloat == nil
}

// explicit says a classic histogram: OpenTelemetry does not add up the counts of buckets, and has no bound +Inf.
func (p *producer) explicit(m *dto.Metric, w when) metricdata.HistogramDataPoint[float64] {
	h := m.Histogram
	out := metricdata.HistogramDataPoint[float64]{
		Attributes: attributesOf(m.Label), Count: h.GetSampleCount(), Sum: h.GetSampleSum(),
		Bounds: make([]float64, 0, len(h.Bucket)), BucketCounts: make([]uint64, 0, len(h.Bucket)+1),
	}
	out.StartTime, out.Time = w.times(h.CreatedTimestamp)
	below := uint64(0)
	for _, b := range h.Bucket {
		if e := b.Exemplar; e != nil {
			out.Exemplars = append(out.Exemplars, p.exemplars.convert(e)...)
		}
		if math.IsInf(b.GetUpperBound(), 1) {
			continue
		}
		count := min(max(b.GetCumulativeCount(), below), out.Count)
		out.Bounds, out.BucketCounts = append(out.Bounds, b.GetUpperBound()), append(out.BucketCounts, count-below)
		below = count
	}
	out.BucketCounts = append(out.BucketCounts, out.Count-below)
	return out
}
