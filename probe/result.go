package probe

import (
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Result is what came of a probe that sent a request, or tried.
type Result struct {
	// Debug: who asked wants the page, not the series.
	Debug bool

	*witness
	module               string
	url, model, endpoint string
	duration, timeout    time.Duration
}

// outcome is the value of the label result.
func (r *Result) outcome() string {
	switch r.record.Outcome {
	case metrics.Success:
		return resultSuccess
	case metrics.Cancelled:
		return resultCancelled
	case metrics.Failure:
	}
	return resultFailure
}

// Gather gives the series of AnswerTable. It implements prometheus.Gatherer, and never fails.
func (r *Result) Gather() ([]*dto.MetricFamily, error) {
	b := collector.NewBuilder(AnswerTable())
	for i := range answered {
		for _, c := range answered[i].of(r) {
			b.Add(answered[i].Name, c.value, c.labels...)
		}
	}
	return b.Families(), nil
}
