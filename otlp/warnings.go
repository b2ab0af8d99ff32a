package otlp

import (
	"log/slog"
	"sync"
	"time"
)

// warnEvery is the least time between two warnings: a collector that is away for a day should not fill the log.
const warnEvery = time.Minute

// warnings logs what goes wrong. Safe for concurrent use.
type warnings struct {
	logger *slog.Logger
	now    func() time.Time
	redact func(string) string // of what a collector says, which may quote a header

	mu      sync.Mutex
	next    time.Time
	notTold int
	ended   bool
}

// ending lets the next warnings through: nothing comes after them, and nothing is sent again.
func (w *warnings) ending() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next, w.ended = time.Time{}, true
}

func (w *warnings) isEnding() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// warn logs an error, or counts it for the next time.
func (w *warnings) warn(what string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if now.Before(w.next) {
		w.notTold++
		return
	}
	if !w.ended {
		w.next = now.Add(warnEvery)
	}
	w.logger.Warn("OTLP export", slog.String("problem", what), slog.String("err", w.text(err)), slog.Int("not_told", w.notTold))
	w.notTold = 0
}

// text is what an error says, without secrets.
func (w *warnings) text(err error) string {
	if w.redact == nil {
		return err.Error()
	}
	return w.redact(err.Error())
}
