package gpu

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

const (
	// staleIntervals is how many of them old a reading may be and still be shown.
	staleIntervals = 3
	// hungSkips is how many looks may fall due while one runs before its source counts as hung.
	hungSkips = 3
	hangs     = "it hangs: 3 looks fell due while one ran"
)

// feed asks one source again and again, and keeps what it last said.
type feed struct {
	recipe

	source   Source
	interval time.Duration
	// certain tells that a reading without devices means that there are none, whatever its state. That a page cannot be had says nothing
	// about the GPUs on it.
	certain  bool
	log      *scrape.TargetLog
	logger   *slog.Logger
	observe  func(*Reading)  // may be nil
	panicked func(cause any) // likewise
	bell     *scrape.Bell    // nil = there is none
	reading  atomic.Bool     // a look runs

	before   *feed              // in whose place it is, nil = nobody was there; only until it runs
	passedOn atomic.Bool        // the source is that of the next one
	ended    chan struct{}      // closed when it has
	stop     context.CancelFunc // nil = it does not run; guarded by Collector.mu

	mu      sync.Mutex
	state   State // "" before the first reading
	message string
	at      int64 // of devices
	devices []Device
	gone    map[Identity]loss
	skips   int // since the last reading
}

// loss is a device that was there until at.
type loss struct {
	Identity
	at int64
}

// run asks until ctx ends, not before the one in whose place it is has ended: no driver is started while it is being given back.
func (f *feed) run(ctx context.Context) {
	if f.before != nil {
		<-f.before.ended
		f.before = nil
	}
	scrape.Loop(ctx, f.logger, f.interval, f.bell, f.look, func() { f.skipped(ctx) }, func(cause any) {
		f.log.Panicked()
		if f.panicked != nil {
			f.panicked(cause)
		}
	})
	f.end()
}

// end gives the source back. What hangs cannot be left in order.
func (f *feed) end() {
	if !f.passedOn.Load() && !f.reading.Load() {
		f.source.Close()
	}
	close(f.ended)
}

func (f *feed) look(ctx context.Context) {
	f.reading.Store(true)
	defer f.reading.Store(false)
	r := f.source.Read(ctx)
	if ctx.Err() != nil {
		return
	}
	f.take(ctx, &r)
	if f.observe != nil {
		f.observe(&r)
	}
}

func (f *feed) skipped(ctx context.Context) {
	f.log.Skipped()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.skips++; f.skips == hungSkips {
		f.tell(ctx, &Reading{State: Failed, Message: hangs})
	}
}

// hung tells whether the source does not come back. The caller holds mu.
func (f *feed) hung() bool { return f.skips >= hungSkips }

// take keeps a reading.
func (f *feed) take(ctx context.Context, r *Reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != r.State || f.hung() {
		f.tell(ctx, r)
	}
	f.state, f.message, f.skips = r.State, r.Message, 0
	if r.State != OK && r.State != NoDevices && !f.certain {
		return
	}
	seen := make(map[Identity]bool, len(r.Devices))
	for i := range r.Devices {
		seen[r.Devices[i].key()] = true
		delete(f.gone, r.Devices[i].key())
	}
	for i := range f.devices {
		if id := f.devices[i].Identity; !seen[id.key()] && len(f.gone) < maxGone {
			f.gone[id.key()] = loss{id, min(r.At, f.at+staleIntervals*int64(f.interval))}
		}
	}
	f.devices, f.at = r.Devices, r.At
}

// tell logs a change of state: as an error if somebody asked for the source, and for others as a warning if they are there and fail.
func (f *feed) tell(ctx context.Context, r *Reading) {
	level := slog.LevelInfo
	switch {
	case r.State == OK:
	case f.named:
		level = slog.LevelError
	case f.state == OK, r.State == Failed:
		level = slog.LevelWarn
	}
	attributes := []slog.Attr{slog.String("gpu_source", string(f.name))}
	if f.asked != "" {
		attributes = append(attributes, slog.String("url", f.asked))
	}
	attributes = append(attributes, slog.String("state", string(r.State)), slog.Int("devices", len(r.Devices)))
	if r.Message != "" {
		attributes = append(attributes, slog.String("reason", r.Message))
	}
	f.logger.LogAttrs(ctx, level, "gpu source changed", attributes...)
}

// view is what a feed has to show.
type view struct {
	state   State // "" if there was no reading yet
	message string
	live    []Device   // those that answer
	down    []Identity // those that did not so long ago
}

// show gives what there is at an instant.
func (f *feed) show(now int64) view {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := view{state: f.state, message: f.message}
	stale := f.at + staleIntervals*int64(f.interval)
	hung := f.hung()
	if hung {
		v.state, v.message = Failed, hangs
	}
	for i := range f.devices {
		switch d := &f.devices[i]; {
		case hung, d.Lost && now <= stale, now > stale && now-stale <= int64(rememberDevice):
			v.down = append(v.down, d.Identity)
		case now <= stale:
			v.live = append(v.live, *d)
		}
	}
	for id, l := range f.gone {
		if now-l.at > int64(rememberDevice) {
			delete(f.gone, id)
			continue
		}
		v.down = append(v.down, l.Identity)
	}
	return v
}
