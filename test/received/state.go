package received

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Series names a series as /metrics does: family, and labels in their order.
type Series struct{ Family, Labels string }

func (s Series) String() string { return s.Family + "{" + s.Labels + "}" }

// Metric is what is said of all series of a family.
type Metric struct{ Name, Unit, Help string }

// State is what is known of all series after some requests: the last value of those that are cumulative, the sum of all differences of the
// others.
type State struct {
	Values  map[Series]*Value
	Metrics map[string]Metric // by family
	// Torn are series of which some time is in no difference, or in two.
	Torn []error

	until int64
}

// Read gives the state after all requests in the folder of a collector, as far as they tell of a time that is not after until.
func Read(folder string, until time.Time) (*State, error) {
	s := &State{Values: map[Series]*Value{}, Metrics: map[string]Metric{}, until: until.UnixNano()}
	return s, Metrics(folder, func(request *metricspb.MetricsData) {
		for _, r := range request.GetResourceMetrics() {
			s.take(r)
		}
	})
}

func (s *State) take(r *metricspb.ResourceMetrics) {
	for _, scope := range r.GetScopeMetrics() {
		for _, m := range scope.GetMetrics() {
			family := familyOf(m)
			s.Metrics[family] = Metric{Name: m.GetName(), Unit: m.GetUnit(), Help: m.GetDescription()}
			s.takeMetric(family, m)
		}
	}
}

func (s *State) takeMetric(family string, m *metricspb.Metric) {
	switch data := m.GetData().(type) {
	case *metricspb.Metric_Gauge:
		for _, p := range data.Gauge.GetDataPoints() {
			s.put(family, &Value{Kind: Gauge, Number: p.GetAsDouble()}, p, false)
		}
	case *metricspb.Metric_Sum:
		for _, p := range data.Sum.GetDataPoints() {
			v := &Value{Kind: Counter, Number: p.GetAsDouble() + float64(p.GetAsInt()), Exemplars: received(p.GetExemplars())}
			s.put(family, v, p, isDelta(data.Sum))
		}
	case *metricspb.Metric_Histogram:
		for _, p := range data.Histogram.GetDataPoints() {
			v := explicit(p)
			v.Exemplars = received(p.GetExemplars())
			s.put(family, v, p, isDelta(data.Histogram))
		}
	case *metricspb.Metric_ExponentialHistogram:
		for _, p := range data.ExponentialHistogram.GetDataPoints() {
			v := exponential(p)
			v.Exemplars = received(p.GetExemplars())
			s.put(family, v, p, isDelta(data.ExponentialHistogram))
		}
	case *metricspb.Metric_Summary:
		for _, p := range data.Summary.GetDataPoints() {
			v := &Value{Kind: Summary, Count: p.GetCount(), Sum: p.GetSum(), Quantiles: map[float64]float64{}}
			for _, q := range p.GetQuantileValues() {
				v.Quantiles[q.GetQuantile()] = q.GetValue()
			}
			s.put(family, v, p, false)
		}
	}
}

func isDelta(data interface {
	GetAggregationTemporality() metricspb.AggregationTemporality
},
) bool {
	return data.GetAggregationTemporality() == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
}

// point is what points of all kinds have.
type point interface {
	GetAttributes() []*commonpb.KeyValue
	GetStartTimeUnixNano() uint64
	GetTimeUnixNano() uint64
}

func (s *State) put(family string, v *Value, p point, difference bool) {
	of := Series{family, labels(Attributes(p.GetAttributes()))}
	v.Start, v.At = int64(p.GetStartTimeUnixNano()), int64(p.GetTimeUnixNano())
	if v.At > s.until {
		return
	}
	v.Differences = difference
	if before := s.Values[of]; difference && before != nil {
		if v.Start != before.At {
			s.Torn = append(s.Torn, fmt.Errorf("%v: what was told until %d goes on from %d", of, before.At, v.Start))
		}
		v = before.add(v)
	}
	s.Values[of] = v
}

