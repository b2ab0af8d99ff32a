//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/received"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// otelcol is the OpenTelemetry collector of test/otelcol.
const otelcol = "../../.cache/otelcol/bin/otelcol"

// sink is a running OpenTelemetry collector that writes what it gets into a folder.
type sink struct {
	*process.Process
	address, folder string
	settings        []string
}

// startSink starts one with settings of its own, in the form key::key: value.
func startSink(t *testing.T, settings ...string) *sink {
	t.Helper()
	s := &sink{address: address(t), folder: t.TempDir(), settings: settings}
	s.start(t)
	return s
}

// start starts it, again if it was killed: at the same address and with the same folder.
func (s *sink) start(t *testing.T) {
	t.Helper()
	s.Process = process.ForTest(t, nil, otelcol, received.Arguments("../otelcol", s.address, s.folder, s.settings...)...)
	if _, err := s.Find(process.Within(t, patience), received.Ready); err != nil {
		t.Fatal(err)
	}
}

// kill ends it as a crash does.
func (s *sink) kill(t *testing.T) {
	t.Helper()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(process.Within(t, patience)); err != nil {
		t.Fatal(err)
	}
}

// rest stops the traffic of an exporter, and waits until all requests have ended, and servers and GPUs have been read after that. They are read
// every few seconds.
func (e exporter) rest(t *testing.T) {
	t.Helper()
	if status := post(t, e.url+"/-/pause", nil); status != http.StatusOK {
		t.Fatalf("pause: status %d", status)
	}
	eventually(t, patience, func() error {
		if n := e.scrape(t).Sum("aiperf_inflight_requests", nil); n > 0 {
			return fmt.Errorf("%v requests have not ended", n)
		}
		return nil
	})
	read := time.Now().Add(time.Second)
	eventually(t, patience, func() error {
		for _, m := range e.scrape(t).Series("aiperf_scrape_last_success_timestamp_seconds", nil) {
			if at := m.GetGauge().GetValue(); at < float64(read.UnixMilli())/1e3 {
				return fmt.Errorf("something was read last at %v, want %v", at, read)
			}
		}
		return nil
	})
}

// sends waits until the exporter has sent so many requests.
func (e exporter) sends(t *testing.T, requests float64) {
	t.Helper()
	eventually(t, patience, func() error {
		if n := e.scrape(t).Sum("aiperf_arrivals_sent_total", nil); n < requests {
			return fmt.Errorf("%v requests were sent, want %v", n, requests)
		}
		return nil
	})
}

// arrivals waits until so many more exports have arrived.
func (e exporter) arrivals(t *testing.T, exports float64) {
	t.Helper()
	if err := received.Arrival(process.Within(t, patience), e.url+"/metrics", exports); err != nil {
		t.Fatal(err)
	}
}

// hold gives what a sink has got of the exporter, between two scrapes.
func (e exporter) hold(t *testing.T, s *sink) received.Held {
	t.Helper()
	held, err := received.Hold(process.Within(t, patience), e.url+"/metrics", s.folder)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// openMetrics reads a page in the text of OpenMetrics, without exemplars.
func (e exporter) openMetrics(t *testing.T) scrape.Families {
	t.Helper()
	page, err := scrape.Bytes(process.Within(t, patience), e.url+"/metrics", scrape.OpenMetrics)
	if err != nil {
		t.Fatal(err)
	}
	// It is that of Prometheus but for exemplars, the end, and that the family of a counter is called without _total.
	var text bytes.Buffer
	for line := range strings.Lines(string(page)) {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " # {")
		switch f := strings.Fields(line); {
		case strings.HasPrefix(line, "# HELP"):
			continue
		case len(f) == 4 && f[1] == "TYPE" && f[3] == "counter":
			line = fmt.Sprintf("# TYPE %s_total counter", f[2])
		}
		text.WriteString(line + "\n")
	}
	families := scrape.Families{}
	decoder := expfmt.NewDecoder(&text, expfmt.NewFormat(expfmt.TypeTextPlain))
	for {
		family, err := next(decoder)
		if errors.Is(err, io.EOF) {
			return families
		}
		if err != nil {
			t.Fatal(err)
		}
		families[family.GetName()] = family
	}
}
