package main

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"
)

// These tests send signals to this very process, so that the end of every goroutine is seen. None of them is parallel.

func signalSelf(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

func TestDemoRunsAndStopsWithoutALeftover(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stdout, stdoutEnd := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		defer stdoutEnd.Close()
		ended <- run([]string{"demo", "--web.listen-address=127.0.0.1:0", "--shutdown.grace=0"}, stdoutEnd, &stderr)
	}()
	// What is printed is enough to find everything.
	found := map[string]string{}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.Contains(lines.Text(), "Stop: Ctrl-C") {
		if m := regexp.MustCompile(`^    (\w+) +(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			found[m[1]] = m[2]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }() // ends with stdoutEnd

	_, page := get(t, found["page"])
	contains(t, "page", page, "steady", "thinker", "flaky")
	_, exposition := get(t, found["metrics"])
	contains(t, "/metrics", exposition, `aiperf_target_info{`, `target="flaky"`, "go_goroutines ")
	_, theirs := get(t, found["server"])
	contains(t, "metrics of the server", theirs, "vllm:num_requests_running")
	example, err := os.ReadFile(found["config"])
	if err != nil {
		t.Error(err)
	}
	contains(t, "example", string(example), "name: thinker")

	signalSelf(t)
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d, want %d:\n%s", code, exitOK, stderr.String())
	}
	contains(t, "log", stderr.String(), "traffic starts", "msg=stopped")
	if _, err := os.Stat(found["config"]); !os.IsNotExist(err) {
		t.Errorf("example is still there: %v", err)
	}
}

func TestSignalBeforeTheDaemonIsReadyEndsIt(t *testing.T) {
	s := &session{stdout: io.Discard, stderr: io.Discard, files: []string{write(t, "minimal.yml", minimal)}, logger: slog.New(slog.DiscardHandler)}
	c, gc, ok := s.load()
	if !ok {
		t.Fatal("configuration cannot be read")
	}
	none := ""
	o := &daemonOptions{
		toolkit:       &toolkit.FlagConfig{WebListenAddresses: &[]string{"127.0.0.1:0"}, WebSystemdSocket: new(bool), WebConfigFile: &none},
		telemetryPath: "/metrics", grace: time.Hour,
	}
	code := serve(s, o, c, gc, func(net.Addr) { signalSelf(t) })
	if code != exitOK {
		t.Errorf("exit code %d, want %d", code, exitOK)
	}
}

// A part that fails ends the rest in the same order as a signal does.
func TestActorThatFailsEndsTheDaemon(t *testing.T) {
	var log bytes.Buffer
	s := &session{stdout: io.Discard, stderr: io.Discard, files: []string{write(t, "minimal.yml", minimal)}, logger: slog.New(slog.NewTextHandler(&log, nil))}
	c, gc, ok := s.load()
	if !ok {
		t.Fatal("configuration cannot be read")
	}
	none := ""
	o := &daemonOptions{
		toolkit:       &toolkit.FlagConfig{WebListenAddresses: &[]string{"127.0.0.1:0"}, WebSystemdSocket: new(bool), WebConfigFile: &none},
		telemetryPath: "/metrics", grace: time.Hour,
	}
	open := make(chan struct{})
	code := serve(s, o, c, gc, func(net.Addr) { close(open) }, actor{
		run: func() error {
			<-open
			return io.ErrUnexpectedEOF
		},
		stop: func() {},
	})
	if code != exitFailure {
		t.Errorf("exit code %d, want %d", code, exitFailure)
	}
	contains(t, "log", log.String(), "level=ERROR msg=stopped err=\"unexpected EOF\"")
}
