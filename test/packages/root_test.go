//go:build packages

package packages

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// root is a system in a folder, which can be changed: the one that it was made of stays as it is.
type root struct {
	t   *testing.T
	dir string
}

// newRoot is a system like another one ("" = one that has nothing at all), until the end of the test.
func newRoot(t *testing.T, like string) root {
	t.Helper()
	r := root{t, t.TempDir()}
	if like == "" {
		return r
	}
	// A folder for temporary files may be on an overlay itself, which cannot be the upper layer of another one.
	layers := t.TempDir()
	if err := syscall.Mount("tmpfs", layers, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unmount(t, layers) })
	options := "lowerdir=" + absolute(t, like)
	for _, name := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(layers, name), 0o755); err != nil {
			t.Fatal(err)
		}
		options += "," + name + "dir=" + filepath.Join(layers, name)
	}
	if err := syscall.Mount("overlay", r.dir, "overlay", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unmount(t, r.dir) })
	return r
}

func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
		t.Errorf("unmount %s: %v", dir, err)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	out, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// path is where a file of the system lies.
func (r root) path(name string) string { return filepath.Join(r.dir, name) }

// run runs a program of the system as its root and gives what it printed.
func (r root) run(args ...string) string {
	r.t.Helper()
	return output(r.t, "chroot", append([]string{
		r.dir, "/usr/bin/env", "--ignore-environment", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C",
	}, args...)...)
}

// put copies a file into the system's folder /tmp and gives its name there.
func (r root) put(file string) string {
	r.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	name := "/tmp/" + filepath.Base(file)
	r.write(name, string(data))
	return name
}

func (r root) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(r.path(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

func (r root) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path(name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// traces are all files and folders of the system that have the program's name, without those below others of them.
func (r root) traces() []string {
	r.t.Helper()
	var out []string
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := strings.CutPrefix(path, r.dir)
		if slices.Contains([]string{"/proc", "/sys", "/dev", "/tmp"}, name) {
			return fs.SkipDir
		}
		if strings.Contains(d.Name(), "aiperf") {
			out = append(out, name)
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}
