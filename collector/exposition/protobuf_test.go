package exposition_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// delimited is the protobuf form of families.
func delimited(tb testing.TB, families ...*dto.MetricFamily) []byte {
	tb.Helper()
	var out bytes.Buffer
	for _, f := range families {
		if _, err := protodelim.MarshalTo(&out, f); err != nil {
			tb.Fatal(err)
		}
	}
	return out.Bytes()
}

func family(name string, metrics ...*dto.Metric) *dto.MetricFamily {
	kind := dto.MetricType_UNTYPED
	switch m := metrics[0]; {
	case m.Counter != nil:
		kind = dto.MetricType_COUNTER
	case m.Gauge != nil:
		kind = dto.MetricType_GAUGE
	case m.Histogram != nil:
		kind = dto.MetricType_HISTOGRAM
	case m.Summary != nil:
		kind = dto.MetricType_SUMMARY
	}
	return &dto.MetricFamily{Name: new(name), Help: new(`The help \n of it.`), Type: &kind, Metric: metrics}
}

func labelled(m *dto.Metric, pairs ...string) *dto.Metric {
	for i := 0; i < len(pairs); i += 2 {
		m.Label = append(m.Label, &dto.LabelPair{Name: new(pairs[i]), Value: new(pairs[i+1])})
	}
	return m
}

func counterOf(v float64) *dto.Metric { return &dto.Metric{Counter: &dto.Counter{Value: &v}} }
func gaugeOf(v float64) *dto.Metric   { return &dto.Metric{Gauge: &dto.Gauge{Value: &v}} }

func histogramOf(h *dto.Histogram) *dto.Metric { return &dto.Metric{Histogram: h} }

func bucket(bound float64, n uint64) *dto.Bucket {
	return &dto.Bucket{UpperBound: &bound, CumulativeCount: &n}
}

// nativeOf is a native histogram of five observations: one of zero, three above it and one below.
func nativeOf() *dto.Histogram {
	return &dto.Histogram{
		SampleCount: new(uint64(5)), SampleSum: new(6.5), Schema: new(int32(3)), ZeroThreshold: new(1e-6), ZeroCount: new(uint64(1)),
		PositiveSpan:  []*dto.BucketSpan{{Offset: new(int32(-2)), Length: new(uint32(1))}, {Offset: new(int32(4)), Length: new(uint32(1))}},
		PositiveDelta: []int64{2, -1}, NegativeSpan: []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(1))}}, NegativeDelta: []int64{1},
	}
}

const shownNative = "{Schema:3 ZeroThreshold:1e-06 ZeroCount:1 PositiveSpans:[{Offset:-2 Length:1} {Offset:4 Length:1}] NegativeSpans:[{Offset:0 Length:1}] " +
	"PositiveDeltas:[2 -1] NegativeDeltas:[1]}"

func changed[T any](v *T, change func(*T)) *T {
	change(v)
	return v
}

