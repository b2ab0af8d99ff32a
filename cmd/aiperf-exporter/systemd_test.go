package main

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The order is that of Type=notify-reload: a reload that has begun ends with READY, whatever came of it.
func TestSystemdIsToldHowTheDaemonIsDoing(t *testing.T) {
	t.Parallel()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	watched := false
	// told gives the next message that is not about the watchdog.
	told := func() string {
		buffer := make([]byte, 1024)
		for {
			n, err := socket.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			if message := string(buffer[:n]); message != "WATCHDOG=1" {
				return message
			}
			watched = true
		}
	}
	config := write(t, "c.yml", minimal)
	daemon := start(t, []string{"NOTIFY_SOCKET=" + socket.LocalAddr().String(), "WATCHDOG_USEC=200000"}, "--config.file="+config, "--web.listen-address=127.0.0.1:0")
	if got := told(); got != "READY=1" {
		t.Errorf("at the start: %q", got)
	}
	daemon.address(t)
	daemon.signal(t, syscall.SIGHUP)
	if got := told(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
		t.Errorf("at a reload: %q", got)
	}
	if got := told(); got != "READY=1" {
		t.Errorf("after it: %q", got)
	}
	for !watched {
		buffer := make([]byte, 1024)
		if n, err := socket.Read(buffer); err != nil || string(buffer[:n]) != "WATCHDOG=1" {
			t.Fatalf("watchdog: %q, %v", buffer[:n], err)
		}
		watched = true
	}
	daemon.signal(t, syscall.SIGTERM)
	if got := told(); got != "STOPPING=1" {
		t.Errorf("at the end: %q", got)
	}
	if code := daemon.exit(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
