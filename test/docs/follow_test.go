//go:build docs

package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// limit is how long a page may take on a machine that is busy with others.
const limit = 15 * time.Minute

// shown is how much of what a page's commands wrote is shown when one fails, in bytes.
const shown = 6000

// Each page is followed in a copy of the repository, as a reader would: from top to bottom, in one shell.
func TestCommandsOfEachPageRun(t *testing.T) {
	t.Parallel()
	needPrograms(t, "bash", "curl", "jq", "python3", "setsid", "make")
	tools := buildTools(t)
	source := copyOfRepository(t)
	for _, p := range pages(t) {
		if !p.followed() {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if out, err := exec.CommandContext(t.Context(), "cp", "-a", source+"/.", folder).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			began := time.Now()
			out, err := follow(t, folder, tools, script(p))
			if err != nil {
				t.Fatalf("%v after %v\n%s", err, time.Since(began).Round(time.Second), out[max(0, len(out)-shown):])
			}
			t.Logf("followed in %v", time.Since(began).Round(time.Second))
		})
	}
}

// follow runs a script in a folder, in a network of its own, and gives what it wrote. Whatever it started is gone when it returns.
func follow(t *testing.T, folder, tools, script string) (string, error) {
	t.Helper()
	given, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	cmd := shell(process.Within(t, limit), script)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &out
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(cmd.Environ(), "given="+given, "HOME="+home(t), "GOFLAGS=-mod=readonly", "TMPDIR="+t.TempDir(),
		"PATH="+strings.Join([]string{filepath.Join(folder, "bin"), tools, os.Getenv("PATH")}, ":"))
	cmd.Env = append(cmd.Env, goFolders(t)...)
	err = cmd.Run()
	return out.String(), err
}

// home is a folder in which nothing that this user has set up may help. Where a reader would see an error of a server, curl fails.
func home(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, ".curlrc"), []byte("fail\nshow-error\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// goFolders are those that the toolchain would look for in the home of the user.
func goFolders(t *testing.T) (environment []string) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		environment = append(environment, name+"="+strings.TrimSpace(string(out)))
	}
	return environment
}

// buildTools gives a folder with the programs that pages call: what readers have installed.
func buildTools(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	command(t, root, "go", "build", "-o", folder, "./test/truthserver")
	for _, program := range []string{"prometheus/bin/prometheus", "prometheus/bin/promtool", "alertmanager/bin/alertmanager", "alertmanager/bin/amtool"} {
		path, err := filepath.Abs(filepath.Join(root, ".cache", program))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(folder, filepath.Base(program))); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// copyOfRepository gives a folder with what a clone of the working tree would have, and the program that make build has built.
func copyOfRepository(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	clone(t, folder)
	command(t, root, "cp", "--parents", "--target-directory", folder, "bin/aiperf-exporter")
	return folder
}

// clone lays down the files that git tracks or would track, as they are now.
func clone(t *testing.T, folder string) {
	t.Helper()
	command(t, root, "bash", "-euo", "pipefail", "-c",
		`git ls-files --cached --others --exclude-standard -z | while IFS= read -r -d '' f; do [[ ! -e $f ]] || printf '%s\0' "$f"; done | xargs -0 cp --parents --target-directory "$0"`, folder)
}

func command(t *testing.T, folder, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(process.Within(t, 15*time.Minute), program, args...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%v: apt-get install curl jq python3 util-linux make", err)
		}
	}
}
