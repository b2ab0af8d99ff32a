//go:build packages

package packages

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rpmFile(t *testing.T, version string) string {
	t.Helper()
	return part(t, version, name+"-"+version+".*.rpm")
}

// rpm runs the rpm of this machine on the database of a system, which has none of its own. What the package needs is there, but rpm does not know
// that, since it came by another way.
func (r root) rpm(args ...string) string {
	r.t.Helper()
	return output(r.t, "rpm", append([]string{"--root", r.dir, "--dbpath", "/var/lib/rpm"}, args...)...)
}

func TestAnRpmIsInstalledUpdatedAndRemoved(t *testing.T) {
	t.Parallel()
	r := newRoot(t, plain)
	r.rpm("--install", "--nodeps", rpmFile(t, before))
	if got, want := r.version(name), name+", version "+before; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := r.run("stat", "--format=%U:%G %a", state), name+":"+name+" 750"; got != want {
		t.Errorf("the state folder is %q, want %q", got, want)
	}
	r.write(config, targeted(demoServer(t)))
	r.measures(r.user(name), state, "/usr/bin/"+name, config)

	changed := r.read(config)
	r.rpm("--upgrade", "--nodeps", rpmFile(t, after))
	if got, want := r.version(name), name+", version "+after; !strings.HasPrefix(got, want) {
		t.Errorf("after the update: got %q, want %q", got, want)
	}
	if diff := cmp.Diff(changed, r.read(config)); diff != "" {
		t.Errorf("the update has changed the configuration (-want +got):\n%s", diff)
	}
	r.measures(r.user(name), state, "/usr/bin/"+name, config)

	r.rpm("--erase", name)
	if r.exists("/usr/bin/"+name) || r.exists(config) || !r.exists(config+".rpmsave") {
		t.Errorf("after the removal: program %v, configuration %v, kept under another name %v",
			r.exists("/usr/bin/"+name), r.exists(config), r.exists(config+".rpmsave"))
	}
}

// What an rpm needs has to be named as its distributions do, where no test here can install it with its dependencies.
func TestAnRpmNamesWhatItNeeds(t *testing.T) {
	t.Parallel()
	var got []string
	for line := range strings.Lines(output(t, "rpm", "--query", "--package", "--requires", rpmFile(t, after))) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "rpmlib(") && line != "" {
			got = append(got, line)
		}
	}
	slices.Sort(got)
	want := []string{"/usr/sbin/useradd", "libc.so.6(GLIBC_2.34)(64bit)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := output(t, "rpm", "--query", "--package", "--configfiles", rpmFile(t, after)), config+"\n/etc/default/"+name; got != want {
		t.Errorf("got configuration files %q, want %q", got, want)
	}
}
