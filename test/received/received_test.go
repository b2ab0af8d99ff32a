package received

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// wrote is the folder of a collector that has got these metrics, each as JSON, one request each.
func wrote(t *testing.T, metrics ...string) string {
	t.Helper()
	folder := t.TempDir()
	var text strings.Builder
	for _, m := range metrics {
		fmt.Fprintf(&text, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[%s]}]}]}`+"\n", m)
	}
	if err := os.WriteFile(MetricsFile(folder), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func read(t *testing.T, until int64, metrics ...string) *State {
	t.Helper()
	s, err := Read(wrote(t, metrics...), time.Unix(0, until))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// counter is one as differences or not, over a time.
func counter(temporality int, start, at int64, value float64) string {
	return fmt.Sprintf(`{"name":"a.b","unit":"{request}","sum":{"aggregationTemporality":%d,"isMonotonic":true,"dataPoints":[
		{"attributes":[{"key":"x","value":{"stringValue":"y"}}],"startTimeUnixNano":"%d","timeUnixNano":"%d","asDouble":%v}]}}`,
		temporality, start, at, value)
}

// flat puts JSON on one line.
func flat(json string) string { return strings.Join(strings.Fields(json), " ") }

func TestDifferencesAreAddedUpAndValuesReplaced(t *testing.T) {
	t.Parallel()
	const delta, cumulative = 1, 2
	for name, test := range map[string]struct {
		metrics []string
		want    float64
		torn    int
	}{
		"differences":      {[]string{counter(delta, 1, 2, 5), counter(delta, 2, 3, 7)}, 12, 0},
		"with a hole":      {[]string{counter(delta, 1, 2, 5), counter(delta, 3, 4, 7)}, 12, 1},
		"told twice":       {[]string{counter(delta, 1, 2, 5), counter(delta, 1, 2, 5)}, 10, 1},
		"values":           {[]string{counter(cumulative, 1, 2, 5), counter(cumulative, 1, 3, 7)}, 7, 0},
		"later than asked": {[]string{counter(cumulative, 1, 2, 5), counter(cumulative, 1, 9, 7)}, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range test.metrics {
				test.metrics[i] = flat(test.metrics[i])
			}
			s := read(t, 8, test.metrics...)
			if got := s.Count("a_b_total", `x="y"`); got != test.want || len(s.Torn) != test.torn {
				t.Errorf("got %v, torn %v, want %v and %d", got, s.Torn, test.want, test.torn)
			}
		})
	}
}

func TestHistogramsOfTwoScalesAreAddedUpAtTheCoarser(t *testing.T) {
	t.Parallel()
	a := &Value{Kind: Exponential, Count: 3, Sum: 6, Scale: 1, Buckets: map[int32]uint64{-1: 1, 0: 1, 3: 1}}
	b := &Value{Kind: Exponential, Count: 1, Sum: 1, Scale: 0, Buckets: map[int32]uint64{0: 1}}
	for _, got := range []*Value{a.add(b), b.add(a)} {
		want := map[int32]uint64{-1: 1, 0: 2, 1: 1}
		if diff := cmp.Diff(want, got.Buckets); diff != "" || got.Scale != 0 || got.Count != 4 || got.Sum != 7 {
			t.Errorf("%+v, buckets (-want +got):\n%s", got, diff)
		}
	}
}

// page is a scrape with one series of each kind.
func page(requests, up float64, buckets ...uint64) scrape.Families {
	created := &timestamppb.Timestamp{Seconds: 1}
	h := &dto.Histogram{CreatedTimestamp: created, SampleSum: new(3.5)}
	below := uint64(0)
	for i, n := range buckets {
		below += n
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: new(float64(i + 1)), CumulativeCount: new(below)})
	}
	h.SampleCount = new(below)
	families := scrape.Families{}
	for name, m := range map[string]*dto.Metric{
		"c_total":   {Counter: &dto.Counter{Value: new(requests), CreatedTimestamp: created}},
		"g":         {Gauge: &dto.Gauge{Value: new(up)}},
		"h_seconds": {Histogram: h},
	} {
		families[name] = &dto.MetricFamily{Name: new(name), Metric: []*dto.Metric{m}}
	}
	return families
}

// said is a request with what page has, in the same form.
func said(start int64, requests, up float64, buckets, bounds string) []string {
	return []string{
		fmt.Sprintf(`{"name":"c","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
			{"startTimeUnixNano":"%d","timeUnixNano":"5000000000","asDouble":%v}]}}`, start, requests),
		fmt.Sprintf(`{"name":"g","gauge":{"dataPoints":[{"timeUnixNano":"5000000000","asDouble":%v}]}}`, up),
		fmt.Sprintf(`{"name":"h","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[
			{"startTimeUnixNano":"1000000000","timeUnixNano":"5000000000","count":"3","sum":3.5,"bucketCounts":[%s],"explicitBounds":[%s]}]}}`, buckets, bounds),
	}
}

func TestWhatDiffersIsFound(t *testing.T) {
	t.Parallel()
	const second = 1_000_000_000
	still, moved := page(7, 1, 1, 2), page(9, 0, 1, 2)
	another := strings.ReplaceAll(said(second, 7, 1, "", "")[1], `"g"`, `"z"`)
	for name, test := range map[string]struct {
		metrics []string
		after   scrape.Families
		wrong   []string // a part of each
		moves   int
	}{
		"nothing":                  {said(second, 7, 1, `"1","2","0"`, "1,2"), still, nil, 0},
		"nothing that moved":       {said(second, 8, .5, `"1","2","0"`, "1,2"), moved, nil, 2},
		"a counter":                {said(second, 8, 1, `"1","2","0"`, "1,2"), still, []string{"c_total{}: value is 8"}, 0},
		"a counter that is ahead":  {said(second, 10, 1, `"1","2","0"`, "1,2"), moved, []string{"c_total{}: value is 10"}, 2},
		"a gauge":                  {said(second, 7, 0, `"1","2","0"`, "1,2"), still, []string{"g{}: value is 0"}, 0},
		"a bucket":                 {said(second, 7, 1, `"2","1","0"`, "1,2"), still, []string{"bucket 1 is 2"}, 0},
		"a bound":                  {said(second, 7, 1, `"1","2","0"`, "1,3"), still, []string{"bounds are [1 3 +Inf]"}, 0},
		"a start":                  {said(2*second, 7, 1, `"1","2","0"`, "1,2"), still, []string{"c_total{}: starts at"}, 0},
		"a series that is missing": {said(second, 7, 1, `"1","2","0"`, "1,2")[1:], still, []string{"c_total{}: is shown and was not received"}, 0},
		"a series too many":        {append(said(second, 7, 1, `"1","2","0"`, "1,2"), another), still, []string{"z{} was received and is not shown"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range test.metrics {
				test.metrics[i] = flat(test.metrics[i])
			}
			never := func(string) bool { return false }
			c := read(t, 9*second, test.metrics...).Compare(still, test.after, Rules{LeftOut: never, Restless: never})
			if len(c.Wrong) != len(test.wrong) || len(c.Moved) != test.moves {
				t.Fatalf("wrong are %v, moved %v; want %d and %d", c.Wrong, c.Moved, len(test.wrong), test.moves)
			}
			for i, part := range test.wrong {
				if !strings.Contains(c.Wrong[i].Error(), part) {
					t.Errorf("got %v, want %q in it", c.Wrong[i], part)
				}
			}
		})
	}
}

func TestIDsAreReadFromHexadecimal(t *testing.T) {
	t.Parallel()
	const trace = "fcecb4072356ba262a769f47d2a05ee9"
	s := read(t, math.MaxInt64, `{"name":"a","gauge":{"dataPoints":[]}}`, flat(fmt.Sprintf(`{"name":"b","sum":{"isMonotonic":true,"aggregationTemporality":2,
		"dataPoints":[{"asDouble":1,"timeUnixNano":"5","exemplars":[{"asDouble":2,"timeUnixNano":"3","traceId":%q,"spanId":"635e6ca9b49da7a9"}]}]}}`, trace)))
	want := []Exemplar{{Value: 2, At: 3, Trace: trace, Span: "635e6ca9b49da7a9"}}
	if diff := cmp.Diff(want, s.Values[Series{"b_total", ""}].Exemplars); diff != "" {
		t.Errorf("exemplars (-want +got):\n%s", diff)
	}
}
