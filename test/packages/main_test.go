//go:build packages

package packages

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// patience is how long a test waits for something that takes a moment on an idle machine.
const patience = 2 * time.Minute

// The systems, as seen from this folder: one has nothing but what is required, the other one systemd.
const (
	source  = "../.."
	plain   = source + "/.cache/debian/bookworm"
	systemd = source + "/.cache/systemd/bookworm"
)

// The versions that are made: one, and one after it.
const (
	before = "1.2.3-rc.1"
	after  = "1.2.3"
)

// made has the folders with the releases, by version. Nothing writes to it once the tests run.
var made = map[string]string{}

// releases is where releases are made and left, for whoever wants to repeat a test without making them again.
var releases = flag.String("releases", "", "folder of releases that are made if they are not there, and kept")

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := with(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func with(tests func() int) (code int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("these tests make file systems: they need root")
	}
	for _, root := range []string{plain, systemd} {
		if _, err = os.Stat(root); err != nil {
			return 0, fmt.Errorf("%w (run this by make packages)", err)
		}
	}
	folder := *releases
	if folder == "" {
		if folder, err = os.MkdirTemp("", "aiperf-exporter-packages-"); err != nil {
			return 0, err
		}
		defer os.RemoveAll(folder)
	}
	for _, version := range []string{before, after} {
		made[version] = filepath.Join(folder, version)
		if _, err = os.Stat(filepath.Join(made[version], "SHA256SUMS")); err == nil {
			continue
		}
		if err = makeRelease(context.Background(), source, made[version], version); err != nil {
			return 0, err
		}
	}
	return tests(), nil
}

// makeRelease makes the parts of a release that are for this machine, from a folder of the source.
func makeRelease(ctx context.Context, source, out, version string) error {
	nfpm, err := filepath.Abs("../../.cache/nfpm/bin/nfpm")
	if err != nil {
		return err
	}
	out, err = filepath.Abs(out)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./deploy/release", "-out", out, "-version", version, "-revision", "0123456789abcdef0123456789abcdef01234567",
		"-date", "2026-11-30T12:00:00+01:00", "-platforms", "linux/"+runtime.GOARCH, "-nfpm", nfpm)
	cmd.Dir = source
	if printed, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make release %s: %w\n%s", version, err, printed)
	}
	return nil
}

// output runs a program to its end and gives what it printed, without the line's end.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, printed)
	}
	return string(bytes.TrimRight(printed, "\n"))
}

// part is the path of the one file of a release that matches a pattern.
func part(t *testing.T, version, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(made[version], pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %d files %s in the release, want one: %v", len(found), pattern, err)
	}
	return found[0]
}
