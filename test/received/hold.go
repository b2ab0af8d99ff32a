package received

import (
	"context"
	"fmt"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// Arrival waits until the exporter with this page has told of so many more exports that arrived.
func Arrival(ctx context.Context, page string, more float64) error {
	first := -1.0
	return process.Until(ctx, func() error {
		f, err := scrape.Get(ctx, page)
		if err != nil {
			return err
		}
		arrived := f.Sum("aiperf_exporter_otlp_exports_total", scrape.Labels{"result": "success"})
		if first < 0 {
			first = arrived
		}
		if arrived < first+more {
			return fmt.Errorf("%v exports have arrived, want %v", arrived, first+more)
		}
		return nil
	})
}

// Held is what a collector got by an instant, and what scrapes show before and after it.
type Held struct {
	State         *State
	Before, After scrape.Families
}

// Hold waits for exports of the exporter with this page to the collector with this folder.
func Hold(ctx context.Context, page, folder string) (h Held, err error) {
	if h.Before, err = scrape.Get(ctx, page); err != nil {
		return h, err
	}
	// The first one may have been under way.
	if err = Arrival(ctx, page, 2); err != nil {
		return h, err
	}
	until := time.Now()
	if h.After, err = scrape.Get(ctx, page); err != nil {
		return h, err
	}
	h.State, err = Read(folder, until)
	return h, err
}
