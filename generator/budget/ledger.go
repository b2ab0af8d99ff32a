// Package budget bounds what targets may use in a calendar hour or day: requests, tokens and money. What a request may need at most is
// reserved before it is sent, and settled with what it has used when it has ended.
//
// What is used survives restarts in a file, which never says less than what was sent, whatever happens to the process or the machine: it
// tells ahead of use up to where the figures may have risen, and is on disk before they do. An orderly Close writes the exact figures. After
// a crash everything that was told ahead counts as used. That wastes what was reserved for the requests that ran, and a hundredth of each
// limit or, if that is more, what two requests need. While the file cannot be written, nothing is reserved beyond what it tells.
//
// A limit holds for what is sent while it is set. What one file tells, one process at a time uses.
package budget

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"
)

// Global is the name of the account of all targets together.
const Global = ""

// Ledger holds all accounts of the process. Safe for concurrent use.
type Ledger struct {
	path     string        // "" = in memory only
	lock     *os.File      // held open for its lock
	patience time.Duration // with the file
	wake     chan struct{}
	done     chan struct{} // closed when the writer has ended

	mu       sync.Mutex
	accounts map[string]*Account
	foreign  map[string]recordedAccount // in the file, of targets that are not known now
	closed   bool
	// flushed is closed after the next write that begins; nil = nobody waits for one. writing: one is under way.
	flushed  chan struct{}
	writing  bool
	err      error
	failedAt time.Time
}

// Open reads the ledger at path; "" is one that lives in memory, where a restart forgets what was used. A file that is not there begins
// with nothing used. One that another process has open, that is not a ledger, or that is damaged is an error.
func Open(path string) (*Ledger, error) {
	l := &Ledger{
		path: path, patience: defaultPatience, wake: make(chan struct{}, 1), done: make(chan struct{}), accounts: map[string]*Account{},
	}
	if path == "" {
		close(l.done)
		return l, nil
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("budget state %s: %w", path, err)
	}
	l.lock = lock
	if l.foreign, err = readFile(path); err == nil {
		forget(l.foreign, time.Now())
		err = writeFile(path, l.foreign) // that it cannot be written is better known now than at the first request
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("budget state %s: %w", path, err), lock.Close())
	}
	go l.write()
	return l, nil
}

// forget removes the accounts of targets that have not been there for long: by the clock, and by the other accounts, should it be wrong.
func forget(accounts map[string]recordedAccount, now time.Time) {
	const longAgo = 40 * 24 * 3600
	var newest int64
	for _, a := range accounts {
		newest = max(newest, a.end())
	}
	maps.DeleteFunc(accounts, func(_ string, a recordedAccount) bool {
		return a.end() > 0 && a.end() < min(newest, now.Unix())-longAgo // 0 = not used yet, or not for long enough to be written
	})
}

// Account gives the account of a target, or that of all together, with the limits of c. If there is one of that name, it gets the new
// limits and keeps what is used; with the limits that it has it stays as it is.
func (l *Ledger) Account(name string, c *Config) *Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[name]
	if a != nil && a.config == *c {
		return a
	}
	if a == nil {
		a = &Account{ledger: l}
		a.restore(l.foreign[name])
		delete(l.foreign, name)
		l.accounts[name] = a
	}
	a.config = *c
	a.price = c.price()
	a.zone = zone(c.TZ)
	for p, limit := range c.limits() {
		a.windows[p].limit = limit
	}
	a.refusedUntil = 0
	if l.path != "" {
		l.ask() // so that the first request need not wait
	}
	return a
}

// Retire drops the account of a target that is gone, in which nothing is reserved any more. What it has used counts again for the next one
// of that name.
func (l *Ledger) Retire(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[name]
	if a == nil {
		return
	}
	var used recordedAccount
	for p := range a.windows {
		used[p] = a.windows[p].exact()
	}
	delete(l.accounts, name)
	if l.foreign == nil {
		l.foreign = map[string]recordedAccount{}
	}
	l.foreign[name] = used
	forget(l.foreign, time.Now())
}

// zone is that of a validated name.
func zone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// Reserve sets aside one request and what it may need at most in all accounts, or in none if it does not fit in one of them. The first
// account that has prices says what it costs; accounts that are nil are left out. It waits for the file only where requests come in a
// burst that is larger than what the file tells ahead.
func (l *Ledger) Reserve(wall time.Time, need Need, accounts ...*Account) (*Reservation, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Reservation{ledger: l}
	r.parts = r.room[:0]
	for _, a := range accounts {
		if a == nil {
			continue
		}
		a.roll(wall)
		if r.price == (price{}) {
			r.price = a.price
		}
		r.parts = append(r.parts, part{account: a})
	}
	r.reserved = r.price.amounts(need)
	for r.fits() {
		if r.recorded() {
			r.take()
			return r, true
		}
		if !l.flush(r) {
			break
		}
		for _, part := range r.parts {
			part.account.roll(wall)
		}
	}
	return nil, false
}

// Reservation is what is set aside for a request. It ends with Settle or Cancel, each of which does nothing on a nil one.
type Reservation struct {
	ledger   *Ledger
	price    price
	reserved amounts
	parts    []part
	room     [2]part // of parts: a target and all together
}

// part is a reservation in one account, in the periods that ran when it was made.
type part struct {
	account *Account
	ends    [periods]int64
}

// fits tells whether no account refuses, and notes in each what it says.
func (r *Reservation) fits() bool {
	fits := !r.ledger.closed
	for _, part := range r.parts {
		a := part.account
		a.refusedUntil = 0
		for p := range a.windows {
			if w := &a.windows[p]; !w.fits(&r.reserved) {
				fits = false
				a.refusedUntil = max(a.refusedUntil, w.end)
			}
		}
	}
	return fits
}

// take reserves.
func (r *Reservation) take() {
	for i := range r.parts {
		part := &r.parts[i]
		for p := range part.account.windows {
			w := &part.account.windows[p]
			w.take(&r.reserved)
			part.ends[p] = w.end
		}
		part.account.prepare()
	}
}

// Settle replaces what was reserved by what the request has used. That can be more, where the need was estimated too low: then the limits
// are overrun by the difference, and nothing more is reserved.
func (r *Reservation) Settle(actual Need) {
	if r != nil {
		used := r.price.amounts(actual)
		r.end(&used)
	}
}

// Cancel gives back what was reserved for a request that was not sent.
func (r *Reservation) Cancel() {
	if r != nil {
		r.end(&amounts{})
	}
}

// end corrects the periods in which the reservation was made, as far as they still run.
func (r *Reservation) end(used *amounts) {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range r.parts {
		for p := range part.account.windows {
			if w := &part.account.windows[p]; w.end == part.ends[p] {
				w.add(&r.reserved, -1)
				w.add(used, 1)
			}
		}
		part.account.prepare()
	}
	r.parts = nil
}
