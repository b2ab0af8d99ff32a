package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// packageNames are how the files of packages are called, by the name of their format.
var packageNames = []struct {
	format string
	name   func(version, arch string) string
}{
	{"deb", func(version, arch string) string { return program + "_" + version + "_" + arch + ".deb" }},
	{"rpm", func(version, arch string) string {
		return program + "-" + version + "." + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch] + ".rpm"
	}},
}

// packages makes the packages of a build: deploy/packages/nfpm.yaml says what of, and takes what is made here from the folder stage.
func (r *release) packages(ctx context.Context, b build, stage string, manual, licenses []byte) error {
	changes, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		program + ".1.gz": manual, "changelog.gz": changes, "changelog.Debian.gz": r.debianChanges(), "THIRD-PARTY-LICENSES.gz": licenses,
	} {
		compressed, err := compress(data)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(stage, name), compressed, 0o644); err != nil {
			return err
		}
	}
	environment := []string{"VERSION=" + r.version, "ARCH=" + b.arch, "STAGE=" + stage, "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10)}
	for _, p := range packageNames {
		file := filepath.Join(stage, p.format)
		if _, err := r.command(ctx, environment, r.nfpm, "package", "--config", "deploy/packages/nfpm.yaml", "--packager", p.format, "--target", file); err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := r.put(p.name(r.version, b.arch), data); err != nil {
			return err
		}
	}
	return nil
}

// debianChanges is the changelog that Debian's tools read; ours, which people read, is beside it.
func (r *release) debianChanges() []byte {
	return fmt.Appendf(nil, "%s (%s) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s contributors <noreply@github.com>  %s\n",
		program, debianVersion(r.version), program, r.date.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
}

// debianVersion is a version as it stands in a package, where what comes before a release has a tilde in front of it, which sorts before nothing,
// and the last number counts changes of the packaging.
func debianVersion(version string) string {
	return strings.Replace(version, "-", "~", 1) + "-1"
}

func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
