package cgroup

import (
	"io/fs"
	"strconv"
	"strings"
)

// unlimited is what version 1 says of a group without a limit, rounded down to pages: whatever is above it is none.
const unlimited = 1 << 62

// MemoryLimit is how many bytes of memory this process may use before the kernel kills it: the smallest limit of its group and of those around
// it. ok is false if none of them has one.
func MemoryLimit(root fs.FS) (bytes int64, ok bool) {
	for _, version := range []struct{ controller, name string }{{V2, "memory.max"}, {"memory", "memory.limit_in_bytes"}} {
		for _, file := range Files(root, version.controller, version.name) {
			text, err := fs.ReadFile(root, file)
			if err != nil {
				continue // the outermost group has no limit, and a controller may not be in all of them
			}
			limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err != nil || limit <= 0 || limit >= unlimited {
				continue // "max" is no limit
			}
			if !ok || limit < bytes {
				bytes, ok = limit, true
			}
		}
	}
	return bytes, ok
}
