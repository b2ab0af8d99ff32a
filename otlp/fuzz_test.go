package otlp

import (
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// FuzzSpans says whatever a server may write as native buckets.
func FuzzSpans(f *testing.F) {
	f.Add(int32(3), int32(-28), uint32(2), int32(3), uint32(1), int64(2), int64(-1), int64(2))
	f.Add(int32(-4), int32(-1<<31), uint32(1), int32(1<<31-1), uint32(1<<32-1), int64(1), int64(1<<62), int64(1<<62))
	f.Fuzz(func(t *testing.T, schema, firstOffset int32, firstLength uint32, secondOffset int32, secondLength uint32, a, b, c int64) {
		spans := []*dto.BucketSpan{{Offset: &firstOffset, Length: &firstLength}, {Offset: &secondOffset, Length: &secondLength}}
		h := &dto.Histogram{Schema: &schema, PositiveSpan: spans, PositiveDelta: []int64{a, b, c}}
		if !isNative(h) {
			return
		}
		got := testProducer(Exponential).exponential(&dto.Metric{Histogram: h}, when{at: reading})
		counts, sum := got.PositiveBucket.Counts, uint64(0)
		if len(counts) > maxBuckets {
			t.Errorf("got %d buckets, want at most %d", len(counts), maxBuckets)
		}
		if len(counts) > 0 && (counts[0] == 0 || counts[len(counts)-1] == 0) {
			t.Errorf("got empty buckets at an end: %v", counts)
		}
		for _, n := range counts {
			sum += n
		}
		want := uint64(0)
		for _, b := range sparseOf(spans, h.PositiveDelta) {
			want += b.count
		}
		if sum != want {
			t.Errorf("got %d observations, want %d", sum, want)
		}
	})
}

// FuzzHeaders reads a file of headers: what it takes can be sent.
func FuzzHeaders(f *testing.F) {
	f.Add("a: b\n# c\n\nAuthorization: Bearer x:y\n")
	f.Add("grpc-timeout: 1")
	f.Fuzz(func(t *testing.T, text string) {
		md, err := parseHeaders([]byte(text))
		if err != nil {
			return
		}
		for name, values := range md {
			for _, value := range values {
				if err := checkHeader(name, value); err != nil {
					t.Errorf("%q: %v", text, err)
				}
			}
		}
	})
}

// FuzzEnvironment reads lists of pairs and endpoints: whatever they hold, they are refused or usable.
func FuzzEnvironment(f *testing.F) {
	f.Add("a=b,c=%20", "http://collector:4317")
	f.Add("=", "[::1]")
	f.Fuzz(func(t *testing.T, headers, address string) {
		c, errs := FromEnvironment([]string{"OTEL_EXPORTER_OTLP_HEADERS=" + headers, "OTEL_EXPORTER_OTLP_ENDPOINT=" + address}, nothing)
		if len(errs) > 0 {
			return
		}
		if problems := c.Validate("otlp"); len(problems) > 0 {
			t.Errorf("headers %q and endpoint %q: %v", headers, address, problems)
		}
	})
}
