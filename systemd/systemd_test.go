package systemd_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/aiperf-exporter/aiperf-exporter/systemd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long something may take that has to happen.
const patience = time.Minute

// manager is the socket of a service manager.
type manager struct{ socket *net.UnixConn }

// newManager opens one and names it in the environment of this process, for which reason no test of this package is parallel.
func newManager(t *testing.T, watchdog string) *manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", watchdog)
	t.Setenv("WATCHDOG_PID", "")
	return &manager{socket}
}

var instant = regexp.MustCompile(`MONOTONIC_USEC=[1-9]\d*`)

// hears gives the next message, in which instants are not told apart.
func (m *manager) hears(t *testing.T) string {
	t.Helper()
	buffer := make([]byte, 4096)
	n, err := m.socket.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return instant.ReplaceAllString(string(buffer[:n]), "MONOTONIC_USEC=now")
}

func TestEachStepOfAServiceIsToldInTheWordsOfItsManager(t *testing.T) {
	m := newManager(t, "")
	n := systemd.New(slog.New(slog.DiscardHandler))
	n.Ready("2 targets")
	n.Reloading()
	n.Ready("2 targets")
	n.Reloading()
	n.Ready("3 targets")
	n.Status("3 targets") // nothing new
	n.Status("3 targets, 1 failing")
	n.Stopping(90*time.Second, "stopping")
	for _, want := range []string{
		"READY=1\nSTATUS=2 targets",
		"RELOADING=1\nMONOTONIC_USEC=now",
		"READY=1",
		"RELOADING=1\nMONOTONIC_USEC=now",
		"READY=1\nSTATUS=3 targets",
		"STATUS=3 targets, 1 failing",
		"STOPPING=1\nEXTEND_TIMEOUT_USEC=90000000\nSTATUS=stopping",
	} {
		if got := m.hears(t); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAStatusIsOneShortLine(t *testing.T) {
	m := newManager(t, "")
	n := systemd.New(slog.New(slog.DiscardHandler))
	for name, test := range map[string]struct{ status, want string }{
		"lines become one":                 {"a\nREADY=1\r\nb\x1b[2J", "a READY=1  b [2J"},
		"what is no UTF-8 is replaced":     {"a\xffb", "a?b"},
		"what is too long is cut":          {strings.Repeat("x", 300), strings.Repeat("x", 237) + "…"},
		"no character is cut in two":       {strings.Repeat("ä", 200), strings.Repeat("ä", 118) + "…"},
		"one that just fits is left":       {strings.Repeat("y", 240), strings.Repeat("y", 240)},
		"space at its ends is left out":    {"  c \n", "c"},
		"characters beyond ASCII are kept": {"größer als 3 µs", "größer als 3 µs"},
	} {
		n.Status(test.status)
		got, ok := strings.CutPrefix(m.hears(t), "STATUS=")
		if !ok || got != test.want || !utf8.ValidString(got) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestTheWatchdogIsFedAfterEachLookAndNotDuringOne(t *testing.T) {
	m := newManager(t, "20000")
	n := systemd.New(slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	looking, seen, ended := make(chan struct{}), make(chan string), make(chan struct{})
	go func() {
		defer close(ended)
		n.Run(ctx, func() string {
			looking <- struct{}{}
			return <-seen
		})
	}()
	for _, step := range []struct{ status, want string }{
		{"1 target", "WATCHDOG=1\nSTATUS=1 target"}, {"1 target", "WATCHDOG=1"}, {"", "WATCHDOG=1"}, {"2 targets", "WATCHDOG=1\nSTATUS=2 targets"},
	} {
		<-looking
		// What is said now comes first: nothing was said of the look before its end.
		n.Reloading()
		if got := m.hears(t); !strings.HasPrefix(got, "RELOADING=1") {
			t.Errorf("during a look: %q", got)
		}
		seen <- step.status
		if got := m.hears(t); got != step.want {
			t.Errorf("after a look: %q, want %q", got, step.want)
		}
	}
	<-looking
	stop()
	seen <- "the last"
	<-ended
	if got, want := m.hears(t), "WATCHDOG=1\nSTATUS=the last"; got != want {
		t.Errorf("at the end: %q, want %q", got, want)
	}
}

func TestWithoutAWatchdogTheStatusIsToldAllTheSame(t *testing.T) {
	for name, test := range map[string]struct{ usec, log string }{
		"none is wanted":              {"", ""},
		"what is wanted is no number": {"soon", "cannot be fed"},
		"it is wanted of another":     {"20000", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager(t, test.usec)
			t.Setenv("WATCHDOG_PID", "1")
			var log bytes.Buffer
			n := systemd.New(slog.New(slog.NewTextHandler(&log, nil)))
			ctx, stop := context.WithCancel(t.Context())
			n.Run(ctx, func() string {
				stop()
				return "1 target"
			})
			if got, want := m.hears(t), "STATUS=1 target"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := log.String(); (got == "") != (test.log == "") || !strings.Contains(got, test.log) {
				t.Errorf("log %q, want %q", got, test.log)
			}
		})
	}
}

func TestWithoutAServiceManagerNobodyIsLookedAtOrTold(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "20000")
	n := systemd.New(slog.New(slog.DiscardHandler))
	looks := 0
	n.Ready("1 target")
	n.Reloading()
	n.Run(t.Context(), func() string {
		looks++
		return ""
	})
	n.Stopping(time.Second, "stopping")
	if looks != 0 {
		t.Errorf("%d looks for nobody", looks)
	}
}

// A service manager that went away is nothing that a daemon could do anything about.
func TestASocketThatIsGoneIsNoError(t *testing.T) {
	m := newManager(t, "")
	n := systemd.New(slog.New(slog.DiscardHandler))
	m.socket.Close()
	n.Ready("1 target")
	n.Stopping(time.Second, "stopping")
}
