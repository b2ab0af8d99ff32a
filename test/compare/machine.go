package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// heading says when, where and with what the results were made.
func heading(ctx context.Context, o *options) ([]string, error) {
	version, err := exec.CommandContext(ctx, o.binary, "--version").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", o.binary, err)
	}
	// "aiperf-exporter, version 1.2.3 (branch: …" and more lines.
	ours, _, _ := strings.Cut(string(version), " (")
	tools := []string{strings.Replace(ours, ", version", "", 1)}
	for _, peer := range o.peers {
		installed, err := os.ReadFile(filepath.Join(o.peersFolder, peer, ".version"))
		if err != nil {
			return nil, fmt.Errorf("%s is not installed: %w", peer, err)
		}
		tools = append(tools, peer+" "+strings.TrimSpace(string(installed)))
	}
	return []string{
		"date: " + time.Now().UTC().Format("2006-01-02 15:04 MST"),
		fmt.Sprintf("machine: %s, %d processors, Linux %s", processor(), runtime.NumCPU(), kernel()),
		"tools: " + strings.Join(tools, "; ") + "; " + runtime.Version(),
		fmt.Sprintf("command: `make compare ROUNDS=%d SCENARIOS='%s' PEERS='%s'`", o.rounds, strings.Join(o.scenarios, " "), strings.Join(o.peers, " ")),
	}, nil
}

// processor is the model's name, as far as the kernel tells it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(text))
}
