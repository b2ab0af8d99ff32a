//go:build kubernetes

package kubernetes

import (
	"bytes"
	"errors"
	"os/exec"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// check runs check sd and gives its exit code and what it found; what it complains of is logged.
func check(t *testing.T, config, set string) (code int, found string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(process.Within(t, patience), binary, "check", "sd", file(t, "aiperf-exporter.yml", base+config), set, "--format=json", "--timeout=8s")
	command.Stdout, command.Stderr = &stdout, &stderr
	var failed *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	t.Logf("check sd: %s", stderr.String())
	return command.ProcessState.ExitCode(), stdout.String()
}
