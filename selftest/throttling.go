package selftest

import (
	"bytes"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/cgroup"
)

// throttling reads for how long the kernel denied the processor to the control groups of this process because their quota was used up. A
// quota may be set on any group around the process, and each tells only its own: their times are added up.
type throttling struct {
	root  fs.FS
	files []string // cpu.stat of the groups, the innermost first; none outside control groups
	key   string
	unit  int64 // nanoseconds
}

// findThrottling finds the files, of version 2 of control groups before those of version 1: on systems that mount both, the processor is
// controlled by only one, and the files of the other do not have the key.
func findThrottling(root fs.FS) *throttling {
	for _, version := range []struct {
		controller, key string
		unit            int64
	}{{cgroup.V2, "throttled_usec", 1000}, {"cpu", "throttled_time", 1}} {
		t := &throttling{root: root, key: version.key, unit: version.unit, files: cgroup.Files(root, version.controller, "cpu.stat")}
		t.files = slices.DeleteFunc(t.files, func(file string) bool { return !t.readFile(file).known })
		if len(t.files) > 0 {
			return t
		}
	}
	return &throttling{}
}

// read is the time of all groups together.
func (t *throttling) read() total {
	var sum total
	for _, file := range t.files {
		one := t.readFile(file)
		if !one.known {
			return total{} // a sum without a part of it would look like a beginning anew
		}
		sum = total{n: sum.n + one.n, known: true}
	}
	return sum
}

// readFile finds the key in a file of lines of a word and a number.
func (t *throttling) readFile(file string) total {
	text, err := fs.ReadFile(t.root, file)
	if err != nil {
		return total{} // the group has gone, or the controller was never in it
	}
	for line := range bytes.Lines(text) {
		word, number, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if n, err := strconv.ParseInt(number, 10, 64); word == t.key && err == nil && n >= 0 {
			return total{n: n * t.unit, known: true}
		}
	}
	return total{}
}
