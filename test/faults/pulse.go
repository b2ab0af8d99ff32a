package main

import (
	"context"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

const (
	// beat is the time between two questions to an exporter, and missed how late an answer is that tells of a machine, or of a process, that stood still.
	beat   = 100 * time.Millisecond
	missed = 500 * time.Millisecond
)

// pulse tells whether an exporter, and this program, stood still. Its page of health waits for no target and for no schedule, so that what it shows is
// the machine's doing.
type pulse struct {
	mu      sync.Mutex
	began   time.Time // of the beat that is going on; zero = none is
	longest time.Duration
}

// feel feels it until ctx is done.
func (p *pulse) feel(ctx context.Context, url string) {
	for ctx.Err() == nil {
		p.begin(time.Now())
		_, _ = scrape.Bytes(ctx, url+"/-/healthy", scrape.Text) // an exporter that has ended is told of elsewhere
		_ = wait(ctx, beat)
	}
}

// begin begins the next beat.
func (p *pulse) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(now)
	p.began = now
}

// end notes how late the beat is. The caller holds the lock.
func (p *pulse) end(now time.Time) {
	if !p.began.IsZero() {
		p.longest = max(p.longest, now.Sub(p.began)-beat)
	}
}

// stood tells whether it stood still since the last call.
func (p *pulse) stood(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(now)
	longest := p.longest
	p.longest = 0
	return longest >= missed
}
