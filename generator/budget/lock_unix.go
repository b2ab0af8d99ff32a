//go:build unix

package budget

import (
	"errors"
	"os"
	"syscall"
)

var errLocked = errors.New("another process uses it: every exporter needs a file of its own")

// lockFile locks the file at path for this process, until it is closed or the process has ended. It is not the file of the ledger itself,
// since that one is replaced.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
