//go:build unix

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

// A pipe that nobody writes to is as a file on a server that has gone: whoever opens it hangs.
func TestAFileThatHangsHoldsUpNothingButReloads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, kept, pipe := filepath.Join(dir, "config.yml"), filepath.Join(dir, "kept.yml"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(path, []byte(labelled), 0o600), os.Link(path, kept), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Files: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	gc, err := c.Generator()
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	e, err := newEngine(&session{logger: quiet, files: []string{path}}, c, gc, watchers{}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.close(quiet) })
	t.Cleanup(e.generator.Close)

	if err = os.Rename(pipe, path); err != nil {
		t.Fatal(err)
	}
	limit := errors.New("as long as it may take")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, limit)
	defer cancel()
	if _, err = e.reload(ctx); !errors.Is(err, limit) {
		t.Errorf("the reload that hangs: %v", err)
	}
	if _, err = e.reload(t.Context()); err == nil || !strings.Contains(err.Error(), "file system") {
		t.Errorf("one beside it: %v", err)
	}
	if _, err = e.refresh(t.Context()); err != nil {
		t.Errorf("what is discovered meanwhile: %v", err)
	}

	back, err := os.OpenFile(path, os.O_WRONLY, 0) // when somebody reads it
	if err != nil {
		t.Fatal(err)
	}
	if err = errors.Join(os.Rename(kept, path), back.Close()); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err = e.reload(t.Context()); err == nil {
			return
		}
		if !strings.Contains(err.Error(), "file system") {
			t.Fatalf("when it is back: %v", err)
		}
		<-time.NewTimer(5 * time.Millisecond).C
	}
}
