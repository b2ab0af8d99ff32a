//go:build containers

package containers

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// program is where images have it.
const program = "usr/bin/aiperf-exporter"

// each runs a test for both images, which are of this machine's architecture.
func each(t *testing.T, test func(t *testing.T, i *image)) {
	t.Helper()
	for target, i := range rig.images {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			test(t, i)
		})
	}
}

func TestImagesSayHowTheyAreRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, i *image) {
		c := &i.Config
		if c.User != "65532:65532" || c.WorkingDir != "/etc/aiperf-exporter" {
			t.Errorf("user %s works in %s", c.User, c.WorkingDir)
		}
		if diff := cmp.Diff([]string{"/usr/bin/aiperf-exporter"}, c.Entrypoint); diff != "" {
			t.Errorf("entry point (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"CMD", "/usr/bin/aiperf-exporter", "check", "health"}, c.Healthcheck.Test); diff != "" {
			t.Errorf("health check (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]struct{}{"9749/tcp": {}}, c.ExposedPorts); diff != "" {
			t.Errorf("ports (-want +got):\n%s", diff)
		}
		for label, want := range map[string]string{
			"title": "aiperf-exporter", "version": version, "revision": revision, "created": date, "licenses": "Apache-2.0",
			"source": "https://github.com/aiperf-exporter/aiperf-exporter",
		} {
			if got := c.Labels["org.opencontainers.image."+label]; got != want {
				t.Errorf("label %s is %q, want %q", label, got, want)
			}
		}
	})
	// What the NVIDIA runtime goes by.
	for variable, want := range map[string]bool{"NVIDIA_VISIBLE_DEVICES=all": true, "NVIDIA_DRIVER_CAPABILITIES=utility": true} {
		if got := slices.Contains(rig.images["nvml"].Config.Env, variable); got != want {
			t.Errorf("%s: %v, want %v", variable, got, want)
		}
		if slices.Contains(rig.images["static"].Config.Env, variable) {
			t.Errorf("the static image asks for %s, of which it can make nothing", variable)
		}
	}
}

// entry is a file as an image has it.
func entry(t *testing.T, root, path string) string {
	t.Helper()
	info, err := os.Lstat(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("%s: no owner", path)
	}
	return fmt.Sprintf("%v %d:%d %s", info.Mode(), owner.Uid, owner.Gid, path)
}

func TestTheStaticImageHoldsNothingElse(t *testing.T) {
	t.Parallel()
	// The laid out copy is used by other tests, for which runc makes the places where things are mounted: this one is nobody else's.
	fresh, err := rig.store.open(rig.images["static"].id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = filepath.WalkDir(fresh.files, func(path string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(fresh.files, path); err == nil && name != "." {
			got = append(got, entry(t, fresh.files, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"drwxr-xr-x 0:0 etc",
		"drwxr-xr-x 0:0 etc/aiperf-exporter",
		"drwxr-xr-x 0:0 etc/ssl",
		"drwxr-xr-x 0:0 etc/ssl/certs",
		"-rw-r--r-- 0:0 etc/ssl/certs/ca-certificates.crt",
		"dtrwxrwxrwx 0:0 tmp",
		"drwxr-xr-x 0:0 usr",
		"drwxr-xr-x 0:0 usr/bin",
		"-rwxr-xr-x 0:0 usr/bin/aiperf-exporter",
		"drwxr-xr-x 0:0 usr/share",
		"drwxr-xr-x 0:0 usr/share/doc",
		"drwxr-xr-x 0:0 usr/share/doc/aiperf-exporter",
		"-rw-r--r-- 0:0 usr/share/doc/aiperf-exporter/LICENSE",
		"drwxr-xr-x 0:0 var",
		"drwxr-xr-x 0:0 var/lib",
		"drwxr-x--- 65532:65532 var/lib/aiperf-exporter",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if authorities, err := os.Stat(filepath.Join(fresh.files, "etc/ssl/certs/ca-certificates.crt")); err != nil || authorities.Size() < 100_000 {
		t.Errorf("certificates of authorities: %v, %v", authorities, err)
	}
}

func TestProgramsKnowTheirVersionAndKubernetes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, i *image) {
		c := start(t, i.of("--version"))
		if code, out := c.wait(t), c.out.String(); code != 0 || !strings.Contains(out, version) || !strings.Contains(out, revision) || !strings.Contains(out, "k8s_sd") {
			t.Errorf("exit code %d, want %s, %s and k8s_sd in\n%s", code, version, revision, out)
		}
	})
}

func digest(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// Layers are the same, with the dates in them. buildah writes a name that it draws into the configuration of an image, so that this is not compared.
func TestTwoBuildsAreTheSame(t *testing.T) {
	for target, first := range rig.images {
		second, err := rig.store.build(target, "")
		if err != nil {
			t.Fatal(err)
		}
		want, got := digest(t, filepath.Join(first.files, program)), digest(t, filepath.Join(second.files, program))
		if want != got {
			t.Errorf("%s: programs are %s and %s", target, want, got)
		}
		if diff := cmp.Diff(first.RootFS.Layers, second.RootFS.Layers); diff != "" || len(first.RootFS.Layers) == 0 {
			t.Errorf("%s: layers (-first +second):\n%s", target, diff)
		}
		info, err := os.Stat(filepath.Join(first.files, program))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: program of %d MiB, %s; layers %v", target, info.Size()>>20, want, first.RootFS.Layers)
		if got := fmt.Sprint(info.ModTime().Unix()); got != epoch {
			t.Errorf("%s: the program is of %s, want %s", target, got, epoch)
		}
	}
}

// Whoever doubts an image builds the program anywhere.
func TestTheStaticProgramIsTheOneThatIsBuiltElsewhere(t *testing.T) {
	elsewhere := t.TempDir()
	list, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // removed, and git does not know it yet
		}
		path := filepath.Join(elsewhere, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	variable := "-X github.com/prometheus/common/version."
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "k8s_sd", "-ldflags",
		"-s -w "+variable+"Version="+version+" "+variable+"Revision="+revision+" "+variable+"BuildDate="+date, "-o", "program", "./cmd/aiperf-exporter")
	build.Dir, build.Env = elsewhere, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want, got := digest(t, filepath.Join(rig.images["static"].files, program)), digest(t, filepath.Join(elsewhere, "program")); want != got {
		t.Errorf("it is %s, want %s", got, want)
	}
}
