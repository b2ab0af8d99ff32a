//go:build systemd

package systemd

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

func (m *machine) restarts(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(m.property(t, "NRestarts"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func watchdog(t *testing.T, m *machine) {
	t.Helper()
	m.dropIn(t, "[Service]\nWatchdogSec=10s\nRestartSec=100ms\n")
	m.start(t, oneTarget)
	before, pid := m.restarts(t), m.property(t, "MainPID")
	m.run(t, "sh", "-c", "kill -STOP "+pid)
	m.eventually(t, "a process takes the place of the hung one", func() error {
		if n := m.restarts(t); n == before {
			return fmt.Errorf("%d restarts", n)
		}
		return nil
	})
	m.becomes(t, "ActiveState", "active")
	if now := m.property(t, "MainPID"); now == pid {
		t.Errorf("it is process %s still", now)
	}
	log := m.run(t, "journalctl", "--quiet", "--no-pager", "--output=cat", "--lines=4000", "--unit="+service)
	if want := "SIGABRT: abort"; !strings.Contains(log, want) {
		t.Errorf("the log does not say what the process was doing, as %q would", want)
	}
}

func killed(t *testing.T, m *machine) {
	t.Helper()
	m.dropIn(t, "[Service]\nRestartSec=100ms\n")
	m.start(t, oneTarget)
	before, pid := m.restarts(t), m.property(t, "MainPID")
	m.run(t, "sh", "-c", "kill -KILL "+pid)
	m.eventually(t, "a process takes the place of the killed one", func() error {
		if n := m.restarts(t); n == before {
			return fmt.Errorf("%d restarts", n)
		}
		return nil
	})
	m.becomes(t, "ActiveState", "active")
}

// drains: the unit says that systemd waits for two seconds only; the process tells it that requests may need longer.
func drains(t *testing.T, m *machine) {
	t.Helper()
	b := newBackend(t, m)
	m.dropIn(t, "[Service]\nTimeoutStopSec=2s\nEnvironment=AIPERF_EXPORTER_SHUTDOWN_GRACE=5m\n")
	m.start(t, b.target(""))
	b.asked(t)
	ended, err := m.aside("systemctl", "stop", service)
	m.becomes(t, "ActiveState", "deactivating")
	<-time.NewTimer(6 * time.Second).C
	m.is(t, "ActiveState", "deactivating")
	b.release()
	<-ended
	if *err != nil {
		t.Error(*err)
	}
	m.is(t, "ActiveState", "inactive")
	m.is(t, "Result", "success")
}

func socketActivation(t *testing.T, m *machine) {
	t.Helper()
	m.start(t, oneTarget)
	m.run(t, "systemctl", "stop", service)
	m.dropIn(t, "file:socket.conf")
	m.run(t, "systemctl", "start", "aiperf-exporter.socket")
	t.Cleanup(func() { m.run(t, "systemctl", "stop", service, "aiperf-exporter.socket") })
	m.is(t, "ActiveState", "inactive")
	if page, err := m.get(t, "http://"+address+"/metrics"); err != nil || !strings.Contains(page, `target="one"`) { // the first one starts it
		t.Errorf("target one is not in the metrics (%v)", err)
	}
	m.is(t, "ActiveState", "active")
	m.run(t, "systemctl", "restart", service)
	if _, err := m.get(t, "http://"+address+"/-/ready"); err != nil {
		t.Error(err)
	}
}
