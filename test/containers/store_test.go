//go:build containers

package containers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// What images are built with here. The date is one that no clock shows.
const (
	version  = "1.2.3-test"
	revision = "0123456789abcdef0123456789abcdef01234567"
	date     = "2020-02-02T02:02:02Z"
	epoch    = "1580608922" // the same
)

// store is where buildah keeps images and their files.
type store struct {
	folder     string
	containers []string
}

// image is one that was built.
type image struct {
	id           string
	files        string // a copy of its files
	Architecture string `json:"architecture"`
	Config       struct {
		User, WorkingDir string
		Entrypoint, Env  []string
		ExposedPorts     map[string]struct{}
		Labels           map[string]string
		Healthcheck      struct {
			Test []string
		}
	} `json:"config"`
	RootFS struct {
		Layers []string `json:"diff_ids"` // their digests
	} `json:"rootfs"`
}

// buildah runs it and gives what it prints.
func (s *store) buildah(args ...string) (string, error) {
	common := []string{"--root", filepath.Join(s.folder, "storage"), "--runroot", filepath.Join(s.folder, "run"), "--storage-driver", "vfs"}
	cmd := exec.Command("buildah", append(common, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(s.folder, "tmp"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("buildah %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// foreign is the platform that is not this machine's.
const foreign = "linux/arm64"

// build builds a target of the Dockerfile, for this machine unless a platform is given. Go, its modules and what it compiled before are those of this machine.
func (s *store) build(target, platform string) (*image, error) {
	id := filepath.Join(s.folder, "tmp", target+".id")
	args := []string{
		"build", "--isolation", "chroot", "--format", "docker", "--pull-never", "--quiet", "--timestamp", epoch, "--iidfile", id, "--target", target,
		"--build-arg", "VERSION=" + version, "--build-arg", "REVISION=" + revision, "--build-arg", "DATE=" + date, "--build-arg", "SOURCE_DATE_EPOCH=" + epoch,
	}
	for variable, place := range map[string]string{"GOROOT": "/usr/local/go", "GOMODCACHE": "/go/pkg/mod", "GOCACHE": "/root/.cache/go-build"} {
		here, err := exec.Command("go", "env", variable).Output()
		if err != nil {
			return nil, fmt.Errorf("go env %s: %w", variable, err)
		}
		args = append(args, "--volume", strings.TrimSpace(string(here))+":"+place)
	}
	if platform == foreign {
		args = append(args, "--platform", platform, "--build-arg", "BASE=localhost/debian:arm64",
			"--build-arg", "BUILDPLATFORM=linux/"+runtime.GOARCH, "--build-arg", "BUILDARCH="+runtime.GOARCH) // which this buildah does not say by itself
	}
	if _, err := s.buildah(append(args, root)...); err != nil {
		return nil, err
	}
	built, err := os.ReadFile(id)
	if err != nil {
		return nil, err
	}
	return s.open(strings.TrimPrefix(strings.TrimSpace(string(built)), "sha256:"))
}

// open lays the files of an image out.
func (s *store) open(name string) (*image, error) {
	out := &image{id: name}
	text, err := s.buildah("inspect", "--type", "image", name)
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal([]byte(text), &struct{ Docker *image }{out}); err != nil {
		return nil, fmt.Errorf("read what buildah says of %s: %w", name, err)
	}
	container, err := s.buildah("from", "--pull-never", name)
	if err != nil {
		return nil, err
	}
	s.containers = append(s.containers, container)
	out.files, err = s.buildah("mount", container)
	return out, err
}

// clean removes what was laid out, and images that have no name: everything that was built.
func (s *store) clean() {
	for _, args := range [][]string{append([]string{"rm"}, s.containers...), {"rmi", "--prune", "--force"}} {
		if len(args) == 1 {
			continue
		}
		if _, err := s.buildah(args...); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}
