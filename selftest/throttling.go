package selftest

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
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
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // what cannot be read names no group
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo")
	for _, version := range []struct {
		controller, key string
		unit            int64
	}{{"", "throttled_usec", 1000}, {"cpu", "throttled_time", 1}} {
		t := &throttling{root: root, key: version.key, unit: version.unit}
		if group, ok := groupOf(groups, version.controller); ok {
			t.files = filesOf(mounts, version.controller, group)
		}
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

// groupOf finds the group of the process in /proc/self/cgroup, whose lines are number:controllers:path. Version 2 has no controllers there.
func groupOf(groups []byte, controller string) (group string, ok bool) {
	for line := range bytes.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), controller) {
			return fields[2], true
		}
	}
	return "", false
}

// filesOf gives the cpu.stat of a group and of those around it, as far as they are mounted.
func filesOf(mounts []byte, controller, group string) []string {
	for line := range bytes.Lines(mounts) {
		m, ok := parseMount(string(line))
		if !ok || !m.holds(controller) {
			continue
		}
		var files []string
		for below := m.below(group); ; below = path.Dir(below) {
			files = append(files, path.Join(strings.TrimPrefix(m.point, "/"), below, "cpu.stat"))
			if below == "/" {
				return files
			}
		}
	}
	return nil
}

// mount is a line of /proc/self/mountinfo: id, parent, device, root, mount point, options and more, then "-", type, source, options.
type mount struct{ root, point, kind, options string }

func parseMount(line string) (m mount, ok bool) {
	before, after, _ := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if len(left) < 5 || len(right) < 3 {
		return mount{}, false
	}
	return mount{root: left[3], point: left[4], kind: right[0], options: right[2]}, true
}

// holds tells whether the groups of a controller are mounted there.
func (m *mount) holds(controller string) bool {
	if controller == "" {
		return m.kind == "cgroup2"
	}
	return m.kind == "cgroup" && slices.Contains(strings.Split(m.options, ","), controller)
}

// below is the path of a group under the mount point. A container may see a part of the tree as its root, and its group by the name that it
// has outside or, beyond that root, not at all: then the mount point is the nearest that is known.
func (m *mount) below(group string) string {
	if m.root != "/" {
		inside, ok := strings.CutPrefix(group, m.root)
		if !ok || (inside != "" && !strings.HasPrefix(inside, "/")) {
			return "/"
		}
		group = inside
	}
	if slices.Contains(strings.Split(group, "/"), "..") {
		return "/"
	}
	return path.Clean("/" + group)
}
