package budget

import (
	"errors"
	"maps"
	"time"
)

// leaseParts is into how many parts a limit is told ahead.
const leaseParts = 100

const (
	// defaultPatience is how long a request waits for the file before it is refused; it is far more than a disk needs that works.
	defaultPatience = time.Second
	// retryPause is how long the file is left alone after it could not be written.
	retryPause = time.Second
)

var errSlow = errors.New("writing takes too long")

// record is what the file tells of a window.
type record struct {
	end    int64   // Unix seconds
	atMost amounts // what is used of the period is not more
	next   amounts // nor is it more than this of the one that follows
}

type recordedAccount [periods]record

// end is when the last of its periods ends.
func (a *recordedAccount) end() int64 { return max(a[hour].end, a[day].end) }

// restore makes the account what the file tells of it.
func (a *Account) restore(recorded recordedAccount) {
	for p, r := range recorded {
		w := &a.windows[p]
		w.end, w.used, w.opening, w.recorded = r.end, r.atMost, r.next, r
	}
}

// ceiling is how much may be used by what the file tells now.
func (w *window) ceiling(k kind) int64 {
	if w.end == w.recorded.end {
		return w.recorded.atMost[k]
	}
	return w.recorded.next[k]
}

// lease is how much more than what is used is told ahead.
func (w *window) lease(k kind) int64 {
	return max(w.limit[k]/leaseParts, 2*min(w.largest[k], enough/4))
}

// plan is what the file shall tell. It is never less than what may be used by what the file tells now: requests go on while it is written,
// and until that has come to its end nobody knows which of the two is on the disk.
func (w *window) plan() record {
	r := record{end: w.end}
	for k := range kinds {
		var lease int64
		if w.limited(k) {
			lease = min(w.lease(k), w.limit[k])
		}
		r.next[k] = max(lease, w.opening[k], w.recorded.next[k])
		ahead := min(add(w.used[k], add(w.awaited[k], lease)), w.limit[k])
		r.atMost[k] = max(ahead, w.used[k], w.ceiling(k), r.next[k])
	}
	return r
}

// exact is what is used, with nothing told ahead.
func (w *window) exact() record { return record{end: w.end, atMost: w.used, next: w.opening} }

// recorded tells whether the file covers the reservation.
func (r *Reservation) recorded() bool {
	if r.ledger.path == "" {
		return true
	}
	for _, part := range r.parts {
		for p := range part.account.windows {
			w := &part.account.windows[p]
			for k := range kinds {
				if w.limited(k) && w.used[k]+r.reserved[k] > w.ceiling(k) {
					return false
				}
			}
		}
	}
	return true
}

// prepare has the file written before what it tells is used up, so that requests need not wait for it.
func (a *Account) prepare() {
	if a.ledger.path == "" || a.ledger.writing {
		return
	}
	for p := range a.windows {
		if a.windows[p].runsOut() {
			a.ledger.ask()
			return
		}
	}
}

// runsOut tells whether little is left of what the file tells.
func (w *window) runsOut() bool {
	for k := range kinds {
		if !w.limited(k) {
			continue
		}
		ceiling := w.ceiling(k)
		if w.end != w.recorded.end || ceiling < max(w.limit[k], w.used[k]) && ceiling-w.used[k] < w.lease(k)/2 {
			return true
		}
	}
	return false
}

// ask has the file written; what it gives is closed then. It is nil when the ledger is closed or the file cannot be written.
func (l *Ledger) ask() <-chan struct{} {
	if l.closed || l.err != nil && time.Since(l.failedAt) < retryPause {
		return nil
	}
	if l.flushed == nil {
		l.flushed = make(chan struct{})
		l.wake <- struct{}{} // there is room: it is only sent together with the new channel
	}
	return l.flushed
}

// flush has the file written and waits for it, with the lock given up meanwhile. It is false if that was in vain.
func (l *Ledger) flush(r *Reservation) bool {
	flushed := l.ask()
	if flushed == nil {
		return false
	}
	r.await(1)
	l.mu.Unlock()
	written := l.within(flushed)
	l.mu.Lock()
	r.await(-1)
	if !written {
		l.fail(errSlow)
	}
	return l.err == nil
}

// within waits for what is done with the file, but not for long. It tells whether it was.
func (l *Ledger) within(done <-chan struct{}) bool {
	timer := time.NewTimer(l.patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// await notes that the reservation waits for the file, so that what is written next covers it; sign is 1 or -1.
func (r *Reservation) await(sign int64) {
	for _, part := range r.parts {
		for p := range part.account.windows {
			part.account.windows[p].await(&r.reserved, sign)
		}
	}
}

func (l *Ledger) fail(err error) { l.err, l.failedAt = err, time.Now() }

// Err is why the file cannot be written at present; nil if it can. Requests beyond what it tells are refused until then.
func (l *Ledger) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// write is the goroutine that writes the file.
func (l *Ledger) write() {
	defer close(l.done)
	for range l.wake {
		l.mu.Lock()
		flushed := l.flushed
		l.flushed, l.writing = nil, true
		planned := l.tell((*window).plan)
		l.mu.Unlock()
		err := writeFile(l.path, planned)
		l.mu.Lock()
		l.writing = false
		if l.err = nil; err != nil {
			l.fail(err)
		} else {
			l.adopt(planned)
		}
		l.mu.Unlock()
		close(flushed)
	}
}

// tell is the contents of a file in which each window tells what record gives.
func (l *Ledger) tell(record func(*window) record) map[string]recordedAccount {
	all := make(map[string]recordedAccount, len(l.accounts)+len(l.foreign))
	maps.Copy(all, l.foreign)
	for name, a := range l.accounts {
		var recorded recordedAccount
		for p := range a.windows {
			recorded[p] = record(&a.windows[p])
		}
		all[name] = recorded
	}
	return all
}

// adopt takes what is in the file now.
func (l *Ledger) adopt(written map[string]recordedAccount) {
	for name, a := range l.accounts {
		for p, r := range written[name] {
			a.windows[p].recorded = r
		}
	}
}

// Close writes the exact figures, what is reserved included, and gives the file free. Nothing can be reserved afterwards. An error leaves
// the file as after a crash.
func (l *Ledger) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.wake)
	l.mu.Unlock()
	if !l.within(l.done) {
		return errSlow // and the lock stays: what is being written may still come into its place
	}
	if l.path == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(writeFile(l.path, l.tell((*window).exact)), l.lock.Close())
}
