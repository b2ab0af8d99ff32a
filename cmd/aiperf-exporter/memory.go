package main

import (
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// cgroupMemoryMax is where cgroup v2 tells the limit of the container that this process runs in.
const cgroupMemoryMax = "/sys/fs/cgroup/memory.max"

// setMemoryLimit makes the garbage collector keep below a share of the container's memory, unless GOMEMLIMIT says otherwise.
func setMemoryLimit(logger *slog.Logger, ratio float64) {
	if ratio <= 0 || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	raw, err := os.ReadFile(cgroupMemoryMax)
	if err != nil {
		return // not in a container with cgroup v2
	}
	if limit, ok := memoryLimit(string(raw), ratio); ok {
		debug.SetMemoryLimit(limit)
		logger.Info("memory limit from the cgroup", slog.Int64("limit_bytes", limit), slog.Float64("ratio", ratio))
	}
}

// memoryLimit is the share of what the file says in bytes; "max" is no limit.
func memoryLimit(file string, ratio float64) (int64, bool) {
	limit, err := strconv.ParseInt(strings.TrimSpace(file), 10, 64)
	if err != nil || limit <= 0 {
		return 0, false
	}
	return int64(float64(limit) * ratio), true
}
