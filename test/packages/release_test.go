//go:build packages

package packages

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The program of the archive needs nothing of the system that it runs in.
func TestAnArchiveRunsWhereThereIsNothingElse(t *testing.T) {
	t.Parallel()
	r := newRoot(t, "")
	output(t, "tar", "--extract", "--strip-components=1", "--no-same-owner", "--directory", r.dir, "--file", part(t, after, "*.linux-"+runtime.GOARCH+".tar.gz"))
	if err := os.Mkdir(r.path("/state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(r.path("/state"), 65532, 65532); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("/aiperf-exporter.yml", targeted(demoServer(t)))
	r.measures("65532:65532", "/state", "/"+name, "/aiperf-exporter.yml")
}

// The glibc that the packages ask for has to be that of the program: a newer symbol would be a program that does not start.
func TestTheProgramOfAPackageNeedsNoNewerCLibraryThanThePackageSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	output(t, "tar", "--extract", "--strip-components=1", "--directory", dir, "--file", part(t, after, "*.linux-"+runtime.GOARCH+"-nvml.tar.gz"))
	symbols := output(t, "objdump", "--dynamic-syms", filepath.Join(dir, name))
	newest := slices.MaxFunc(regexp.MustCompile(`GLIBC_2\.(\d+)\b`).FindAllString(symbols, -1), func(a, b string) int {
		return len(a)*1000 + strings.Compare(a, b) - len(b)*1000
	})
	if newest != "GLIBC_2.34" {
		t.Errorf("the program needs %s, the packages ask for 2.34: see deploy/packages/nfpm.yaml", newest)
	}
}

// Whoever installs a release, however that be, gets the same program: every page of the documentation is true for it.
func TestProgramsOfAReleaseAskKubernetes(t *testing.T) {
	t.Parallel()
	for _, variant := range []string{"", "-nvml"} {
		dir := t.TempDir()
		output(t, "tar", "--extract", "--strip-components=1", "--directory", dir, "--file", part(t, after, "*.linux-"+runtime.GOARCH+variant+".tar.gz"))
		if printed := output(t, filepath.Join(dir, name), "--version"); !strings.Contains(printed, "k8s_sd") || !strings.Contains(printed, after) {
			t.Errorf("want %s and k8s_sd in\n%s", after, printed)
		}
	}
}

// Whoever builds the same source gets the same bytes, in whatever folder.
func TestAReleaseIsTheSameFromAnotherFolder(t *testing.T) {
	t.Parallel()
	copied, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	files := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	files.Dir = source
	list, err := files.Output()
	if err != nil {
		t.Fatal(err)
	}
	var present bytes.Buffer
	for file := range bytes.SplitSeq(list, []byte{0}) {
		if _, err := os.Lstat(filepath.Join(source, string(file))); err == nil && len(file) > 0 { // not one that is deleted, and not yet said so
			present.Write(append(file, 0))
		}
	}
	cmd := exec.CommandContext(t.Context(), "xargs", "-0", "cp", "--parents", "--target-directory", copied)
	cmd.Dir, cmd.Stdin = source, &present
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("copy the source: %v\n%s", err, printed)
	}
	if err := makeRelease(t.Context(), copied, out, after); err != nil {
		t.Fatal(err)
	}
	var sums [2]string
	for i, dir := range []string{made[after], out} {
		data, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(data)
	}
	if diff := cmp.Diff(sums[0], sums[1]); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestTheChecksumsAreOfAllFiles(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	cmd.Dir = made[after]
	printed, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	files, err := os.ReadDir(made[after])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(string(printed), ": OK"), len(files)-1; got != want {
		t.Errorf("got %d checksums, want %d", got, want)
	}
}

// The tools of SPDX take the bills of materials for what they should be.
func TestTheBillsOfMaterialsAreValid(t *testing.T) {
	t.Parallel()
	for _, variant := range []string{"", "-nvml"} {
		output(t, source+"/.cache/spdx/bin/pyspdxtools", "--infile", part(t, after, "*.linux-"+runtime.GOARCH+variant+".spdx.json"))
	}
}
