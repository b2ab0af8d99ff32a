package reload

import (
	"context"
	"errors"
	"sync/atomic"
)

// Apart is where work is done that may never come to its end, such as reading from a file system that hangs: on a goroutine of its own, of which there
// is one at most. The zero value is ready. Safe for concurrent use.
type Apart struct{ busy atomic.Bool }

// errStuck tells that work which was given up still goes on.
var errStuck = errors.New("an earlier attempt to read the files has not come back: the file system that they are on may hang")

// Do does work and waits for it, until ctx ends: then its cause is the error, and nobody hears what comes of the work. Until it has come back, if ever,
// all other work is refused.
func Do[T any](ctx context.Context, a *Apart, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	if !a.busy.CompareAndSwap(false, true) {
		return *new(T), errStuck
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.value, r.err = work()
		a.busy.Store(false) // before anybody hears of it, who may have more work
		done <- r
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}
