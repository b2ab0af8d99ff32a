package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// measured is a registry with one series of each kind that the exporter has.
func measured() *prometheus.Registry {
	registry := prometheus.NewPedanticRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "aiperf_requests_total", Help: "Requests."}, []string{"target"})
	requests.WithLabelValues("a \"quoted\"\ntarget").Add(3)
	running := prometheus.NewGauge(prometheus.GaugeOpts{Name: "aiperf_inflight", Help: "Requests that run."})
	running.Set(2)
	latency := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "aiperf_latency_seconds", Help: "Latency.", Buckets: []float64{0.5, 1}, NativeHistogramBucketFactor: 1.1,
	})
	for _, v := range []float64{0.25, 0.75, 4} {
		latency.Observe(v)
	}
	registry.MustRegister(requests, running, latency)
	return registry
}

// formats are what scrapers ask for, and what they get.
var formats = []struct{ name, accept, contentType string }{
	{"anything", "", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"},
	{"text", "text/plain;version=0.0.4", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"},
	{
		"OpenMetrics", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
		"application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
	},
	{
		"protobuf", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;q=0.3",
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=underscores",
	},
}

// scrape asks a handler for metrics in a format and compression.
func scrape(t *testing.T, h http.Handler, accept, encoding string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	if encoding != "" {
		r.Header.Set("Accept-Encoding", encoding)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// decompress undoes what Content-Encoding says.
func decompress(t *testing.T, resp *http.Response) []byte {
	t.Helper()
	var body io.Reader = resp.Body
	switch resp.Header.Get("Content-Encoding") {
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		body = z
	case "zstd":
		z, err := zstd.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		body = z
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// families parses an exposition with the reader of Prometheus's libraries.
func families(t *testing.T, resp *http.Response, body []byte) map[string]*dto.MetricFamily {
	t.Helper()
	out := map[string]*dto.MetricFamily{}
	format := expfmt.ResponseFormat(resp.Header)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/openmetrics-text") {
		if !bytes.HasSuffix(body, []byte("\n# EOF\n")) {
			t.Errorf("OpenMetrics does not end with # EOF")
		}
		format = expfmt.NewFormat(expfmt.TypeTextPlain) // there is no reader for it; without exemplars and timestamps text is the same
	}
	decoder := expfmt.NewDecoder(bytes.NewReader(body), format)
	for {
		family := &dto.MetricFamily{}
		err := decoder.Decode(family)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, body)
		}
		out[family.GetName()] = family
	}
}

func TestMetricsComeInTheFormatAndCompressionThatIsAskedFor(t *testing.T) {
	t.Parallel()
	o := options()
	o.Registry = measured()
	h := newHandler(t, o)
	for _, format := range formats {
		for _, encoding := range []string{"", "gzip", "zstd", "zstd, gzip;q=0.5", "br"} {
			t.Run(format.name+" with "+encoding, func(t *testing.T) {
				t.Parallel()
				resp := scrape(t, h, format.accept, encoding)
				if diff := cmp.Diff(format.contentType, resp.Header.Get("Content-Type")); diff != "" {
					t.Errorf("Content-Type (-want +got):\n%s", diff)
				}
				want, _, _ := strings.Cut(encoding, ",")
				if want == "br" {
					want = ""
				}
				if diff := cmp.Diff(want, resp.Header.Get("Content-Encoding")); diff != "" {
					t.Errorf("Content-Encoding (-want +got):\n%s", diff)
				}
				got := families(t, resp, decompress(t, resp))
				requests, ok := got["aiperf_requests_total"]
				if !ok {
					t.Fatalf("no aiperf_requests_total in %v", got)
				}
				m := requests.GetMetric()[0]
				value := m.GetCounter().GetValue() + m.GetUntyped().GetValue() // OpenMetrics has the type at the name without _total
				if name := m.GetLabel()[0].GetValue(); value != 3 || name != "a \"quoted\"\ntarget" {
					t.Errorf("%v requests of %q, want 3", value, name)
				}
				if got := got["aiperf_inflight"].GetMetric()[0].GetGauge().GetValue(); got != 2 {
					t.Errorf("gauge is %v, want 2", got)
				}
				latency := got["aiperf_latency_seconds"].GetMetric()[0].GetHistogram()
				if n, sum := latency.GetSampleCount(), latency.GetSampleSum(); n != 3 || sum != 5 {
					t.Errorf("%d observations with sum %v, want 3 and 5", n, sum)
				}
				if first := latency.GetBucket()[0]; first.GetUpperBound() != 0.5 || first.GetCumulativeCount() != 1 {
					t.Errorf("first bucket is %v, want 1 up to 0.5", first)
				}
			})
		}
	}
}

func TestNativeBucketsTravelInProtobuf(t *testing.T) {
	t.Parallel()
	o := options()
	o.Registry = measured()
	h := newHandler(t, o)
	resp := scrape(t, h, formats[3].accept, "gzip")
	histogram := families(t, resp, decompress(t, resp))["aiperf_latency_seconds"].GetMetric()[0].GetHistogram()
	if histogram.Schema == nil || histogram.GetSchema() != 3 {
		t.Errorf("schema %v, want 3 for a factor of 1.1", histogram.Schema)
	}
	var native int64
	count := int64(0)
	for _, delta := range histogram.GetPositiveDelta() {
		count += delta
		native += count
	}
	if native != 3 {
		t.Errorf("%d observations in native buckets, want 3", native)
	}
	if len(histogram.GetBucket()) < 2 {
		t.Errorf("classic buckets are missing beside the native ones: %v", histogram.GetBucket())
	}
	if histogram.GetCreatedTimestamp() == nil {
		t.Error("no created timestamp")
	}
}

func TestOpenMetricsHasNoCreatedSamples(t *testing.T) {
	t.Parallel()
	o := options()
	o.Registry = measured()
	resp := scrape(t, newHandler(t, o), formats[2].accept, "")
	if body := decompress(t, resp); bytes.Contains(body, []byte("_created")) {
		t.Errorf("_created samples in\n%s", body)
	}
}

func TestAScrapeMayAskForNamedFamilies(t *testing.T) {
	t.Parallel()
	o := options()
	o.Registry = measured()
	_, body := ask(t, newHandler(t, o), http.MethodGet, "/metrics?name[]=aiperf_inflight")
	want := "# HELP aiperf_inflight Requests that run.\n# TYPE aiperf_inflight gauge\naiperf_inflight 2\n"
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// held is a collector that waits in the first scrapes until it is released.
type held struct {
	desc    *prometheus.Desc
	waiting int32         // how many wait
	entered chan struct{} // gets one when it begins to wait
	release chan struct{}
	seen    atomic.Int32
}

func (c *held) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

func (c *held) Collect(ch chan<- prometheus.Metric) {
	if c.seen.Add(1) <= c.waiting {
		c.entered <- struct{}{}
		<-c.release
	}
	ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, 1)
}

func TestScrapesBeyondTheLimitAreTurnedAway(t *testing.T) {
	t.Parallel()
	o := options()
	o.MaxRequests = 2
	c := &held{
		desc:    prometheus.NewDesc("aiperf_held", "Waits.", nil, nil),
		waiting: 2, entered: make(chan struct{}), release: make(chan struct{}),
	}
	o.Registry.MustRegister(c)
	h := newHandler(t, o)
	codes := make(chan int)
	for range o.MaxRequests {
		go func() {
			resp := scrape(t, h, "", "")
			codes <- resp.StatusCode
		}()
	}
	for range o.MaxRequests {
		<-c.entered
	}
	if resp, body := ask(t, h, http.MethodGet, "/metrics"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503:\n%s", resp.StatusCode, body)
	}
	if resp, _ := ask(t, h, http.MethodGet, "/-/healthy"); resp.StatusCode != http.StatusOK {
		t.Errorf("healthy is %d while scrapes run, want 200", resp.StatusCode)
	}
	close(c.release)
	for range o.MaxRequests {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a scrape within the limit got %d, want 200", code)
		}
	}
}

// broken is a collector that cannot tell one of its values.
type broken struct{ good, bad *prometheus.Desc }

func (c broken) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.good
	ch <- c.bad
}

func (c broken) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(c.good, prometheus.GaugeValue, 1)
	ch <- prometheus.NewInvalidMetric(c.bad, errors.New("it is gone"))
}

