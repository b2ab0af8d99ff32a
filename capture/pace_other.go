//go:build !linux

package capture

import "time"

// exactly sleeps with the resolution of the runtime's timers.
func exactly(d time.Duration) { <-time.NewTimer(d).C }
