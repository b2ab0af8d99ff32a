package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// build is one program: for one platform, with or without NVML.
type build struct {
	os, arch string
	nvml     bool
}

// name is how the archive of a build ends: "linux-amd64-nvml".
func (b build) name() string {
	if b.nvml {
		return b.os + "-" + b.arch + "-nvml"
	}
	return b.os + "-" + b.arch
}

// packaged tells the builds of which packages are made. A package is for a machine, which may have GPUs, with the C library of its distribution.
func (b build) packaged() bool { return b.nvml }

// builds are the programs of a release. NVML needs glibc and is only there on Linux; without it a program is one static file that runs anywhere.
func (r *release) builds() []build {
	var out []build
	for _, p := range []build{{os: "linux", arch: "amd64"}, {os: "linux", arch: "arm64"}, {os: "darwin", arch: "amd64"}, {os: "darwin", arch: "arm64"}} {
		if !slices.Contains(r.platforms, p.os+"/"+p.arch) {
			continue
		}
		out = append(out, p)
		if p.os == "linux" {
			out = append(out, build{os: p.os, arch: p.arch, nvml: true})
		}
	}
	return out
}

// compilers are the C compilers for a foreign processor, as Debian calls them.
var compilers = map[string]string{"amd64": "x86_64-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc"}

// compile builds the program, with discovery in Kubernetes as in the images. What Go would find out by itself, of the version control or the
// environment, is said instead.
func (r *release) compile(ctx context.Context, b build, path string) error {
	const metadata = "github.com/prometheus/common/version"
	ldflags := fmt.Sprintf("-s -w -X %[1]s.Version=%[2]s -X %[1]s.Revision=%[3]s -X %[1]s.BuildDate=%[4]s",
		metadata, r.version, r.revision, r.date.Format("2006-01-02T15:04:05Z07:00"))
	environment := []string{"GOOS=" + b.os, "GOARCH=" + b.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0"}
	if b.nvml {
		// Functions of the NVIDIA driver are looked up when they are called: a linker that binds all of them at the start would make a program that
		// only starts where the driver is.
		ldflags += " -extldflags=-Wl,-z,lazy"
		environment = append(environment, "CGO_ENABLED=1")
		if b.arch != runtime.GOARCH {
			if _, err := exec.LookPath(compilers[b.arch]); err != nil {
				return fmt.Errorf("a C compiler for %s (on Debian: apt-get install g%s): %w", b.arch, compilers[b.arch][1:], err)
			}
			environment = append(environment, "CC="+compilers[b.arch])
		}
	}
	_, err := r.command(ctx, environment, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "k8s_sd", "-ldflags", ldflags, "-o", path, "./cmd/"+program)
	return err
}

// command runs a program in the folder of the source, with variables added to its environment, and returns what it printed.
func (r *release) command(ctx context.Context, environment []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.source
	cmd.Env = append(cmd.Environ(), environment...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), args[0], err, complaints.Bytes())
	}
	return out, nil
}

// manual is the manual page, as the program itself writes it; the program for this machine is built for that.
func (r *release) manual(ctx context.Context, stage string) ([]byte, error) {
	path := filepath.Join(stage, "host")
	if err := r.compile(ctx, build{os: runtime.GOOS, arch: runtime.GOARCH}, path); err != nil {
		return nil, err
	}
	page, err := r.command(ctx, nil, path, "--help-man")
	if err != nil {
		return nil, err
	}
	return r.titled(page)
}

// titled gives a manual page a title of one line. The one that it comes with has the whole of --version in it, which no reader of such pages
// understands; and a name without a description, which none finds.
func (r *release) titled(page []byte) ([]byte, error) {
	name := []byte("\n.SH \"SYNOPSIS\"\n")
	_, rest, found := bytes.Cut(page, name)
	if !found {
		return nil, fmt.Errorf("manual page without a synopsis")
	}
	title := fmt.Sprintf(".TH %s 1 %q %q \"User Commands\"\n.SH \"NAME\"\n%s \\- continuous load exporter for LLM inference endpoints",
		program, r.date.Format("2006-01-02"), program+" "+r.version, program)
	return slices.Concat([]byte(title), name, rest), nil
}
