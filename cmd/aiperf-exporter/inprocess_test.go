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

// inThisProcess runs the daemon with the smallest configuration, and gives its exit code and log.
func inThisProcess(t *testing.T, address string, listening func(net.Addr), extra ...actor) (code int, log string) {
	t.Helper()
	var out bytes.Buffer
	return serveMinimal(t, &session{logger: slog.New(slog.NewTextHandler(&out, nil))}, address, listening, extra...), out.String()
}

// serveMinimal runs the daemon of a session with the smallest configuration, and gives its exit code.
func serveMinimal(t *testing.T, s *session, address string, listening func(net.Addr), extra ...actor) (code int) {
	t.Helper()
	s.stdout, s.stderr, s.files = io.Discard, io.Discard, []string{write(t, "minimal.yml", minimal)}
	c, gc, ok := s.load()
	if !ok {
		t.Fatal("configuration cannot be read")
	}
	none := ""
	o := &daemonOptions{
		toolkit:       &toolkit.FlagConfig{WebListenAddresses: &[]string{address}, WebSystemdSocket: new(bool), WebConfigFile: &none},
		telemetryPath: "/metrics", grace: time.Hour,
	}
	return serve(s, o, c, gc, listening, extra...)
}

// attentive calls react with each line of a log.
type attentive func(line string)

// Write implements io.Writer.
func (react attentive) Write(line []byte) (int, error) {
	react(string(line))
	return len(line), nil
}

func TestAHangupDuringTheStartIsAReload(t *testing.T) {
	hangups := make(chan os.Signal, 1)
	hangups <- syscall.SIGHUP
	reloads := 0
	logger := slog.New(slog.NewTextHandler(attentive(func(line string) {
		if strings.Contains(line, "configuration taken") && strings.Contains(line, "trigger=signal") {
			reloads++
			signalSelf(t)
		}
	}), nil))
	if code := serveMinimal(t, &session{logger: logger, hangups: hangups}, "127.0.0.1:0", nil); code != exitOK || reloads != 1 {
		t.Errorf("exit code %d after %d reloads, want %d after 1", code, reloads, exitOK)
	}
}

func TestSignalBeforeTheDaemonIsReadyEndsIt(t *testing.T) {
	code, log := inThisProcess(t, "127.0.0.1:0", func(net.Addr) { signalSelf(t) })
	if code != exitOK {
		t.Errorf("exit code %d, want %d", code, exitOK)
	}
	contains(t, "log", log, "msg=stopped")
}

func TestPortInUseEndsTheDaemonWithoutALeftover(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	code, log := inThisProcess(t, taken.Addr().String(), func(net.Addr) { signalSelf(t) })
	if code != exitFailure {
		t.Errorf("exit code %d, want %d", code, exitFailure)
	}
	contains(t, "log", log, "level=ERROR msg=stopped", "address already in use")
}

// A part that fails ends the rest in the same order as a signal does, and is stopped itself.
func TestPartThatFailsEndsTheDaemon(t *testing.T) {
	open, stopped := make(chan struct{}), false
	code, log := inThisProcess(t, "127.0.0.1:0", func(net.Addr) { close(open) }, actor{
		run: func() error {
			<-open
			return io.ErrUnexpectedEOF
		},
		stop: func() { stopped = true },
	})
	if code != exitFailure || !stopped {
		t.Errorf("exit code %d and stopped %v, want %d and true", code, stopped, exitFailure)
	}
	contains(t, "log", log, `level=ERROR msg=stopped err="unexpected EOF"`)
}
