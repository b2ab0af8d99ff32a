// Package collectortest is what tests of collectors share.
package collectortest

import (
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
)

// Days is how long a collector is watched in simulated time.
type Days struct {
	Days        int
	ScrapeEvery time.Duration
	// Slack is how many bytes the heap may have more than after the first day.
	Slack uint64
}

// Watch scrapes a running collector, in a bubble of testing/synctest, and fails the test if its heap grows after the first day or its goroutines are
// not as many as then. seen is told each family of each scrape.
func (d Days) Watch(t *testing.T, c collector.Collector, seen func(*dto.MetricFamily)) {
	t.Helper()
	var heap uint64
	var goroutines int
	for day := 1; day <= d.Days; day++ {
		for range 24 * time.Hour / d.ScrapeEvery {
			<-time.NewTimer(d.ScrapeEvery).C
			synctest.Wait()
			scrape(t, c, seen)
		}
		now, running := heapInUse(), runtime.NumGoroutine()
		t.Logf("day %2d: heap in use %d KiB, %d goroutines", day, now>>10, running)
		if day == 1 {
			heap, goroutines = now, running
		}
		if now > heap+d.Slack {
			t.Errorf("the heap grew from %d to %d KiB", heap>>10, now>>10)
		}
		if running != goroutines {
			t.Errorf("%d goroutines, want the %d of the first day", running, goroutines)
		}
	}
}

// scrape does what a scrape of this program does with what a collector shows.
func scrape(t *testing.T, c collector.Collector, seen func(*dto.MetricFamily)) {
	t.Helper()
	families, err := collector.NewGatherer(nil, c).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(io.Discard, f); err != nil {
			t.Fatal(err)
		}
		seen(f)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
