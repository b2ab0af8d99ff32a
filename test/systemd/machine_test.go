//go:build systemd

package systemd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// patience is how long a test waits for something that takes a moment on an idle machine.
const patience = time.Minute

// What is installed, as seen from this folder, and where.
const (
	roots  = "../../.cache/systemd"
	binary = "../../bin/aiperf-exporter"
	deploy = "../../deploy/systemd/"

	service = "aiperf-exporter"
	config  = "/etc/aiperf-exporter/aiperf-exporter.yml"
	dropIns = "/etc/systemd/system/aiperf-exporter.service.d/"
	address = "127.0.0.1:9749"
)

// machine is a host that systemd runs.
type machine struct{ init string } // number of its process 1

// boot starts one, which ends with the test, and installs the service as a package would.
func boot(t *testing.T, suite string) *machine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("only root can start a systemd")
	}
	root, err := filepath.Abs(filepath.Join(roots, suite))
	if err != nil {
		t.Fatal(err)
	}
	for _, needed := range []string{root, binary} {
		if _, err := os.Stat(needed); err != nil {
			t.Fatalf("%v (run this by make systemd)", err)
		}
	}
	work := t.TempDir()
	name := fmt.Sprintf("aiperf-%s-%d", suite, os.Getpid())
	log := &boundedLog{}
	cmd := exec.Command("./boot.sh", root, work, name)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL} // also when the time of the tests is over
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unshare takes process 1 along, and that all others
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the console of %s:\n%s", suite, log)
		}
		removeGroups(t, name)
	})
	m := &machine{}
	m.eventually(t, "process 1 is there", func() error {
		pid, err := os.ReadFile(filepath.Join(work, "init"))
		m.init = strings.TrimSpace(string(pid))
		return err
	})
	m.eventually(t, "it has started", func() error {
		state, err := m.try("systemctl", "is-system-running")
		if state = strings.TrimSpace(state); state != "running" && state != "degraded" { // modules of the kernel cannot be loaded here
			return fmt.Errorf("%q: %w", state, err)
		}
		return nil
	})
	m.install(t)
	return m
}

// boundedLog keeps what a console shows.
type boundedLog struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (l *boundedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-8<<10):]
	return len(p), nil
}

// String gives the end of it.
func (l *boundedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// removeGroups removes the control groups that a machine leaves behind.
func removeGroups(t *testing.T, name string) {
	t.Helper()
	script := `mount -t cgroup2 cgroup2 "$1" && find "$1/$2" -depth -type d -exec rmdir {} +`
	var out []byte
	err := process.Until(process.Within(t, patience), func() (err error) { // its last processes may not be gone yet
		out, err = exec.Command("unshare", "--mount", "--propagation", "private", "bash", "-c", script, "bash", t.TempDir(), name).CombinedOutput()
		return err
	})
	if err != nil {
		t.Errorf("control groups stay behind: %v: %s", err, out)
	}
}

// install puts files where packages put them.
func (m *machine) install(t *testing.T) {
	t.Helper()
	for from, to := range map[string]string{
		binary:                              "/usr/bin/aiperf-exporter",
		deploy + "aiperf-exporter.service":  "/usr/lib/systemd/system/aiperf-exporter.service",
		deploy + "aiperf-exporter.socket":   "/usr/lib/systemd/system/aiperf-exporter.socket",
		deploy + "aiperf-exporter.sysusers": "/usr/lib/sysusers.d/aiperf-exporter.conf",
		deploy + "aiperf-exporter.default":  "/etc/default/aiperf-exporter",
		deploy + "aiperf-exporter.yml":      config,
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		m.write(t, to, string(content))
	}
	m.run(t, "chmod", "0755", "/usr/bin/aiperf-exporter")
	m.run(t, "systemd-sysusers")
	m.run(t, "systemctl", "daemon-reload")
}

// command is one that runs in the machine.
func (m *machine) command(name string, args ...string) *exec.Cmd {
	all := append([]string{
		"--target", m.init, "--all", "env", "--ignore-environment", "PATH=/usr/sbin:/usr/bin", "LANG=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", name,
	}, args...)
	return exec.Command("nsenter", all...)
}

// try runs a command and gives what it prints.
func (m *machine) try(name string, args ...string) (string, error) {
	out, err := m.command(name, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// run runs a command that has to succeed.
func (m *machine) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := m.try(name, args...)
	if err != nil {
		log, _ := m.try("journalctl", "--quiet", "--no-pager", "--output=cat", "--lines=20", "--unit=aiperf-exporter*")
		t.Fatalf("%v\nits log:\n%s", err, log)
	}
	return out
}

// write writes a file with the mode 0644, and the folders that it is in.
func (m *machine) write(t *testing.T, path, content string) {
	t.Helper()
	cmd := m.command("sh", "-c", `mkdir -p "$(dirname "$1")" && rm -f "$1" && cat >"$1"`, "sh", path)
	cmd.Stdin = strings.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
}

// dropIn changes the unit until the end of the test, and starts the service anew with it. Files of deploy/systemd/drop-ins are given as file:NAME.
func (m *machine) dropIn(t *testing.T, contents ...string) {
	t.Helper()
	for i, content := range contents {
		if name, ok := strings.CutPrefix(content, "file:"); ok {
			text, err := os.ReadFile(deploy + "drop-ins/" + name)
			if err != nil {
				t.Fatal(err)
			}
			content = string(text)
		}
		m.write(t, dropIns+strconv.Itoa(i)+".conf", content)
	}
	t.Cleanup(func() {
		m.run(t, "rm", "-rf", dropIns)
		m.run(t, "systemctl", "daemon-reload")
	})
	m.run(t, "systemctl", "daemon-reload")
}

// property is one of the service.
func (m *machine) property(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(m.run(t, "systemctl", "show", "--value", "--property="+name, service))
}

// is fails the test unless a property has a value.
func (m *machine) is(t *testing.T, property, want string) {
	t.Helper()
	if got := m.property(t, property); got != want {
		t.Errorf("%s is %q, want %q", property, got, want)
	}
}

// becomes waits for a property to have a value.
func (m *machine) becomes(t *testing.T, property, want string) {
	t.Helper()
	m.eventually(t, property+" becomes "+want, func() error {
		if got := m.property(t, property); got != want {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
}

func (m *machine) eventually(t *testing.T, what string, condition func() error) {
	t.Helper()
	if err := process.Until(process.Within(t, patience), condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// start starts the service with a configuration.
func (m *machine) start(t *testing.T, content string) {
	t.Helper()
	m.write(t, config, content)
	_, _ = m.try("systemctl", "reset-failed", service) // systemd may not know it at the moment
	m.run(t, "systemctl", "restart", service)
	m.is(t, "ActiveState", "active")
}
