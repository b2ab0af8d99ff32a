package cgroup_test

import (
	"testing"
	"testing/fstest"

	"github.com/aiperf-exporter/aiperf-exporter/cgroup"
)

const (
	mounts2 = "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" +
		"31 24 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	mounts1 = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" +
		"33 31 0:30 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
)

func TestMemoryLimitIsTheSmallestAroundTheProcess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		groups, mounts string
		limits         map[string]string
		want           int64
	}{
		"no control groups":           {"", "", nil, 0},
		"a container":                 {"0::/\n", mounts2, map[string]string{"sys/fs/cgroup/memory.max": "1000000\n"}, 1000000},
		"a container without a limit": {"0::/\n", mounts2, map[string]string{"sys/fs/cgroup/memory.max": "max\n"}, 0},
		"a service in a slice with less": {"0::/a.slice/b.service\n", mounts2, map[string]string{
			"sys/fs/cgroup/a.slice/memory.max":           "2000\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "3000\n",
		}, 2000},
		"a service with a limit in a slice without": {"0::/a.slice/b.service\n", mounts2, map[string]string{
			"sys/fs/cgroup/a.slice/memory.max":           "max\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "3000\n",
		}, 3000},
		"version 1, a container": {"4:memory:/docker/abc\n", mounts1, map[string]string{
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "5000\n",
		}, 5000},
		"version 1, without a limit": {"4:memory:/docker/abc\n", mounts1, map[string]string{
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		"a limit of nothing":       {"0::/\n", mounts2, map[string]string{"sys/fs/cgroup/memory.max": "0\n"}, 0},
		"a file that says nothing": {"0::/\n", mounts2, map[string]string{"sys/fs/cgroup/memory.max": ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{"proc/self/cgroup": {Data: []byte(test.groups)}, "proc/self/mountinfo": {Data: []byte(test.mounts)}}
			for file, text := range test.limits {
				files[file] = &fstest.MapFile{Data: []byte(text)}
			}
			got, ok := cgroup.MemoryLimit(files)
			if got != test.want || ok != (test.want > 0) {
				t.Errorf("got %d, %v, want %d", got, ok, test.want)
			}
		})
	}
}
