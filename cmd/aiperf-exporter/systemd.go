package main

import (
	"context"
	"log/slog"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// notify tells systemd, if it started this process, how it is doing.
func notify(state string) {
	// Without systemd there is nobody to tell, and with it nothing better to do about an error.
	_, _ = systemd.SdNotify(false, state)
}

// notifyReloading tells that a reload has begun, which READY ends.
func notifyReloading() { notify(systemd.SdNotifyReloading + "\n" + systemd.SdNotifyMonotonicUsec()) }

// feedWatchdog tells systemd that the process is well, until ctx ends, if it wants to be told: a process in which a look at everything comes to its
// end is. One that hangs is killed and started anew. Series that do not fit together are no reason: they would not fit after a start either.
func (p *process) feedWatchdog(ctx context.Context) {
	within, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		p.logger.Warn("systemd's watchdog cannot be fed", slog.Any("err", err))
	}
	if err != nil || within == 0 {
		return
	}
	feeding := time.NewTicker(within / 2)
	defer feeding.Stop()
	for {
		_, _ = p.engine.Gather()
		notify(systemd.SdNotifyWatchdog)
		select {
		case <-ctx.Done():
			return
		case <-feeding.C:
		}
	}
}
