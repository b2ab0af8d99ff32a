// Package selftest watches the instrument: whether this program gets the processor when it needs it, and how far its own figures are wrong.
// A tool that accuses servers has to notice when the fault is its own.
//
// What it finds goes into the metrics, which decide whose requests are suspect. It must never stop or slow down what is measured: whatever
// fails here is counted and logged.
//
// To watch something else: a reader beside throttling.go, a comparison in readings.go, a cause in metrics.SuspectCauses.
package selftest

import (
	"context"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// readEvery is the time between two looks at the host: short against how long a fault is held against requests, and free of cost.
const readEvery = 5 * time.Second

// Deps are what a watch needs from the process.
type Deps struct {
	Clock  *metrics.SystemClock
	Store  *metrics.Store
	Poller *transport.Poller // that of the targets
	Logger *slog.Logger
	// Root is the root of the file system, in which the files of the kernel are found.
	Root fs.FS
}

// Watch watches the instrument while it runs.
type Watch struct {
	config Config
	deps   Deps
	series *metrics.SelfTest // nil without a null target
}

// New makes a watch that does nothing yet but begin its series.
func New(config Config, deps Deps) *Watch {
	w := &Watch{config: config, deps: deps}
	if config.Enabled {
		w.series = deps.Store.SelfTest(config.Limit)
	}
	return w
}

// Run watches until ctx ends, and returns when everything that it started has ended.
func (w *Watch) Run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { w.readHost(ctx) })
	if w.series != nil {
		parts.Go(func() { w.test(ctx) })
	}
	parts.Wait()
}

// readHost looks at what the kernel and the Go runtime say, at once and then every few seconds.
func (w *Watch) readHost(ctx context.Context) {
	source := newHost(w.deps.Root)
	last := source.read(w.deps.Clock.Now())
	if last.throttled.known {
		w.deps.Store.CPUThrottled(0)
	}
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		next := source.read(w.deps.Clock.Now())
		if ns, ok := next.throttledSince(&last); ok {
			w.deps.Store.CPUThrottled(ns)
		}
		for _, cause := range next.faultsSince(&last) {
			w.deps.Store.Suspect(cause, next.at)
		}
		last = next
	}
}
