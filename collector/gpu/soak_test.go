//go:build soak

package gpu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector/collectortest"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// TestWeeksOfLooksTakeConstantMemory looks at a driver and at an exporter of many machines for two weeks of simulated time, and shows what they
// have every few minutes. GPUs come and go, under new names each hour, get lost, are divided and have all errors that there are; the driver goes
// away and the exporter does not answer. What is kept must not grow with time.
func TestWeeksOfLooksTakeConstantMemory(t *testing.T) { //nolint:paralleltest // it measures the heap of the process
	const days, interval, scrapeEvery = 14, time.Minute, 10 * time.Minute
	const slack = 64 << 10 // 200 bytes for each hour: what would not be forgotten of the names of an hour is more
	synctest.Test(t, func(t *testing.T) {
		c := startWeeks(t, interval)
		seen := map[string]bool{}
		collectortest.Days{Days: days, ScrapeEvery: scrapeEvery, Slack: slack}.Watch(t, c, func(f *dto.MetricFamily) { note(seen, f) })
		for _, name := range []string{seriesPower + " nvml", seriesPower + " dcgm", seriesXIDErrors + " nvml", seriesXIDErrors + " dcgm", seriesUp + " nvml at zero"} {
			if !seen[name] {
				t.Errorf("%s was never there: what is simulated is not what was meant", name)
			}
		}
	})
}

// startWeeks runs a collector until the test ends.
func startWeeks(t *testing.T, interval time.Duration) *Collector {
	t.Helper()
	config := DefaultConfig()
	config.Source, config.PodLabels = Sources{"nvml", "dcgm"}, true
	config.NVML.Interval, config.DCGM.Interval = interval, interval
	config.DCGM.URLs = []secret.URL{"http://exporter:9400/metrics"}
	began := time.Now()
	c, err := New(config, promconfig.HTTPClientConfig{}, map[string]Selector{"chat": {}}, Deps{
		Clock: metrics.NewSystemClock(), Logger: slog.New(slog.DiscardHandler),
		NVML: func(NVMLConfig) Source { return &machine{began: began} },
	})
	if err != nil {
		t.Fatal(err)
	}
	exporter := c.feeds[1].source.(*exporter)
	exporter.client.Close()
	exporter.client = newCluster(t, began)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return c
}

// note keeps which families there are of each source, above zero and at zero.
func note(seen map[string]bool, f *dto.MetricFamily) {
	for _, m := range f.Metric {
		for _, l := range m.Label {
			switch value := m.GetGauge().GetValue() + m.GetCounter().GetValue(); {
			case l.GetName() != "source":
			case value > 0:
				seen[f.GetName()+" "+l.GetValue()] = true
			default:
				seen[f.GetName()+" "+l.GetValue()+" at zero"] = true
			}
		}
	}
}

// errorsThatHappen are codes, of which each comes within hours.
var errorsThatHappen = []uint64{13, 31, 43, 45, 48, 61, 62, 63, 64, 69, 74, 79, 92, 94, 95, 109, 119, 120, 140, 143}

// machine is a driver. What happens to it comes back each day at the same hour.
type machine struct {
	began time.Time
	looks int
	xids  XIDCounts
}

// Read implements Source.
func (m *machine) Read(context.Context) Reading {
	m.looks++
	age := time.Since(m.began)
	hour, minute := int(age.Hours()), int(age.Minutes())%60
	switch {
	case minute < 15 && hour%8 == 5:
		return Reading{Source: NVML, State: DriverNotLoaded, Message: fmt.Sprintf("not loaded after %v", age)}
	case minute < 15 && hour%8 == 6:
		return Reading{Source: NVML, State: Failed, Message: "it fell off the bus"}
	case m.looks%1000 == 0:
		panic("driver")
	}
	m.xids.Add(errorsThatHappen[m.looks%len(errorsThatHappen)], 1)
	r := Reading{Source: NVML, State: OK, Failures: map[scrape.Reason]int{scrape.Internal: 1}}
	for i := range 4 + hour%4 {
		id := Identity{Index: fmt.Sprint(i), UUID: fmt.Sprintf("GPU-%d", i), Hostname: "node"}
		if i >= 4 {
			id.UUID = fmt.Sprintf("GPU-%d-%06d", i, hour) // another card each time
		}
		d := Device{Identity: id, Info: Info{Model: "H100", Pod: fmt.Sprintf("vllm-%06d", hour)}, Lost: i == 3 && hour%6 == 1}
		d.Samples = append(m.xids.Samples(), Sample{Name: seriesPower, Value: 400}, Sample{Name: seriesEnergy, Value: age.Seconds() * 400})
		r.Devices = append(r.Devices, d)
		if i == 0 {
			id.Instance, id.UUID = fmt.Sprint(minute%7), fmt.Sprintf("MIG-%06d", hour)
			r.Devices = append(r.Devices, Device{Identity: id, Samples: []Sample{{Name: seriesMemoryUsed, Value: 1e9}}})
		}
	}
	return r
}

// Close implements Source.
func (*machine) Close() {}

// cluster is a dcgm-exporter of many machines, which come and go.
type cluster struct {
	began time.Time
	page  string
	looks int
}

func newCluster(t *testing.T, began time.Time) *cluster {
	t.Helper()
	page, err := os.ReadFile("testdata/dcgm.prom")
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{began: began, page: string(page)}
}

// Get implements getter.
func (f *cluster) Get(_ context.Context, _, _ string, buffer []byte) (body []byte, contentType string, err error) {
	f.looks++
	age := time.Since(f.began)
	hour, minute := int(age.Hours()), int(age.Minutes())%60
	switch {
	case minute < 15 && hour%8 == 3:
		return nil, "", &scrape.Error{Reason: scrape.Connect, Err: fmt.Errorf("refused after %v", age)}
	case minute < 15 && hour%8 == 4:
		return nil, "", &scrape.Error{Reason: scrape.Auth, Err: errors.New("status 403")}
	}
	code := errorsThatHappen[f.looks%len(errorsThatHappen)]
	names := strings.NewReplacer(
		"gpu-node-1", fmt.Sprintf("gpu-node-%06d", hour), `UUID="GPU-7a9b`, fmt.Sprintf(`UUID="GPU-%06d`, hour), `pod="vllm-0`, fmt.Sprintf(`pod="vllm-%06d`, hour),
		`err_code="79"`, fmt.Sprintf(`err_code="%d"`, code), "fallen off the bus\"} 79", fmt.Sprintf("message %d\"} %d", f.looks, code),
	)
	return append(buffer[:0], names.Replace(f.page)...), "text/plain", nil
}

// Close implements getter.
func (*cluster) Close() {}