func TestProtobuf(t *testing.T) {
	t.Parallel()
	const help = ` The help \n of it.`
	for _, tc := range []struct {
		name     string
		families []*dto.MetricFamily
		want     []string
	}{
		{"values of each kind, labels in any order", []*dto.MetricFamily{
			family("x_total", labelled(&dto.Metric{Counter: &dto.Counter{Value: new(3.0), CreatedTimestamp: &timestamppb.Timestamp{Seconds: 1600000000, Nanos: 5e8}}}, "b", "2", "a", "1", "c", "")),
			family("g", gaugeOf(math.Inf(-1))), family("u", &dto.Metric{Untyped: &dto.Untyped{Value: new(1.0)}, TimestampMs: new(int64(5))}),
		}, []string{"x_total counter" + help, `  a="1" b="2" 3 since 1600000000.500`, "g gauge" + help, "  -Inf", "u untyped" + help, "  1", "samples 3 duplicates 0 dropped 0"}},
		{"a summary", []*dto.MetricFamily{family("s", &dto.Metric{Summary: &dto.Summary{
			SampleCount: new(uint64(2)), SampleSum: new(4.5), CreatedTimestamp: &timestamppb.Timestamp{Seconds: 1600000000},
			Quantile: []*dto.Quantile{{Quantile: new(0.9), Value: new(3.0)}, {Quantile: new(0.5), Value: new(math.NaN())}},
		}})}, []string{"s summary" + help, "  count=2 sum=4.5 0.5:NaN 0.9:3 since 1600000000.000", "samples 3 duplicates 0 dropped 0"}},
		{"a classic histogram, which comes without +Inf", []*dto.MetricFamily{family("h", histogramOf(&dto.Histogram{
			SampleCount: new(uint64(3)), SampleSum: new(4.5), Bucket: []*dto.Bucket{bucket(1, 1), bucket(2, 2)}, CreatedTimestamp: &timestamppb.Timestamp{Seconds: 1600000000},
		}))}, []string{"h histogram" + help, "  count=3 sum=4.5 1:1 2:2 +Inf:3 since 1600000000.000", "samples 3 duplicates 0 dropped 0"}},
		{"a histogram without anything is one of nothing, as zeros are not written", []*dto.MetricFamily{family("h", histogramOf(&dto.Histogram{}))}, []string{
			"h histogram" + help, "  count=0 sum=0 +Inf:0", "samples 1 duplicates 0 dropped 0",
		}},
		{"a classic histogram of floats", []*dto.MetricFamily{family("h", histogramOf(&dto.Histogram{
			SampleCountFloat: new(2.5), SampleSum: new(4.5), Bucket: []*dto.Bucket{{UpperBound: new(1.0), CumulativeCountFloat: new(0.5)}},
		}))}, []string{"h histogram" + help, "  count=2.5 sum=4.5 1:0.5 +Inf:2.5", "samples 2 duplicates 0 dropped 0"}},
		{"a native histogram, alone and with classic buckets", []*dto.MetricFamily{family("h", histogramOf(nativeOf()), labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) {
			h.Bucket = []*dto.Bucket{bucket(1, 1)}
		})), "a", "1"))}, []string{"h histogram" + help, "  count=5 sum=6.5 native=" + shownNative, `  a="1" count=5 sum=6.5 1:1 +Inf:5 native=` + shownNative, "samples 3 duplicates 0 dropped 0"}},
		{"a native histogram that observed NaN, which is in no bucket", []*dto.MetricFamily{family("h", histogramOf(changed(nativeOf(), func(h *dto.Histogram) {
			h.SampleSum, h.SampleCount = new(math.NaN()), new(uint64(7))
		})))}, []string{"h histogram" + help, "  count=7 sum=NaN native=" + shownNative, "samples 1 duplicates 0 dropped 0"}},
		{"native histograms that Prometheus would refuse", []*dto.MetricFamily{family("h",
			labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) { h.SampleCount = new(uint64(6)) })), "a", "1"),
			labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) { h.PositiveDelta[1] = -3 })), "a", "2"),
			labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) { h.PositiveSpan[1].Length = new(uint32(2)) })), "a", "3"),
			labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) { h.PositiveSpan[1].Offset = new(int32(-1)) })), "a", "4"),
			labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) { h.Schema = new(int32(9)) })), "a", "5"),
			labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) { h.ZeroThreshold = new(math.NaN()) })), "a", "6"),
			labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) {
				h.Schema, h.Bucket = new(int32(-53)), []*dto.Bucket{bucket(1, 1)}
			})), "a", "7"),
			labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) { h.PositiveSpan[0].Offset = new(int32(math.MaxInt32)) })), "a", "8"),
			labelled(histogramOf(changed(nativeOf(), func(h *dto.Histogram) { h.PositiveSpan[0].Offset = new(int32(math.MinInt32)) })), "a", "9"),
		)}, []string{"h histogram" + help, `  a="7" count=5 sum=6.5 1:1 +Inf:5`, "samples 10 duplicates 0 dropped 8"}},
		{"a native histogram with classic buckets of other observations, which alone are shown", []*dto.MetricFamily{family("h", histogramOf(changed(nativeOf(), func(h *dto.Histogram) {
			h.Bucket = []*dto.Bucket{bucket(1, 1), bucket(math.Inf(1), 4)}
		})))}, []string{"h histogram" + help, "  count=5 sum=6.5 1:1 +Inf:4", "samples 3 duplicates 0 dropped 0"}},
		{"a histogram with the label of buckets, and a summary with that of quantiles", []*dto.MetricFamily{
			family("h", labelled(histogramOf(nativeOf()), "le", "1")), family("s", labelled(&dto.Metric{Summary: &dto.Summary{}}, "quantile", "1")),
			family("g", labelled(gaugeOf(1), "le", "1")),
		}, []string{"g gauge" + help, `  le="1" 1`, "samples 3 duplicates 0 dropped 2"}},
		{"native histograms of floats are not read, their classic buckets are", []*dto.MetricFamily{family("h",
			histogramOf(&dto.Histogram{SampleCountFloat: new(2.5), SampleSum: new(4.5), PositiveCount: []float64{2.5}, PositiveSpan: []*dto.BucketSpan{{Length: new(uint32(1))}}}),
			labelled(histogramOf(&dto.Histogram{SampleCountFloat: new(2.5), SampleSum: new(4.5), ZeroCountFloat: new(2.5), Bucket: []*dto.Bucket{bucket(1, 1)}}), "a", "1"),
		)}, []string{"h histogram" + help, `  a="1" count=2.5 sum=4.5 1:1 +Inf:2.5`, "samples 3 duplicates 0 dropped 1"}},
		{"histograms whose buckets fall, come twice or have no bound", []*dto.MetricFamily{family("h",
			labelled(histogramOf(&dto.Histogram{SampleCount: new(uint64(3)), Bucket: []*dto.Bucket{bucket(1, 2), bucket(2, 1)}}), "a", "1"),
			labelled(histogramOf(&dto.Histogram{SampleCount: new(uint64(3)), Bucket: []*dto.Bucket{bucket(1, 2), bucket(1, 3)}}), "a", "2"),
			labelled(histogramOf(&dto.Histogram{SampleCount: new(uint64(3)), Bucket: []*dto.Bucket{bucket(math.NaN(), 2)}}), "a", "3"),
		)}, []string{"samples 8 duplicates 0 dropped 3"}},
		{"the same series twice, in two blocks of one family", []*dto.MetricFamily{
			family("g", labelled(gaugeOf(1), "a", "1", "b", "2")), family("x", counterOf(1)), family("g", labelled(gaugeOf(2), "b", "2", "a", "1"), gaugeOf(3)),
			family("h", histogramOf(nativeOf()), histogramOf(&dto.Histogram{SampleCount: new(uint64(1)), SampleSum: new(1.0)})),
		}, []string{"g gauge" + help, `  a="1" b="2" 2`, "  3", "x counter" + help, "  1", "h histogram" + help, "  count=1 sum=1 +Inf:1", "samples 6 duplicates 2 dropped 0"}},
		{"a family with another type when it comes again", []*dto.MetricFamily{family("g", gaugeOf(1)), family("g", counterOf(2))}, []string{
			"g gauge" + help, "  1", "samples 2 duplicates 0 dropped 1",
		}},
		{"histograms of gauges, types to come and metrics without a value", []*dto.MetricFamily{
			{Name: new("gh"), Type: dto.MetricType_GAUGE_HISTOGRAM.Enum(), Metric: []*dto.Metric{histogramOf(&dto.Histogram{})}},
			{Name: new("new"), Type: new(dto.MetricType(9)), Metric: []*dto.Metric{gaugeOf(1)}},
			{Name: new("empty"), Type: dto.MetricType_GAUGE.Enum(), Metric: []*dto.Metric{{}}},
		}, []string{"samples 3 duplicates 0 dropped 3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := exposition.NewParser(100)
			for range 2 {
				if diff := cmp.Diff(tc.want, lines(parse(t, p, string(delimited(t, tc.families...)), protobuf))); diff != "" {
					t.Fatalf("page (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestWhatGoProgramsSayInProtobufIsWhatTheySayInText(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "c_total", Help: "C."}, []string{"a", "b"})
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "g", Help: "G, ü."})
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "h_seconds", Help: "H."}, []string{"path"})
	s := prometheus.NewSummary(prometheus.SummaryOpts{Name: "s", Help: "S.", Objectives: map[float64]float64{0.5: 0.05, 0.9: 0.01}})
	registry.MustRegister(c, g, h, s)
	c.WithLabelValues("1", `quo"te`).Add(5)
	c.WithLabelValues("2", "").Add(7.5)
	g.Set(-3)
	for i := range 100 {
		h.WithLabelValues(fmt.Sprintf("/%d", i%3)).Observe(float64(i) / 20)
		s.Observe(float64(i))
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var bodies [2]bytes.Buffer
	for i, format := range []expfmt.Format{expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeProtoDelim)} {
		e := expfmt.NewEncoder(&bodies[i], format)
		for _, f := range families {
			if err := e.Encode(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := lines(parse(t, exposition.NewParser(1000), bodies[0].String(), "text/plain"))
	got := lines(parse(t, exposition.NewParser(1000), bodies[1].String(), protobuf))
	for _, page := range []*[]string{&want, &got} {
		*page = (*page)[:len(*page)-1] // samples are counted in another way
	}
	for i, line := range got { // plain text does not tell when it began
		got[i], _, _ = strings.Cut(line, " since ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("protobuf (-text +protobuf):\n%s", diff)
	}
}

func TestACutPageOfProtobuf(t *testing.T) {
	t.Parallel()
	families := []*dto.MetricFamily{
		family("x_total", labelled(counterOf(3), "a", "1")), family("h", histogramOf(changed(nativeOf(), func(h *dto.Histogram) { h.Bucket = []*dto.Bucket{bucket(1, 1)} }))),
		family("s", &dto.Metric{Summary: &dto.Summary{SampleCount: new(uint64(1)), Quantile: []*dto.Quantile{{Quantile: new(0.5), Value: new(1.0)}}}}),
	}
	ends := map[int]int{}
	for i := range families {
		ends[len(delimited(t, families[:i+1]...))] = i + 1
	}
	body := delimited(t, families...)
	for i := 1; i <= len(body); i++ {
		page, err := exposition.NewParser(100).Parse(body[:i], protobuf)
		n, isWhole := ends[i]
		if (err == nil) != isWhole {
			t.Errorf("error %v for the first %d bytes", err, i)
		}
		if err == nil && len(page.Families) != n {
			t.Errorf("%d families in the first %d bytes, want %d", len(page.Families), i, n)
		}
	}
}

func TestProtobufThatIsNotRead(t *testing.T) {
	t.Parallel()
	name, many := message(1, []byte("x")), make([]*dto.MetricFamily, 101)
	for i := range many {
		many[i] = &dto.MetricFamily{Name: new(fmt.Sprint("x", i)), Help: new("What.")}
	}
	inner := func(fields ...[]byte) []byte { return protowire.AppendBytes(nil, slices.Concat(fields...)) }
	cut := func(message []byte) []byte { return message[:len(message)-1] }
	for _, tc := range []struct {
		name string
		body []byte
		says string
	}{
		{"a family without a name", delimited(t, &dto.MetricFamily{Help: new("What.")}), "family 1: no valid name"},
		{"a name that is no UTF-8", inner(message(1, []byte("\xff"))), "family 1: no valid name"},
		{"half a family", cut(inner(name)), "family 1: unexpected EOF"},
		{"half a name", inner(cut(name)), "family 1: unexpected EOF"},
		{"a field without a number", inner(name, []byte{0}), "invalid field number"},
		{"half a metric", inner(name, cut(message(4, message(3, nil)))), "family 1: unexpected EOF"},
		{"half a label", inner(name, message(4, message(1, cut(message(1, []byte("a")))))), "family 1: x: unexpected EOF"},
		{"half a value", inner(name, message(4, message(3, cut(protowire.AppendFixed64([]byte{1<<3 | 1}, 1))))), "family 1: x: unexpected EOF"},
		{"half a varint among deltas", inner(name, []byte{3 << 3, 4}, message(4, message(7, message(13, []byte{0xff})))), "family 1: x: unexpected EOF"},
		{"half a span", inner(name, []byte{3 << 3, 4}, message(4, message(7, message(12, []byte{1 << 3})))), "family 1: x: unexpected EOF"},
		{"half a bucket", inner(name, []byte{3 << 3, 4}, message(4, message(7, message(3, []byte{1 << 3})))), "family 1: x: unexpected EOF"},
		{"half a quantile", inner(name, []byte{3 << 3, 2}, message(4, message(4, message(3, []byte{1 << 3})))), "family 1: x: unexpected EOF"},
		{"a label without a name", delimited(t, family("x", labelled(gaugeOf(1), "", "1"))), "family 1: x: label is not"},
		{"a label twice", delimited(t, family("y", gaugeOf(1)), family("x", labelled(gaugeOf(1), "a", "1", "b", "1", "a", "2"))), `family 2: x: label "a" stands there twice`},
		{"more families than samples are read", delimited(t, many...), "family 101: more than 100 families"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			page, err := exposition.NewParser(100).Parse(tc.body, protobuf)
			if err == nil || page != nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got the page %v and the error %v, want %q in it", page, err, tc.says)
			}
		})
	}
}

func TestDeltasMayBePacked(t *testing.T) {
	t.Parallel()
	span := message(12, []byte{2 << 3, 2}) // of two buckets
	deltas := message(13, protowire.AppendVarint(protowire.AppendVarint(nil, protowire.EncodeZigZag(2)), protowire.EncodeZigZag(-1)))
	histogram := slices.Concat([]byte{1 << 3, 3, 5 << 3, 2}, span, deltas) // of three observations
	body := protowire.AppendBytes(nil, slices.Concat(message(1, []byte("h")), []byte{3 << 3, 4}, message(4, message(7, histogram))))
	want := []string{
		"h histogram", "  count=3 sum=0 native={Schema:1 ZeroThreshold:0 ZeroCount:0 PositiveSpans:[{Offset:0 Length:2}] NegativeSpans:[] PositiveDeltas:[2 -1] NegativeDeltas:[]}",
		"samples 1 duplicates 0 dropped 0",
	}
	if diff := cmp.Diff(want, lines(parse(t, exposition.NewParser(100), string(body), protobuf))); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

// message puts a message into a field of another one.
func message(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

// TestProtobufBombs is not parallel: it counts what the whole process allocates.
func TestProtobufBombs(t *testing.T) { //nolint:paralleltest // see above
	name := message(1, []byte("x"))
	histogram := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 4)
	const many = 4 << 20
	for _, tc := range []struct {
		name   string
		family []byte
	}{
		{"metrics without anything", append(name, bytes.Repeat(message(4, nil), many)...)},
		{"buckets without anything", append(append(name, histogram...), message(4, message(7, bytes.Repeat(message(3, nil), many)))...)},
		{"quantiles without anything", append(append(name, 3<<3, 2), message(4, message(4, bytes.Repeat(message(3, nil), many)))...)},
	} {
		var before, after runtime.MemStats
		body := protowire.AppendBytes(nil, tc.family)
		runtime.ReadMemStats(&before)
		_, err := exposition.NewParser(20_000).Parse(body, protobuf)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, exposition.ErrTooLarge) {
			t.Errorf("%s: error %v", tc.name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
			t.Errorf("%s: %d bytes are allocated for a page of %d", tc.name, got, len(body))
		}
	}
}

func FuzzProtobuf(f *testing.F) {
	f.Add(delimited(f, family("x_total", labelled(counterOf(3), "a", "1", "b", "2")), family("g", gaugeOf(1))))
	f.Add(delimited(f, family("h", histogramOf(nativeOf()), histogramOf(&dto.Histogram{Bucket: []*dto.Bucket{bucket(1, 2)}, SampleCount: new(uint64(3))}))))
	f.Add(delimited(f, family("s", &dto.Metric{Summary: &dto.Summary{Quantile: []*dto.Quantile{{Quantile: new(0.5), Value: new(1.0)}}}})))
	f.Fuzz(func(t *testing.T, body []byte) {
		p := exposition.NewParser(1000)
		page, err := p.Parse(body, protobuf)
		if err != nil {
			return
		}
		checkPage(t, page)
		want := lines(page)
		if diff := cmp.Diff(want, lines(parse(t, p, string(body), protobuf))); diff != "" {
			t.Fatalf("the same page again (-first +second):\n%s", diff)
		}
		families, ok := decoded(body)
		if !ok {
			return
		}
		// What the library writes of it in its own way means what the reference makes of it.
		written := delimited(t, families...)
		page, err = p.Parse(written, protobuf)
		if err != nil {
			t.Fatalf("%v in what the library writes", err)
		}
		if diff := cmp.Diff(referenceProtobuf(families, page.Samples), lines(page)); diff != "" {
			t.Fatalf("page (-reference +got):\n%s", diff)
		}
	})
}

// decoded is what the library reads; ok = false if that has to do with what the reference leaves out: text that is no UTF-8, labels that are no
// labels, native histograms.
func decoded(body []byte) (families []*dto.MetricFamily, ok bool) {
	for r := bytes.NewReader(body); ; {
		var family dto.MetricFamily
		err := protodelim.UnmarshalFrom(r, &family)
		if errors.Is(err, io.EOF) {
			return families, len(families) > 0
		}
		if err != nil || !utf8.ValidString(family.GetHelp()) || family.GetName() == "" || !utf8.ValidString(family.GetName()) {
			return nil, false
		}
		for _, m := range family.Metric {
			if m.Histogram != nil && hasNative(m.Histogram) {
				return nil, false
			}
			names := map[string]bool{}
			for _, l := range m.Label {
				if names[l.GetName()] || l.GetName() == "" || !utf8.ValidString(l.GetName()) || !utf8.ValidString(l.GetValue()) {
					return nil, false
				}
				names[l.GetName()] = true
			}
		}
		families = append(families, &family)
	}
}

func hasNative(h *dto.Histogram) bool {
	return len(h.PositiveSpan) > 0 || len(h.NegativeSpan) > 0 || h.ZeroThreshold != nil || h.ZeroCount != nil || h.ZeroCountFloat != nil ||
		len(h.PositiveCount) > 0 || len(h.NegativeCount) > 0
}

// referenceProtobuf puts the families together again, with so many samples.
func referenceProtobuf(families []*dto.MetricFamily, samples int) []string {
	r := reference{types: map[string]string{}, help: map[string]string{}, families: map[string]*referenceFamily{}}
	for _, f := range families {
		name := f.GetName()
		if _, again := r.types[name]; !again {
			r.types[name], r.help[name] = wireKind(f.GetType()), f.GetHelp()
		}
		for _, m := range f.Metric {
			if !r.takeMetric(name, wireKind(f.GetType()), m) {
				r.dropped++
			}
		}
	}
	var out []string
	for _, name := range r.order {
		out = append(out, r.show(r.families[name])...)
	}
	return append(out, countsLine(samples, r.duplicates, r.dropped))
}

func wireKind(kind dto.MetricType) string {
	if kind == dto.MetricType_GAUGE_HISTOGRAM || kind < 0 || kind > dto.MetricType_GAUGE_HISTOGRAM {
		return "gaugehistogram"
	}
	return strings.ToLower(kind.String())
}

// takeMetric tells whether the metric has the value that its family wants.
func (r *reference) takeMetric(name, kind string, m *dto.Metric) bool {
	labels := map[string]string{}
	for _, l := range m.Label {
		if l.GetValue() != "" {
			labels[l.GetName()] = l.GetValue()
		}
	}
	values := map[string]*float64{}
	if m.Counter != nil {
		values["counter"] = new(m.Counter.GetValue())
	}
	if m.Gauge != nil {
		values["gauge"] = new(m.Gauge.GetValue())
	}
	if m.Untyped != nil {
		values["untyped"] = new(m.Untyped.GetValue())
	}
	has := map[string]bool{"histogram": m.Histogram != nil, "summary": m.Summary != nil}
	if r.types[name] != kind || values[kind] == nil && !has[kind] {
		return false
	}
	before := r.family(name, name, kind).series[fmt.Sprintf("%q", sortedPairs(labels))]
	if before != nil {
		r.duplicates++
	}
	s := r.at(name, name, kind, labels)
	*s = referenceSeries{labels: labels, points: map[float64]float64{}, since: s.since}
	var created *timestamppb.Timestamp
	switch kind {
	case "histogram":
		created = m.Histogram.CreatedTimestamp
		s.takeHistogram(m.Histogram)
	case "summary":
		created = m.Summary.CreatedTimestamp
		s.count, s.sum = new(float64(m.Summary.GetSampleCount())), new(m.Summary.GetSampleSum())
		for _, q := range m.Summary.Quantile {
			s.take(q.GetQuantile(), q.GetValue())
		}
	default:
		s.value = values[kind]
		if kind == "counter" {
			created = m.Counter.CreatedTimestamp
		}
	}
	if at := float64(created.GetSeconds()) + float64(created.GetNanos())/1e9; at >= 1e9 && at <= 1e10 {
		s.since = at
	}
	return true
}

func (s *referenceSeries) takeHistogram(h *dto.Histogram) {
	s.count, s.sum = new(float64(h.GetSampleCount())), new(h.GetSampleSum())
	if h.SampleCountFloat != nil {
		s.count = h.SampleCountFloat
	}
	for _, b := range h.Bucket {
		n := float64(b.GetCumulativeCount())
		if b.CumulativeCountFloat != nil {
			n = b.GetCumulativeCountFloat()
		}
		s.take(b.GetUpperBound(), n)
	}
}

// take takes a point. A bound that comes twice in one message is none.
func (s *referenceSeries) take(at, value float64) {
	if _, again := s.points[at]; again || math.IsNaN(at) {
		s.broken = true
	}
	s.points[at] = value
}
