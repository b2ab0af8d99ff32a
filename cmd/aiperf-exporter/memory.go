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
		return // not in a container with a limit
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil { // "max"
		return
	}
	soft := int64(float64(limit) * ratio)
	debug.SetMemoryLimit(soft)
	logger.Info("memory limit from the cgroup", "limit_bytes", limit, "soft_limit_bytes", soft)
}
