// Command release makes what a release consists of from the source it stands in: programs in archives, packages of Linux distributions, rules and
// dashboards, the Helm chart, container images that were built before, bills of materials, a statement of provenance, and the checksums of it all.
// The same commit gives the same bytes: nothing in them comes from the clock, the user or the path. It signs and publishes nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const program = "aiperf-exporter"

// release is what is made, of what, and where to.
type release struct {
	source    string // the folder of the module
	out       string // emptied first
	version   string // without a leading v
	revision  string // the commit
	date      time.Time
	platforms []string // "linux/amd64"
	nfpm      string
	images    string // a folder of OCI image layouts, or ""
	log       io.Writer
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	r := release{log: stdout}
	var date, platforms string
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&r.source, "source", ".", "`folder` of the source")
	flags.StringVar(&r.out, "out", "build/release", "`folder` of the result, emptied first")
	flags.StringVar(&r.version, "version", "", "the release's `version`, like 1.2.3")
	flags.StringVar(&r.revision, "revision", "", "its `commit`")
	flags.StringVar(&date, "date", "", "the commit's `time`, RFC 3339")
	flags.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "`list` of platforms")
	flags.StringVar(&r.nfpm, "nfpm", ".cache/nfpm/bin/nfpm", "`path` of the program that writes packages")
	flags.StringVar(&r.images, "images", "", "`folder` of OCI image layouts that belong to this release")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	r.platforms = strings.Split(platforms, ",")
	err := r.prepare(date)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = r.make(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// prepare checks what was given and makes paths absolute, since programs are started in other folders.
func (r *release) prepare(date string) (err error) {
	if r.version == "" || r.revision == "" {
		return fmt.Errorf("a release needs -version and -revision, got %q and %q", r.version, r.revision)
	}
	if r.date, err = time.Parse(time.RFC3339, date); err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	r.date = r.date.UTC()
	paths := []*string{&r.source, &r.out, &r.nfpm}
	if r.images != "" {
		paths = append(paths, &r.images)
	}
	for _, path := range paths {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	return nil
}

// make makes everything, the checksums last.
func (r *release) make(ctx context.Context) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "aiperf-exporter-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }() // a leftover in the temporary folder harms nobody
	manual, err := r.manual(ctx, stage)
	if err != nil {
		return err
	}
	for _, b := range r.builds() {
		if err := r.program(ctx, b, filepath.Join(stage, b.name()), manual); err != nil {
			return fmt.Errorf("%s: %w", b.name(), err)
		}
	}
	for _, step := range []func() error{r.rulesAndDashboards, r.chart, r.layouts, r.provenance, r.checksums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// program makes what there is of one build: archive, bill of materials and, if it is one for them, packages.
func (r *release) program(ctx context.Context, b build, stage string, manual []byte) error {
	fmt.Fprintln(r.log, "building", b.name())
	if err := r.compile(ctx, b, filepath.Join(stage, program)); err != nil {
		return err
	}
	modules, err := readModules(filepath.Join(stage, program))
	if err != nil {
		return err
	}
	licenses, err := r.licenses(ctx, modules)
	if err != nil {
		return err
	}
	if err := r.archive(b, stage, manual, licenses); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if err := r.bill(b, stage, modules); err != nil {
		return fmt.Errorf("bill of materials: %w", err)
	}
	if !b.packaged() {
		return nil
	}
	if err := r.packages(ctx, b, stage, manual, licenses); err != nil {
		return fmt.Errorf("packages: %w", err)
	}
	return nil
}
