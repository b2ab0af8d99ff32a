package gpu

import (
	"context"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// driver is the source of this machine's driver, with the instants of its readings and a log of how they go.
type driver struct {
	Source
	log   *scrape.TargetLog
	clock *metrics.SystemClock
}

// Read implements Source.
func (d *driver) Read(ctx context.Context) Reading {
	start := d.clock.Now()
	r := d.Source.Read(ctx)
	took := time.Duration(d.clock.Now() - start)
	r.At = middle(start, took)
	switch r.State {
	case OK, NoDevices:
		samples := 0
		for i := range r.Devices {
			samples += len(r.Devices[i].Samples)
		}
		d.log.Succeeded(took, samples)
	case NoPermission:
		d.log.Failed(took, scrape.Auth)
	case Failed:
		d.log.Failed(took, scrape.Internal)
	case Disabled, UnsupportedBuild, LibraryNotFound, DriverNotLoaded, VersionMismatch:
		// A driver that is not there is no failed look: its state says so.
	}
	for reason, n := range r.Failures {
		d.log.FailedPartly(reason, n)
	}
	return r
}

// middle is the instant that a look is of: what it saw was so at some time while it ran.
func middle(start int64, took time.Duration) int64 { return start + int64(took)/2 }
