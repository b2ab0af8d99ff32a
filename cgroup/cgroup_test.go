package cgroup_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aiperf-exporter/aiperf-exporter/cgroup"
)

// Whatever these files say, looking for the group comes to an end and leads to no file outside the mount.
func FuzzFiles(f *testing.F) {
	f.Add("0::/\n", mounts2)
	f.Add("4:memory:/docker/abc\n", mounts1)
	f.Add("0::/../../outside\n", mounts2)
	f.Add("0::a/./b//c\n", "1 2 3 / / rw - cgroup2 x rw")
	f.Fuzz(func(t *testing.T, groups, mounts string) {
		system := fstest.MapFS{"proc/self/cgroup": {Data: []byte(groups)}, "proc/self/mountinfo": {Data: []byte(mounts)}}
		for _, controller := range []string{cgroup.V2, "memory"} {
			for _, file := range cgroup.Files(system, controller, "memory.max") {
				if len(file) > len(mounts)+len(groups)+len("//memory.max") || !strings.HasSuffix(file, "memory.max") {
					t.Errorf("%q is not made from that", file)
				}
			}
		}
	})
}
