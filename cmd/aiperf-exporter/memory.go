package main

import (
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/aiperf-exporter/aiperf-exporter/cgroup"
)

// setMemoryLimit makes the garbage collector keep below a share of what this container or service may use, unless GOMEMLIMIT says otherwise.
func setMemoryLimit(logger *slog.Logger, ratio float64) {
	if ratio <= 0 || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit, ok := cgroup.MemoryLimit(os.DirFS("/"))
	if !ok {
		return
	}
	limit = int64(float64(limit) * ratio)
	debug.SetMemoryLimit(limit)
	logger.Info("memory limit from the cgroup", slog.Int64("limit_bytes", limit), slog.Float64("ratio", ratio))
}
