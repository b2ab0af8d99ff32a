// Package systemd tells the service manager that started this process how it is doing, in the words of sd_notify(3): what Type=notify and
// Type=notify-reload wait for, what the watchdog wants to hear, and the line that `systemctl status` shows. Without a service manager nothing is said.
//
// It never decides whether the process is well: whoever runs Notifier.Run looks, and a look that does not come back is the finding.
package systemd

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	// lookInterval is the time between two looks where the watchdog asks for none sooner.
	lookInterval = 15 * time.Second
	// maxStatusBytes is what fits into a line that people read; the whole error is in the log.
	maxStatusBytes = 240
)

// Notifier says it. It is safe for concurrent use, and what it cannot get through is lost: there is nothing better to do about it.
type Notifier struct {
	heard    bool          // there is a service manager
	watchdog time.Duration // within which it wants to hear something; 0 = it does not
	mu       sync.Mutex
	status   string // what was said last, guarded by mu
}

// New makes one for the service manager of the environment, if there is one.
func New(logger *slog.Logger) *Notifier {
	n := &Notifier{heard: os.Getenv("NOTIFY_SOCKET") != ""}
	if !n.heard {
		return n
	}
	var err error
	if n.watchdog, err = daemon.SdWatchdogEnabled(false); err != nil {
		logger.Warn("systemd's watchdog cannot be fed", slog.Any("err", err))
	}
	return n
}

// Ready ends the start, or a reload, whatever has come of it.
func (n *Notifier) Ready(status string) { n.say(status, daemon.SdNotifyReady) }

// Reloading begins a reload, which Ready ends.
func (n *Notifier) Reloading() { n.say("", daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec()) }

// Stopping begins the end, which takes no longer than within: the service manager does not kill before.
func (n *Notifier) Stopping(within time.Duration, status string) {
	n.say(status, daemon.SdNotifyStopping, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", within.Microseconds()))
}

// Status changes the line that people see.
func (n *Notifier) Status(status string) { n.say(status) }

// Run looks after the process until ctx ends: look comes back with a status, which also feeds the watchdog. If it does not come back, the service
// manager takes the process for hung.
func (n *Notifier) Run(ctx context.Context, look func() (status string)) {
	if !n.heard {
		return
	}
	interval, fed := lookInterval, []string(nil)
	if n.watchdog > 0 {
		interval, fed = min(interval, n.watchdog/2), []string{daemon.SdNotifyWatchdog}
	}
	looks := time.NewTicker(interval)
	defer looks.Stop()
	for {
		n.say(look(), fed...)
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
		}
	}
}

// say sends states, and the status if it is another than before; "" leaves it as it is.
func (n *Notifier) say(status string, states ...string) {
	if !n.heard {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if status = line(status); status != "" && status != n.status {
		n.status = status
		states = append(states, "STATUS="+status)
	}
	if len(states) > 0 {
		_, _ = daemon.SdNotify(false, strings.TrimSpace(strings.Join(states, "\n"))) // the instant of a reload ends with a line break
	}
}

// line is a text as the service manager takes it: in one line, in UTF-8, and no longer than people read.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.TrimSpace(text)
	if len(text) <= maxStatusBytes {
		return text
	}
	end := maxStatusBytes - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
