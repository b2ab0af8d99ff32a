// Package cgroup finds the files by which the kernel tells what the control groups of this process may use, in a container as well as in a service
// of the host.
package cgroup

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// V2 stands for a controller where version 2 of control groups is meant, in which one tree has all of them.
const V2 = ""

// Files gives the paths, below root, of a file of the group of this process and of those around it, the innermost first. Whether the files are there is
// not looked at; none is given where the controller is not mounted. root is the root of the file system.
func Files(root fs.FS, controller, name string) []string {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // what cannot be read names no group
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo")
	group, ok := groupOf(groups, controller)
	if !ok {
		return nil
	}
	return filesOf(mounts, controller, group, name)
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

// filesOf gives the file of a group and of those around it, as far as they are mounted.
func filesOf(mounts []byte, controller, group, name string) []string {
	for line := range bytes.Lines(mounts) {
		m, ok := parseMount(string(line))
		if !ok || !m.holds(controller) {
			continue
		}
		var files []string
		for below := m.below(group); ; below = path.Dir(below) {
			files = append(files, path.Join(strings.TrimPrefix(m.point, "/"), below, name))
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