// Count adds up the values and counts of the series of a family in whose labels a text is.
func (s *State) Count(family, label string) (n float64) {
	for of, v := range s.Values {
		if of.Family == family && strings.Contains(of.Labels, label) {
			n += v.Number + float64(v.Count)
		}
	}
	return n
}

// Attributes are those of a point, a span or a resource, by name.
func Attributes(pairs []*commonpb.KeyValue) map[string]string {
	out := make(map[string]string, len(pairs))
	for _, kv := range pairs {
		switch v := kv.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			out[kv.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[kv.GetKey()] = fmt.Sprint(v.IntValue)
		case *commonpb.AnyValue_DoubleValue:
			out[kv.GetKey()] = fmt.Sprint(v.DoubleValue)
		case *commonpb.AnyValue_BoolValue:
			out[kv.GetKey()] = fmt.Sprint(v.BoolValue)
		default:
			out[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return out
}

// labels are written as on /metrics. A label without a value is one that is not there.
func labels(by map[string]string) string {
	pairs := make([]string, 0, len(by))
	for name, value := range by {
		if value != "" {
			pairs = append(pairs, fmt.Sprintf("%s=%q", name, value))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

func labelsOf(pairs []*dto.LabelPair) string {
	by := make(map[string]string, len(pairs))
	for _, l := range pairs {
		by[l.GetName()] = l.GetValue()
	}
	return labels(by)
}

// suffixes are what Prometheus writes for a unit behind a name that does not have it yet.
var suffixes = map[string]string{"s": "_seconds", "By": "_bytes", "J": "_joules", "W": "_watts", "Cel": "_celsius", "Hz": "_hertz"}

// familyOf is the name on /metrics: what Prometheus makes of the name, the unit and the type.
func familyOf(m *metricspb.Metric) string {
	name, unit := strings.ReplaceAll(m.GetName(), ".", "_"), suffixes[m.GetUnit()]
	total := m.GetSum().GetIsMonotonic()
	if total {
		name = strings.TrimSuffix(name, "_total")
	}
	if m.GetUnit() == "1" && m.GetGauge() != nil {
		unit = "_ratio"
	}
	if !strings.HasSuffix(name, unit) {
		name += unit
	}
	if total {
		name += "_total"
	}
	return name
}

// exemplars are those of a series on /metrics, in the order of their times.
func exemplars(all ...*dto.Exemplar) (out []Exemplar) {
	for _, e := range all {
		if e == nil {
			continue
		}
		by := map[string]string{}
		for _, l := range e.Label {
			by[l.GetName()] = l.GetValue()
		}
		made := Exemplar{Value: e.GetValue(), At: nanoseconds(e.Timestamp), Trace: by["trace_id"], Span: by["span_id"]}
		delete(by, "trace_id")
		delete(by, "span_id")
		made.Labels = labels(by)
		out = append(out, made)
	}
	slices.SortFunc(out, earlier)
	return out
}

func received(all []*metricspb.Exemplar) (out []Exemplar) {
	for _, e := range all {
		made := Exemplar{
			Value: e.GetAsDouble() + float64(e.GetAsInt()), At: int64(e.GetTimeUnixNano()), Labels: labels(Attributes(e.GetFilteredAttributes())),
		}
		made.Trace, made.Span = hexID(e.GetTraceId()), hexID(e.GetSpanId())
		out = append(out, made)
	}
	slices.SortFunc(out, earlier)
	return out
}

// hexID is an id of the wire in hexadecimal; what is none shows as it was read.
func hexID(read []byte) string {
	id, err := ID(read)
	if err != nil {
		return fmt.Sprintf("%q", read)
	}
	return hex.EncodeToString(id)
}

func earlier(a, b Exemplar) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Labels, b.Labels))
}

func nanoseconds(t *timestamppb.Timestamp) int64 {
	if t == nil {
		return 0
	}
	return t.AsTime().UnixNano()
}
