package transport

import "time"

// taker takes what arrives on a socket. Its methods are called one at a time, on the poller's goroutine, and must not close the socket.
type taker interface {
	// arrived takes the bytes of a read that returned at now, with the kernel's wall-clock stamp, 0 = none. They are valid during the call.
	// over tells that nothing more is wanted.
	arrived(p []byte, now time.Time, kernelWall int64) (over bool)
	// ended tells that nothing more will arrive: io.EOF, or why.
	ended(err error)
}
