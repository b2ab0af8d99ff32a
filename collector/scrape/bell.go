package scrape

import "sync"

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
