package scrape

import (
	"context"
	"sync"
)

// Bell makes loops look at once, beside their intervals: before something begins and after it has ended.
type Bell struct {
	mu   sync.Mutex
	next chan struct{} // closed at the next ring
}

// NewBell makes one.
func NewBell() *Bell { return &Bell{next: make(chan struct{})} }

// Ring makes each loop look once more, as soon as it can.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}

// heard gives what is closed at the next ring; without a bell, never.
func (b *Bell) heard() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// bellKey is the key of a context for its Bell.
type bellKey struct{}

// WithBell lets the loops that run with the context hear a bell. It goes by the context, as being told to stop does: what is in between has no use
// for it.
func WithBell(ctx context.Context, b *Bell) context.Context {
	return context.WithValue(ctx, bellKey{}, b)
}

func bellOf(ctx context.Context) *Bell {
	b, _ := ctx.Value(bellKey{}).(*Bell)
	return b
}
