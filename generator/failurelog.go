package generator

import (
	"log/slog"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// failureLogInterval is how often failures of one class are told at most.
const failureLogInterval = time.Minute

// failureLog tells the failures of one target: the first of a class at once, then at most one line a minute with how often it happened.
type failureLog struct {
	logger *slog.Logger
	clock  *metrics.SystemClock

	mu     sync.Mutex
	told   map[metrics.ErrorClass]int64 // when
	silent map[metrics.ErrorClass]int64 // how often since
}

func newFailureLog(logger *slog.Logger, clock *metrics.SystemClock) *failureLog {
	return &failureLog{logger: logger, clock: clock, told: map[metrics.ErrorClass]int64{}, silent: map[metrics.ErrorClass]int64{}}
}

func (f *failureLog) note(r *metrics.Record) {
	f.mu.Lock()
	now := f.clock.Now()
	if told, ok := f.told[r.Class]; ok && now-told < int64(failureLogInterval) {
		f.silent[r.Class]++
		f.mu.Unlock()
		return
	}
	silent := f.silent[r.Class]
	f.told[r.Class], f.silent[r.Class] = now, 0
	f.mu.Unlock()
	f.logger.Warn("request failed", slog.String("error_class", string(r.Class)), slog.String("request_id", r.RequestID),
		slog.Int("status", r.Status), slog.String("err", r.Detail), slog.Int64("not_told", silent))
}
