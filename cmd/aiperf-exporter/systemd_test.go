package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serviceManager is the socket of one.
type serviceManager struct {
	socket  *net.UnixConn
	status  string // as it would be shown
	watched int    // how often the watchdog was fed
}

func newServiceManager(t *testing.T) *serviceManager {
	t.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &serviceManager{socket: socket}
}

var numbers = regexp.MustCompile(`=\d{2,}`)

// hears gives the next message without its status, and with numbers as N.
func (m *serviceManager) hears(t *testing.T) string {
	t.Helper()
	buffer := make([]byte, 4096)
	n, err := m.socket.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for state := range strings.SplitSeq(string(buffer[:n]), "\n") {
		if status, ok := strings.CutPrefix(state, "STATUS="); ok {
			m.status = status
		} else {
			states = append(states, numbers.ReplaceAllString(state, "=N"))
		}
	}
	return strings.Join(states, " ")
}

// step is the next message that is about more than the watchdog.
func (m *serviceManager) step(t *testing.T) string {
	t.Helper()
	for {
		message := m.hears(t)
		if message != "WATCHDOG=1" {
			return message
		}
		m.watched++
	}
}

// The order is that of Type=notify-reload: a reload that has begun ends with READY, whatever came of it and whoever asked for it.
func TestSystemdIsToldHowTheDaemonIsDoing(t *testing.T) {
	t.Parallel()
	m, config := newServiceManager(t), write(t, "c.yml", minimal)
	expect := func(when string, status string, steps ...string) {
		t.Helper()
		for _, want := range steps {
			if got := m.step(t); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		if !regexp.MustCompile(status).MatchString(m.status) {
			t.Errorf("%s the status is %q, want %q", when, m.status, status)
		}
	}
	daemon := start(t, []string{"NOTIFY_SOCKET=" + m.socket.LocalAddr().String(), "WATCHDOG_USEC=200000"},
		"--config.file="+config, "--web.listen-address=127.0.0.1:0", "--web.enable-lifecycle", "--shutdown.grace=7s")
	expect("at the start", `^1 target: 1 \w+$`, "READY=1")
	url := daemon.address(t)
	if err := os.WriteFile(config, []byte("targets: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon.signal(t, syscall.SIGHUP)
	expect("after a signal with a file that is none", `^1 target: 1 \w+; the files were not taken: .*c\.yml:`, "RELOADING=1 MONOTONIC_USEC=N", "READY=1")
	if err := os.WriteFile(config, []byte(minimal), 0o600); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(url+"/-/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	expect("after a request", `^1 target: 1 \w+$`, "RELOADING=1 MONOTONIC_USEC=N", "READY=1")
	for m.watched == 0 {
		if got := m.hears(t); got != "WATCHDOG=1" {
			t.Fatalf("watchdog: %q", got)
		}
		m.watched++
	}
	daemon.signal(t, syscall.SIGTERM)
	expect("at the end", "^stopping", "STOPPING=1 EXTEND_TIMEOUT_USEC=N")
	if code := daemon.exit(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
