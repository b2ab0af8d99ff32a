package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var commit = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestAnArchiveDoesNotTellWhenWhereOrByWhomItWasMade(t *testing.T) {
	t.Parallel()
	entries := []entry{{name: "a/z", data: []byte("last")}, {name: "a/program", executable: true, data: []byte("first")}}
	data, err := pack(entries, commit, false)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if compressed.Name != "" || !compressed.ModTime.IsZero() {
		t.Errorf("got name %q and time %v, want none", compressed.Name, compressed.ModTime)
	}
	var got []string
	for r := tar.NewReader(compressed); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, h.FileInfo().Mode().String()+" "+h.Name)
		if !h.ModTime.Equal(commit) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("%s is of %v and %d/%d %s/%s, want %v and nobody", h.Name, h.ModTime, h.Uid, h.Gid, h.Uname, h.Gname, commit)
		}
	}
	if diff := cmp.Diff([]string{"-rwxr-xr-x a/program", "-rw-r--r-- a/z"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyProgramsThatReadGPUsArePackaged(t *testing.T) {
	t.Parallel()
	r := release{platforms: []string{"linux/amd64", "darwin/arm64"}}
	got := map[string]bool{}
	for _, b := range r.builds() {
		got[b.name()] = b.packaged()
	}
	if diff := cmp.Diff(map[string]bool{"linux-amd64": false, "linux-amd64-nvml": true, "darwin-arm64": false}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVersionsOfDebianSortAsTheyAreMeant(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"1.2.3": "1.2.3-1", "1.2.3-rc.1": "1.2.3~rc.1-1", "0.0.0-20261130-8187c79": "0.0.0~20261130-8187c79-1"} {
		if got := debianVersion(version); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}

func TestABillNamesEachModuleWithItsVersion(t *testing.T) {
	t.Parallel()
	r := release{version: "1.2.3", revision: "0123", date: commit}
	modules := []debug.Module{{Path: "std", Version: "1.26.8"}, {Path: "github.com/Some/Thing_x", Version: "v2.0.0+incompatible", Sum: "h1:abc="}}
	got := r.document("name", sha256.Sum256(nil), modules)
	var names, locators []string
	for _, p := range got.Packages {
		names = append(names, p.ID+" "+p.Version+" "+p.Source)
		locators = append(locators, p.Identifiers[0].Locator)
	}
	if diff := cmp.Diff([]string{"SPDXRef-Program 1.2.3 ", "SPDXRef-Module-std 1.26.8 ", "SPDXRef-Module-github.com-Some-Thing-x v2.0.0+incompatible go.sum: h1:abc="}, names); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	want := []string{"pkg:golang/github.com/aiperf-exporter/aiperf-exporter@v1.2.3", "pkg:golang/std@1.26.8", "pkg:golang/github.com/some/thing_x@v2.0.0%2Bincompatible"}
	if diff := cmp.Diff(want, locators); diff != "" {
		t.Errorf("package URLs (-want +got):\n%s", diff)
	}
	if got := len(got.Relationships); got != 3 {
		t.Errorf("got %d relationships, want one of the document and one of each module", got)
	}
}

func TestTheManualPageHasATitleOfOneLine(t *testing.T) {
	t.Parallel()
	r := release{version: "1.2.3", date: commit}
	got, err := r.titled([]byte(".TH x 1 several\nlines \"\"\n.SH \"NAME\"\nx\n.SH \"SYNOPSIS\"\nrest\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := ".TH aiperf-exporter 1 \"2026-11-30\" \"aiperf-exporter 1.2.3\" \"User Commands\"\n.SH \"NAME\"\n" +
		"aiperf-exporter \\- continuous load exporter for LLM inference endpoints\n.SH \"SYNOPSIS\"\nrest\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := r.titled([]byte("something else")); err == nil {
		t.Error("a page of another form is taken")
	}
}

func TestAModuleWithoutALicenceIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"LICENSE-MIT", "notice.txt", "licenses.go", "README.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := licenseFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "LICENSE-MIT"), filepath.Join(dir, "notice.txt")}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := licenseFiles(t.TempDir()); err == nil {
		t.Error("a module without one is taken")
	}
}

func TestTheChartHasTheVersionOfTheRelease(t *testing.T) {
	t.Parallel()
	r := release{source: t.TempDir(), out: t.TempDir(), version: "1.2.3", date: commit, log: io.Discard}
	dir := filepath.Join(r.source, "deploy", "helm", program)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte("name: x\nversion: 0.1.0\nappVersion: 0.1.0\nkubeVersion: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.chart(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(r.out, "aiperf-exporter-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	compressed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(compressed)
	if h, nextErr := archive.Next(); nextErr != nil || h.Name != "aiperf-exporter/Chart.yaml" {
		t.Fatalf("got %v, %v", h, nextErr)
	}
	text, err := io.ReadAll(archive)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("name: x\nversion: 1.2.3\nappVersion: \"1.2.3\"\nkubeVersion: 1\n", string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChecksumsAndProvenanceAreOfWhatIsThere(t *testing.T) {
	t.Parallel()
	r := release{out: t.TempDir(), version: "1.2.3", revision: "0123", platforms: []string{"linux/amd64"}, date: commit, log: io.Discard}
	if err := r.put("b", []byte("two")); err != nil {
		t.Fatal(err)
	}
	if err := r.put("a", nil); err != nil {
		t.Fatal(err)
	}
	if err := r.provenance(); err != nil {
		t.Fatal(err)
	}
	if err := r.checksums(); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(sums)), "\n")
	if len(lines) != 3 || lines[0] != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a" || !strings.HasSuffix(lines[1], "  aiperf-exporter-1.2.3.provenance.json") {
		t.Errorf("got checksums\n%s", sums)
	}
	statement, err := os.ReadFile(filepath.Join(r.out, "aiperf-exporter-1.2.3.provenance.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"gitCommit": "0123"`, `"name": "b"`, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"} {
		if !strings.Contains(string(statement), want) {
			t.Errorf("the provenance has no %s", want)
		}
	}
}

func TestAReleaseNeedsAVersionACommitAndItsTime(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{}, {"-version", "1.2.3", "-revision", "0123"}, {"-version", "1.2.3", "-date", "2026-11-30T12:00:00Z"}, {"-version", "1.2.3", "-revision", "0123", "-date", "today"},
	} {
		if code := run(args, io.Discard, io.Discard); code != 1 {
			t.Errorf("%v: got exit code %d, want 1", args, code)
		}
	}
}
