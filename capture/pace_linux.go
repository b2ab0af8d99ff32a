package capture

import (
	"time"

	"golang.org/x/sys/unix"
)

// exactly sleeps with the resolution of the kernel's timers. Those of the Go runtime are up to a millisecond late when nothing else happens, because
// that is the resolution with which it waits for the network.
func exactly(d time.Duration) {
	interval := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&interval, nil) // interrupted: a little too early
}
