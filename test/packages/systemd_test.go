//go:build packages

package packages

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// booted is a system that runs, with systemd.
type booted struct {
	t   *testing.T
	pid string // of its process 1
}

func boot(t *testing.T) booted {
	t.Helper()
	work := t.TempDir()
	p := process.ForTest(t, nil, source+"/test/systemd/boot.sh", absolute(t, systemd), work, "packages")
	var pid string
	ctx := process.Within(t, patience)
	err := process.Until(ctx, func() error {
		data, err := os.ReadFile(filepath.Join(work, "init"))
		pid = strings.TrimSpace(string(data))
		return err
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Output())
	}
	b := booted{t, pid}
	t.Cleanup(func() {
		_ = exec.CommandContext(context.WithoutCancel(t.Context()), "kill", "-KILL", pid).Run() // it may have ended with its parent
	})
	err = process.Until(ctx, func() error {
		_, tryErr := b.try("systemctl", "is-system-running", "--wait")
		return tryErr
	})
	if err != nil {
		t.Logf("the system is not well, which need not matter: %v", err)
	}
	return b
}

// try runs a program in the system.
func (b booted) try(args ...string) (string, error) {
	cmd := exec.CommandContext(b.t.Context(), "nsenter", append([]string{
		"--target", b.pid, "--all", "--", "/usr/bin/env", "--ignore-environment",
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C",
	}, args...)...)
	printed, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(printed)), err
}

func (b booted) run(args ...string) string {
	b.t.Helper()
	printed, err := b.try(args...)
	if err != nil {
		b.t.Fatalf("%v: %v\n%s", args, err, printed)
	}
	return printed
}

// put copies a file into the system's folder /root.
func (b booted) put(file string) string {
	b.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	to := "/root/" + filepath.Base(file)
	if err := os.WriteFile("/proc/"+b.pid+"/root"+to, data, 0o644); err != nil {
		b.t.Fatal(err)
	}
	return to
}

// property is one property of the unit.
func (b booted) property(name string) string {
	b.t.Helper()
	return b.run("systemctl", "show", "--value", "--property="+name, "aiperf-exporter.service")
}

func TestADebStartsItsServiceAndAnUpdateStartsItAgain(t *testing.T) {
	t.Parallel()
	b := boot(t)
	b.run("dpkg", "--install", b.put(debFile(t, before)))
	if active, enabled := b.property("ActiveState"), b.property("UnitFileState"); active != "active" || enabled != "enabled" {
		t.Fatalf("after the installation: %s, %s, want active, enabled", active, enabled)
	}
	first := b.property("MainPID")

	b.run("dpkg", "--install", b.put(debFile(t, after)))
	if active, pid := b.property("ActiveState"), b.property("MainPID"); active != "active" || pid == first {
		t.Errorf("after the update: %s, process %s, before it %s", active, pid, first)
	}

	b.run("systemctl", "disable", "--now", name)
	b.run("dpkg", "--install", b.put(debFile(t, after)))
	if active, enabled := b.property("ActiveState"), b.property("UnitFileState"); active != "inactive" || enabled != "disabled" {
		t.Errorf("an update of a service that is disabled: %s, %s, want inactive, disabled", active, enabled)
	}

	b.run("systemctl", "enable", "--now", name)
	b.run("dpkg", "--purge", name)
	if active := b.property("ActiveState"); active != "inactive" {
		t.Errorf("after the purge: %s, want inactive", active)
	}
}
