//go:build systemd

package systemd

import (
	"strings"
	"testing"
)

// mayDoLittle looks at what the kernel grants the process.
func mayDoLittle(t *testing.T, m *machine) {
	t.Helper()
	m.start(t, oneTarget)
	status := m.run(t, "cat", "/proc/"+m.property(t, "MainPID")+"/status")
	id := strings.TrimSpace(m.run(t, "id", "--user", service))
	for _, want := range []string{
		"Uid:\t" + strings.Repeat(id+"\t", 3) + id, "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
		"CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
	} {
		if !strings.Contains(status, want+"\n") {
			t.Errorf("no %q in its status:\n%s", want, status)
		}
	}
	if id == "0" {
		t.Error("it is root")
	}
	page, err := m.get(t, "http://"+address+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"process_start_time_seconds ", "process_resident_memory_bytes ", "process_open_fds "} {
		if !strings.Contains(page, "\n"+want) {
			t.Errorf("no %q in the metrics: something of /proc is hidden", want)
		}
	}
}

func credential(t *testing.T, m *machine) {
	t.Helper()
	const key = "/etc/aiperf-exporter/secrets/vendor-key"
	m.write(t, key, "sk-3f9d0c7a\n")
	m.run(t, "chmod", "0400", key)
	b := newBackend(t, m)
	b.release()
	m.dropIn(t, "file:credentials.conf")
	m.start(t, "secrets:\n  vendor: {file: /run/credentials/aiperf-exporter.service/vendor-key}\n"+b.target(", secret: vendor"))
	if got, want := b.asked(t), "Bearer sk-3f9d0c7a"; got != want {
		t.Errorf("Authorization is %q, want %q", got, want)
	}
	if out, err := m.asService(t, "cat", key); err == nil {
		t.Errorf("the service can read the file of root: %s", out)
	}
	// The variable says where it is, too.
	m.start(t, "secrets:\n  vendor: {file: \"${CREDENTIALS_DIRECTORY}/vendor-key\"}\n"+b.target(", secret: vendor"))
	m.run(t, "systemctl", "reload", service)
	m.is(t, "ActiveState", "active")
	if got := m.property(t, "StatusText"); strings.Contains(got, "not taken") {
		t.Errorf("after a reload: %q", got)
	}
}

// asService runs a command with the user and in the file system of the service.
func (m *machine) asService(t *testing.T, args ...string) (string, error) {
	t.Helper()
	id := strings.TrimSpace(m.run(t, "id", "--user", service))
	group := strings.TrimSpace(m.run(t, "id", "--group", service))
	return m.try("nsenter", append([]string{"--target", m.property(t, "MainPID"), "--mount", "--setuid", id, "--setgid", group, "--"}, args...)...)
}

func writes(t *testing.T, m *machine) {
	t.Helper()
	b := newBackend(t, m)
	b.release()
	m.start(t, b.target(""))
	b.asked(t)
	m.eventually(t, "what the budget has spent is written", func() error {
		out, err := m.try("stat", "--format=%U %a", "/var/lib/aiperf-exporter/budget.state")
		if err == nil && strings.TrimSpace(out) != "aiperf-exporter 600" {
			t.Errorf("the state file is of %q", out)
		}
		return err
	})
	if _, err := m.asService(t, "touch", "/var/lib/aiperf-exporter/mine"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/etc/aiperf-exporter/x", "/usr/x", "/var/lib/x", "/run/x", "/sys/fs/cgroup/x", "/home/x", "/root/x"} {
		if _, err := m.asService(t, "touch", path); err == nil {
			t.Errorf("it can write %s", path)
		}
	}
	pid := m.property(t, "MainPID")
	for _, path := range []string{"/usr/x", "/var/lib/x", "/etc/x"} { // not even root, in its file system
		if out, err := m.try("nsenter", "--target", pid, "--mount", "--", "touch", path); err == nil || !strings.Contains(out, "Read-only file system") {
			t.Errorf("%s is not read-only: %s", path, out)
		}
	}
}
