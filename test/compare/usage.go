package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// usage is what a program and all processes that descend from it took.
type usage struct {
	Code    int     `json:"code"`        // exit code of the program, -1 if a signal ended it
	Started int64   `json:"started_ns"`  // wall clock
	CPU     float64 `json:"cpu_seconds"` // in the programs and in the kernel
	Peak    int64   `json:"peak_bytes"`  // most memory at a time; pages that processes share count once
}

// errArguments says how supervise is called.
var errArguments = errors.New("-supervise FILE PROGRAM [ARGUMENT...]")

// superviseTo is this program in its other role: the parent of a tool, which outlives all of the tool's processes and writes down
// what they took. A process of its own, so that their sum is exactly what the kernel says of its children.
func superviseTo(file string, command []string, stderr io.Writer) int {
	if len(command) == 0 {
		fmt.Fprintln(stderr, errArguments)
		return 2
	}
	used, err := supervise(command[0], command[1:])
	if err == nil {
		var text []byte
		text, err = json.Marshal(used)
		err = errors.Join(err, os.WriteFile(file, text, 0o600))
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// readUsage reads what superviseTo wrote.
func readUsage(file string) (usage, error) {
	var used usage
	text, err := os.ReadFile(file)
	if err != nil {
		return used, err
	}
	if err := json.Unmarshal(text, &used); err != nil {
		return used, fmt.Errorf("%s: %w", file, err)
	}
	return used, nil
}
