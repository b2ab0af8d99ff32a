package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// lookInterval is the least time between two looks at a file, so that a busy target does not stat it for each request.
	lookInterval = time.Second
	// maxFileBytes is far above any credential: a larger file is a wrong path.
	maxFileBytes = 64 << 10
)

// Source is where one secret comes from: a text that is already known (a literal, or an expanded environment variable), or a file
// that is read again when it changes. It is safe for concurrent use. Make one with Literal or File.
type Source struct {
	name string
	path string // "" for a literal
	now  func() time.Time

	look     sync.Mutex // held by the one caller that looks at the file; the others go on with what is known
	nextLook time.Time  // guarded by look
	known    atomic.Pointer[known]
	failures atomic.Uint64
}

// known is what a source has read. A file that was never read has a nil info and an err.
type known struct {
	value    Secret
	previous Secret      // the value before the last rotation, which a server may still echo
	info     os.FileInfo // of the file that value was read from
	err      error
}

// Literal is a source whose value is already known. name is used in errors and metrics.
func Literal(name string, value Secret) *Source {
	s := &Source{name: name}
	s.known.Store(&known{value: value})
	return s
}

// File is a source that follows the content of a file: it is read when the value is first asked for, and again when its modification
// time, size or inode has changed. now is time.Now, except in tests.
func File(name, path string, now func() time.Time) *Source {
	return &Source{name: name, path: path, now: now}
}

// identity tells sources apart by what they give: literals by their value, files by who follows them, who may know values that the file had.
type identity struct {
	follower *Source
	literal  [2]Secret
}

func (s *Source) identity() identity {
	if s.path == "" {
		return identity{literal: s.values()}
	}
	return identity{follower: s}
}

// Name is the name that the source was made with.
func (s *Source) Name() string { return s.name }

// Path is the file, "" for a literal.
func (s *Source) Path() string { return s.path }

// ReadErrors counts the looks at the file that failed.
func (s *Source) ReadErrors() uint64 { return s.failures.Load() }

// Value gives the newest value. When the file cannot be read, the last value that could be read stays valid; an error is only
// returned when there has never been one.
func (s *Source) Value() (Secret, error) {
	k := s.refresh()
	if k.info == nil && k.err != nil {
		return "", k.err
	}
	return k.value, nil
}

// refresh looks at the file if it is time to, and gives what is known.
func (s *Source) refresh() *known {
	k := s.known.Load()
	if s.path == "" {
		return k
	}
	if k == nil {
		s.look.Lock() // nothing to go on with: wait for whoever reads first
	} else if !s.look.TryLock() {
		return k
	}
	defer s.look.Unlock()
	k = s.known.Load()
	now := s.now()
	if k != nil && now.Before(s.nextLook) {
		return k
	}
	s.nextLook = now.Add(lookInterval)
	next := s.read(k)
	s.known.Store(next)
	return next
}

// read gives what is known after a look at the file; last is nil at the first.
func (s *Source) read(last *known) *known {
	if last == nil {
		last = &known{}
	}
	value, info, err := readIfChanged(s.path, last.info)
	switch {
	case err != nil:
		s.failures.Add(1)
		next := *last
		next.err = fmt.Errorf("secret %q: %w", s.name, err)
		return &next
	case info == nil:
		return &known{value: last.value, previous: last.previous, info: last.info}
	case value == last.value:
		return &known{value: value, previous: last.previous, info: info}
	}
	return &known{value: value, previous: last.value, info: info}
}

// readIfChanged reads the secret in a file, unless the file is the one that last describes: then info is nil.
func readIfChanged(path string, last os.FileInfo) (value Secret, info os.FileInfo, err error) {
	info, err = os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	if last != nil && os.SameFile(last, info) && last.ModTime().Equal(info.ModTime()) && last.Size() == info.Size() {
		return "", nil, nil
	}
	if !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s is not a regular file", path) // opening a pipe would block
	}
	f, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	// The description comes from before the read: a change in between shows as a difference at the next look.
	if info, err = f.Stat(); err != nil {
		return "", nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return "", nil, err
	}
	value = Secret(strings.TrimRight(string(data), "\r\n"))
	if err := checkValue(value, len(data)); err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	return value, info, nil
}

// checkValue refuses what cannot be a credential, because no header could carry it.
func checkValue(value Secret, sizeBytes int) error {
	switch {
	case sizeBytes > maxFileBytes:
		return fmt.Errorf("larger than %d bytes", maxFileBytes)
	case value == "":
		return errors.New("is empty")
	case strings.ContainsFunc(string(value), func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("holds a line break or another control character")
	}
	return nil
}

// values gives every text that must not be shown: the current value and the one before it.
func (s *Source) values() [2]Secret {
	k := s.refresh()
	return [2]Secret{k.value, k.previous}
}