func TestWhatCanBeGatheredIsServedAndTheRestIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := options()
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	o.Registry.MustRegister(broken{prometheus.NewDesc("aiperf_good", "Good.", nil, nil), prometheus.NewDesc("aiperf_bad", "Bad.", nil, nil)})
	resp, body := ask(t, newHandler(t, o), http.MethodGet, "/metrics")
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, "aiperf_good 1\n") {
		t.Errorf("status %d, want 200 with what is good:\n%s", resp.StatusCode, body)
	}
	if !strings.Contains(log.String(), "metrics could not be gathered whole") || !strings.Contains(log.String(), "it is gone") {
		t.Errorf("the log does not tell what is missing:\n%s", log.String())
	}
}

func TestSeriesAboutTheScrapesAreThereUnlessSwitchedOff(t *testing.T) {
	t.Parallel()
	for name, instrument := range map[string]bool{"switched on": true, "switched off": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			o.InstrumentHandler = instrument
			h := newHandler(t, o)
			ask(t, h, http.MethodGet, "/metrics")
			_, body := ask(t, h, http.MethodGet, "/metrics")
			for _, sample := range []string{`promhttp_metric_handler_requests_total{code="200"} 1`, "promhttp_metric_handler_requests_in_flight 1", "promhttp_metric_handler_errors_total"} {
				if got := strings.Contains(body, sample); got != instrument {
					t.Errorf("%q is there: %v, want %v in\n%s", sample, got, instrument, body)
				}
			}
		})
	}
}

// gone is the connection of a scraper that did not wait for the end.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) {
	return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
}

func TestScraperThatGoesAwayIsNoErrorOfTheMetrics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := metricsHandler(&Options{Registry: measured(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	h.ServeHTTP(gone{httptest.NewRecorder()}, r)
	if log.Len() > 0 {
		t.Errorf("the log says:\n%s", log.String())
	}
}
