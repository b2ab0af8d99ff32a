package otlp

import (
	"context"
	"errors"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// reason is why a request failed.
type reason string

const (
	reasonUnavailable  reason = "unavailable"  // no connection, or the collector is not ready
	reasonTimeout      reason = "timeout"      // no answer in time
	reasonUnauthorized reason = "unauthorized" // credentials are missing, wrong, or not enough
	reasonExhausted    reason = "exhausted"    // a quota, or the size that the collector takes
	reasonRefused      reason = "refused"      // the collector does not take such requests
	reasonServer       reason = "server"       // a fault of the collector
	reasonPartial      reason = "partial"      // the request was taken, but not all that was in it
	reasonInternal     reason = "internal"     // a fault of this program: the request could not be made
)

// reasons is the closed list.
var reasons = []string{
	string(reasonUnavailable), string(reasonTimeout), string(reasonUnauthorized), string(reasonExhausted), string(reasonRefused),
	string(reasonServer), string(reasonPartial), string(reasonInternal),
}

// reasonOf is the class of a status of gRPC. One that came before time was up tells more than that it was.
func reasonOf(err error) reason {
	code := status.Code(err)
	if code == codes.Unknown && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return reasonTimeout
	}
	switch code {
	case codes.Unavailable:
		return reasonUnavailable
	case codes.DeadlineExceeded, codes.Canceled:
		return reasonTimeout
	case codes.Unauthenticated, codes.PermissionDenied:
		return reasonUnauthorized
	case codes.ResourceExhausted:
		return reasonExhausted
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented:
		return reasonRefused
	case codes.OK, codes.Unknown, codes.Aborted, codes.Internal, codes.DataLoss:
	}
	return reasonServer
}

// The series of this room.
const (
	exportsSeries = "aiperf_exporter_otlp_exports_total"
	errorsSeries  = "aiperf_exporter_otlp_errors_total"
	successSeries = "aiperf_exporter_otlp_last_success_timestamp_seconds"
	pointsSeries  = "aiperf_exporter_otlp_data_points_total"
	spansSeries   = "aiperf_exporter_otlp_spans_total"
)

// Values of the label result.
const (
	success  = "success"
	failure  = "error"
	sent     = "sent"
	rejected = "rejected" // by the collector
	lost     = "lost"     // with a request that the collector did not take
	dropped  = "dropped"  // because too many waited
)

// Table lists the series of Families.
func Table() []metrics.Series {
	return []metrics.Series{
		{
			Name: exportsSeries, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "exports",
			Labels: []metrics.Label{{Name: "result", Values: []string{success, failure}}},
			Help:   "Exports of metrics over OTLP, one each interval, by how they ended; one that was tried again and then arrived is a success.",
		},
		{
			Name: errorsSeries, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "requests",
			Labels: []metrics.Label{{Name: "reason", Values: reasons}},
			Help:   "Attempts to send metrics or spans over OTLP that failed, by reason; partial are those of which the collector took a part.",
		},
		{
			Name: successSeries, Kind: metrics.Gauge, Scope: metrics.PerProcess, Unit: "seconds",
			Help: "Unix time at which metrics were last sent over OTLP; the start of the exporter until they were.",
		},
		{
			Name: pointsSeries, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "points",
			Labels: []metrics.Label{{Name: "result", Values: []string{sent, rejected}}},
			Help:   "Data points that arrived over OTLP, by whether the collector took them. What does not arrive is sent again with the next export.",
		},
		{
			Name: spansSeries, Kind: metrics.Counter, Scope: metrics.PerProcess, Unit: "spans",
			Labels: []metrics.Label{{Name: "result", Values: []string{sent, rejected, lost, dropped}}},
			Help:   "Spans of sampled requests: sent, rejected by the collector, lost with a request that it did not take, or dropped because too many waited for it. Absent without otlp.traces.",
		},
	}
}

// tally counts how exports went, whatever the configuration was. Safe for concurrent use.
type tally struct {
	mu          sync.Mutex
	traces      bool // there are spans, or have been
	exports     map[string]int64
	errors      map[reason]int64
	points      map[string]int64
	spans       map[string]int64
	lastSuccess time.Time
	last        Status // without what it does not know
}

func newTally() *tally {
	return &tally{exports: map[string]int64{}, errors: map[reason]int64{}, points: map[string]int64{}, spans: map[string]int64{}}
}

// begin notes that something is sent from now on.
func (t *tally) begin(traces bool, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.traces = t.traces || traces
	if t.lastSuccess.IsZero() {
		t.lastSuccess = at
	}
	t.last = Status{LastSuccess: t.last.LastSuccess}
}

// exported notes the end of an export.
func (t *tally) exported(at time.Time, took time.Duration, err error, text func(error) string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last.Took = took
	if err != nil {
		t.exports[failure]++
		t.last.State, t.last.Detail = string(reasonOf(err)), text(err)
		return
	}
	t.exports[success]++
	t.lastSuccess = at
	t.last.State, t.last.Detail, t.last.LastSuccess = collector.StateOK, "", at
}

func (t *tally) failed(why reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors[why]++
}

// pointsEnded notes what became of data points that arrived.
func (t *tally) pointsEnded(total, refused int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.points[sent] += total - refused
	t.last.Points = int(total - refused)
	t.points[rejected] += refused
}

// spansEnded notes what became of spans.
func (t *tally) spansEnded(result string, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans[result] += n
}

// families shows it.
func (t *tally) families() []*dto.MetricFamily {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := collector.NewBuilder(Table())
	for _, result := range []string{success, failure} {
		b.Add(exportsSeries, float64(t.exports[result]), result)
	}
	for _, why := range reasons {
		b.Add(errorsSeries, float64(t.errors[reason(why)]), why)
	}
	b.Add(successSeries, float64(t.lastSuccess.UnixMilli())/1e3)
	for _, result := range []string{sent, rejected} {
		b.Add(pointsSeries, float64(t.points[result]), result)
	}
	if t.traces {
		for _, result := range []string{sent, rejected, lost, dropped} {
			b.Add(spansSeries, float64(t.spans[result]), result)
		}
	}
	return b.Families()
}
