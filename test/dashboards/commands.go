package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// commandOfRunbook is what somebody types who follows one.
var commandOfRunbook = regexp.MustCompile("`((?:curl|aiperf-exporter) [^`\n]+)`")

func commandsOf(text string) (out []string) {
	for _, m := range commandOfRunbook.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// commands runs each command of the runbooks against the exporter that runs, with names of what is there.
func (r *rig) commands(ctx context.Context, stdout io.Writer, o *options) error {
	files, err := filepath.Glob("docs/runbooks/*.md")
	if err != nil {
		return fmt.Errorf("runbooks: %w", err)
	}
	words := strings.NewReplacer("localhost:9749", strings.TrimPrefix(r.exporter, "http://"), "aiperf-exporter ", o.binary+" ", "NAME", "steady", "FILE", r.configuration)
	ran := map[string]bool{}
	var errs []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read runbook: %w", err)
		}
		for _, command := range commandsOf(string(text)) {
			if ran[command] {
				continue
			}
			ran[command] = true
			if err := try(ctx, words.Replace(command)); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", file, command, err))
			}
		}
	}
	fmt.Fprintf(stdout, "commands of runbooks: %d run, %d failed\n", len(ran), len(errs))
	return errors.Join(errs...)
}

// try runs a command; an answer of HTTP that is an error fails it, too.
func try(ctx context.Context, command string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if strings.HasPrefix(command, "curl ") {
		command = "curl --fail --silent --show-error" + strings.TrimPrefix(command, "curl")
	}
	if out, err := exec.CommandContext(ctx, "bash", "-c", command).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %.300s", err, out)
	}
	return nil
}
