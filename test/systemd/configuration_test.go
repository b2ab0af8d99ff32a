//go:build systemd

package systemd

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// hang makes the configuration a file that nobody can read before resume, as one on a file system that hangs for a while.
func (m *machine) hang(t *testing.T) {
	t.Helper()
	m.run(t, "sh", "-c", "rm -f "+config+" && mkfifo -m 0644 "+config)
}

// resume waits until somebody reads it, puts a file in its place, and lets the reader go. That one looks whether the file has changed: it is read after
// that.
func (m *machine) resume(t *testing.T, content string) {
	t.Helper()
	cmd := m.command("timeout", strconv.Itoa(int(patience.Seconds())), "sh", "-c", `exec 3>"$1" && mv "$1" "$1.pipe" && cat >"$1"`, "sh", config)
	cmd.Stdin = strings.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nobody reads the configuration: %v\n%s", err, out)
	}
}

// aside runs a command and tells when it has ended.
func (m *machine) aside(name string, args ...string) (ended chan struct{}, err *error) {
	ended, err = make(chan struct{}), new(error)
	go func() {
		defer close(ended)
		_, *err = m.try(name, args...)
	}()
	return ended, err
}

func startWaits(t *testing.T, m *machine) {
	t.Helper()
	m.run(t, "systemctl", "stop", service)
	m.hang(t)
	ended, err := m.aside("systemctl", "start", service)
	m.becomes(t, "ActiveState", "activating")
	m.becomes(t, "SubState", "start")
	m.resume(t, oneTarget)
	<-ended
	if *err != nil {
		t.Error(*err)
	}
	m.is(t, "ActiveState", "active")
	if page, err := m.get(t, "http://"+address+"/metrics"); err != nil || !strings.Contains(page, `target="one"`) {
		t.Errorf("target one is not in the metrics (%v)", err)
	}
}

func reloadWaits(t *testing.T, m *machine) {
	t.Helper()
	m.start(t, oneTarget)
	before := m.property(t, "MainPID")
	m.write(t, config, twoTargets)
	m.run(t, "systemctl", "reload", service)
	if page, err := m.get(t, "http://"+address+"/metrics"); err != nil || !strings.Contains(page, `target="two"`) {
		t.Errorf("target two is not in the metrics (%v)", err)
	}
	m.hang(t)
	ended, err := m.aside("systemctl", "reload", service)
	m.becomes(t, "ActiveState", "reloading")
	// Longer than the command takes that asks for the reload: systemd waits for what the process says.
	<-time.NewTimer(4 * time.Second).C
	m.is(t, "ActiveState", "reloading")
	m.resume(t, oneTarget)
	<-ended
	if *err != nil {
		t.Error(*err)
	}
	m.is(t, "ActiveState", "active")
	m.is(t, "MainPID", before)
	if page, err := m.get(t, "http://"+address+"/metrics"); err != nil || strings.Contains(page, `target="two"`) {
		t.Errorf("target two is in the metrics still (%v)", err)
	}
}

func brokenReload(t *testing.T, m *machine) {
	t.Helper()
	m.start(t, oneTarget)
	before := m.property(t, "MainPID")
	m.write(t, config, "targets:\n  - {name: one, modell: m}\n")
	m.run(t, "systemctl", "reload", service)
	m.is(t, "ActiveState", "active")
	m.is(t, "MainPID", before)
	status := m.run(t, "systemctl", "status", "--no-pager", "--full", service)
	if want := "the files were not taken: " + config + ":2:"; !strings.Contains(status, want) {
		t.Errorf("status has no %q:\n%s", want, status)
	}
	m.write(t, config, oneTarget)
	m.run(t, "systemctl", "reload", service)
	if got := m.property(t, "StatusText"); strings.Contains(got, "not taken") || !strings.HasPrefix(got, "1 target: ") {
		t.Errorf("status afterwards: %q", got)
	}
}

func brokenStart(t *testing.T, m *machine) {
	t.Helper()
	m.write(t, config, "targets:\n  - {name: one, modell: m}\n")
	if out, err := m.try("systemctl", "restart", service); err == nil {
		t.Errorf("it starts: %s", out)
	}
	log := m.run(t, "journalctl", "--quiet", "--no-pager", "--output=cat", "--lines=40", "--unit="+service)
	if want := config + `:2:17: targets[0].modell: unknown key, did you mean "model"?`; !strings.Contains(log, want) {
		t.Errorf("the log has no %q:\n%s", want, log)
	}
	m.start(t, oneTarget)
}
