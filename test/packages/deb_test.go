//go:build packages

package packages

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Where the packages put what, and whose it is.
const (
	name   = "aiperf-exporter"
	config = "/etc/aiperf-exporter/aiperf-exporter.yml"
	state  = "/var/lib/aiperf-exporter"
)

func debFile(t *testing.T, version string) string {
	t.Helper()
	return part(t, version, name+"_"+version+"_*.deb")
}

// status is what dpkg says of the package: "installed", "config-files", or nothing.
func (r root) status() string {
	out, _ := exec.CommandContext(r.t.Context(), "chroot", r.dir, "dpkg-query", "--show", "--showformat=${db:Status-Status}", name).Output() // an error: it has never heard of it
	return string(out)
}

func TestADebIsInstalledUpdatedRemovedAndPurged(t *testing.T) {
	t.Parallel()
	r := newRoot(t, plain)
	traces := r.traces()

	r.run("dpkg", "--install", r.put(debFile(t, before)))
	if got, want := r.version(name), name+", version "+before; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := r.run("stat", "--format=%U:%G %a", state), name+":"+name+" 750"; got != want {
		t.Errorf("the state folder is %q, want %q", got, want)
	}
	if got := r.run(name, "check", "config", config); !strings.Contains(got, "ok: 0 targets") {
		t.Errorf("got %q of the configuration as it comes", got)
	}
	r.write(config, targeted(demoServer(t)))
	r.measures(r.user(name), state, "/usr/bin/"+name, config)

	changed := r.read(config)
	r.run("dpkg", "--install", r.put(debFile(t, after)))
	if got, want := r.version(name), name+", version "+after; !strings.HasPrefix(got, want) {
		t.Errorf("after the update: got %q, want %q", got, want)
	}
	if diff := cmp.Diff(changed, r.read(config)); diff != "" {
		t.Errorf("the update has changed the configuration (-want +got):\n%s", diff)
	}
	r.measures(r.user(name), state, "/usr/bin/"+name, config)

	r.run("dpkg", "--remove", name)
	if got := r.status(); got != "config-files" || !r.exists(config) || !r.exists(state) || r.exists("/usr/bin/"+name) {
		t.Errorf("after the removal: %q, configuration %v, state %v, program %v", got, r.exists(config), r.exists(state), r.exists("/usr/bin/"+name))
	}
	r.run("dpkg", "--purge", name)
	if diff := cmp.Diff(traces, r.traces()); r.status() != "" || diff != "" {
		t.Errorf("after the purge: %q, left over (-want +got):\n%s", r.status(), diff)
	}
}

// With apt, which sees to it that what the package depends on is there.
func TestADebIsInstalledByApt(t *testing.T) {
	t.Parallel()
	r := newRoot(t, plain)
	r.run("apt-get", "--yes", "--quiet", "--no-install-recommends", "install", r.put(debFile(t, after)))
	r.write(config, targeted(demoServer(t)))
	r.measures(r.user(name), state, "/usr/bin/"+name, config)
	r.run("apt-get", "--yes", "--quiet", "purge", name)
	if got := r.status(); got != "" || r.exists(state) || r.exists(config) {
		t.Errorf("after the purge: %q, state %v, configuration %v", got, r.exists(state), r.exists(config))
	}
}

func TestADebHasWhatIsPromised(t *testing.T) {
	t.Parallel()
	want := []string{
		"/etc/aiperf-exporter/aiperf-exporter.yml", "/etc/default/aiperf-exporter", "/usr/bin/aiperf-exporter",
		"/usr/lib/systemd/system/aiperf-exporter.service", "/usr/lib/sysusers.d/aiperf-exporter.conf",
		"/usr/share/aiperf-exporter/dashboards/aiperf-target.json", "/usr/share/aiperf-exporter/rules/slo.yml",
		"/usr/share/bash-completion/completions/aiperf-exporter", "/usr/share/doc/aiperf-exporter/copyright",
		"/usr/share/man/man1/aiperf-exporter.1.gz", "/var/lib/aiperf-exporter",
	}
	listing := output(t, "dpkg-deb", "--contents", debFile(t, after))
	for _, file := range want {
		if !strings.Contains(listing, " ."+file) {
			t.Errorf("the package has no %s", file)
		}
	}
	fields := output(t, "dpkg-deb", "--field", debFile(t, after), "Architecture", "Version", "Depends")
	want = []string{"Architecture: " + runtime.GOARCH, "Depends: libc6 (>= 2.34), passwd", "Version: " + after + "-1"}
	if diff := cmp.Diff(want, slices.Sorted(strings.SplitSeq(fields, "\n"))); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// Debian's own linter, which knows the policy.
func TestADebHasNothingThatLintianCallsWrong(t *testing.T) {
	t.Parallel()
	if out := output(t, "lintian", "--fail-on=error,warning", "--info", debFile(t, after)); out != "" {
		t.Log(out)
	}
}
