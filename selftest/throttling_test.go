package selftest

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// system is a file system with what the kernel says about a process.
func system(groups, mounts string, stats map[string]string) fstest.MapFS {
	files := fstest.MapFS{
		"proc/self/cgroup":    {Data: []byte(groups)},
		"proc/self/mountinfo": {Data: []byte(mounts)},
	}
	for name, text := range stats {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

const (
	mounts2 = "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" +
		"31 24 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	mounts1 = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" +
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n" +
		"34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
	groups1 = "5:cpuset:/\n4:cpu,cpuacct:/docker/abc\n0::/\n"
)

func stat2(usec string) string {
	return "usage_usec 10\nuser_usec 6\nsystem_usec 4\nnr_periods 5\nnr_throttled 2\nthrottled_usec " + usec + "\n"
}

func stat1(ns string) string { return "nr_periods 5\nnr_throttled 2\nthrottled_time " + ns + "\n" }

func TestThrottlingIsFound(t *testing.T) {
	t.Parallel()
	known := func(n int64) total { return total{n, true} }
	tests := []struct {
		name string
		fs   fstest.MapFS
		want total
	}{
		{"no /proc", fstest.MapFS{}, total{}},
		{"version 2, container with a tree of its own", system("0::/\n", mounts2, map[string]string{
			"sys/fs/cgroup/cpu.stat": stat2("250"),
		}), known(250_000)},
		{"version 2, root of the host, which has no quota", system("0::/\n", mounts2, map[string]string{
			"sys/fs/cgroup/cpu.stat": "usage_usec 10\n",
		}), total{}},
		{"version 2, service in a slice with a quota", system("0::/a.slice/b.service\n", mounts2, map[string]string{
			"sys/fs/cgroup/cpu.stat":                   "usage_usec 10\n",
			"sys/fs/cgroup/a.slice/cpu.stat":           stat2("200"),
			"sys/fs/cgroup/a.slice/b.service/cpu.stat": stat2("50"),
		}), known(250_000)},
		{"version 2, group without the controller below one with it", system("0::/a.slice/b.service\n", mounts2, map[string]string{
			"sys/fs/cgroup/a.slice/cpu.stat":           stat2("200"),
			"sys/fs/cgroup/a.slice/b.service/cpu.stat": "usage_usec 10\n",
		}), known(200_000)},
		{"version 2, container that sees its group by the name outside", system(
			"0::/docker/abc/init\n", "31 24 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", map[string]string{
				"sys/fs/cgroup/cpu.stat":      stat2("3"),
				"sys/fs/cgroup/init/cpu.stat": stat2("4"),
			}), known(7_000)},
		{"version 2, container that sees the group of another by a like name", system(
			"0::/docker/abcdef\n", "31 24 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", map[string]string{
				"sys/fs/cgroup/cpu.stat":     stat2("3"),
				"sys/fs/cgroup/def/cpu.stat": stat2("4"),
			}), known(3_000)},
		{"version 2, group beyond what is mounted", system("0::/../../outside\n", mounts2, map[string]string{
			"sys/fs/cgroup/cpu.stat": stat2("5"),
		}), known(5_000)},
		{"version 2 is not mounted", system("0::/\n", "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n", map[string]string{
			"sys/fs/cgroup/cpu.stat": stat2("5"),
		}), total{}},
		{"version 1", system(groups1, mounts1, map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/cpu.stat":            stat1("0"),
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.stat": stat1("1234"),
		}), known(1234)},
		{"version 1, container that sees its group by the name outside", system(
			groups1, "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n", map[string]string{
				"sys/fs/cgroup/cpu,cpuacct/cpu.stat": stat1("99"),
			}), known(99)},
		{"both versions, the processor under version 1", system(
			groups1, mounts1+"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", map[string]string{
				"sys/fs/cgroup/unified/cpu.stat":                "usage_usec 10\n",
				"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.stat": stat1("77"),
			}), known(77)},
		{"numbers that are none", system("0::/\n", mounts2, map[string]string{"sys/fs/cgroup/cpu.stat": stat2("many")}), total{}},
		{"negative number", system("0::/\n", mounts2, map[string]string{"sys/fs/cgroup/cpu.stat": stat2("-1")}), total{}},
		{"files that say nothing", system("x\n::\n", "- - -\n1 2\n", nil), total{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, findThrottling(test.fs).read(), cmp.AllowUnexported(total{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A group that vanishes must not look as if its time had been given back.
func TestThrottlingWithoutAPartIsNotKnown(t *testing.T) {
	t.Parallel()
	fs := system("0::/a\n", mounts2, map[string]string{"sys/fs/cgroup/cpu.stat": stat2("3"), "sys/fs/cgroup/a/cpu.stat": stat2("4")})
	throttling := findThrottling(fs)
	if got := throttling.read(); got.n != 7_000 {
		t.Fatalf("got %+v, want 7000 ns", got)
	}
	delete(fs, "sys/fs/cgroup/a/cpu.stat")
	if got := throttling.read(); got.known {
		t.Errorf("got %+v, want nothing", got)
	}
}

// Whatever these files say, what is read of them is a time.
func FuzzThrottling(f *testing.F) {
	f.Add("0::/\n", mounts2, stat2("250"))
	f.Add(groups1, mounts1, stat1("1234"))
	f.Add("0::/../../outside\n", mounts2, stat2("1"))
	f.Add("0::a/./b//c\n", "1 2 3 / / rw - cgroup2 x rw", "throttled_usec 1")
	f.Fuzz(func(t *testing.T, groups, mounts, stat string) {
		if got := findThrottling(system(groups, mounts, map[string]string{"sys/fs/cgroup/cpu.stat": stat})).read(); got.n < 0 {
			t.Errorf("got %+v", got)
		}
	})
}
