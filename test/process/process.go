// Package process runs the programs that a test needs as processes of their own, and ends what it started.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// grace is how long a process has to end after SIGTERM when its context is done; then it is killed.
const grace = 40 * time.Second

// poll is the pause between two looks at something that changes by itself.
const poll = 50 * time.Millisecond

// Process is a running program.
type Process struct {
	name   string
	cmd    *exec.Cmd
	output output
	exited chan struct{}
	err    error // of Wait; valid once exited is closed
}

// output is what a process has written so far, to either stream.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Start starts a program, with variables ("NAME=value") added to its environment. It gets SIGTERM when ctx is done, and is killed if
// it lingers.
func Start(ctx context.Context, environment []string, program string, args ...string) (*Process, error) {
	p := &Process{name: filepath.Base(program), exited: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, program, args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = grace
	p.cmd.Env = append(p.cmd.Environ(), environment...)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// Output is what the process has written so far.
func (p *Process) Output() string { return p.output.String() }

// ID is the number by which the kernel knows the process.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Terminate sends SIGTERM.
func (p *Process) Terminate() error { return p.cmd.Process.Signal(syscall.SIGTERM) }

// Signal sends any other.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Kill ends the process at once, as a crash does.
func (p *Process) Kill() error { return p.cmd.Process.Kill() }

// Wait waits for the process to end and gives its exit code, -1 if a signal ended it.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.exited:
	case <-ctx.Done():
		return 0, fmt.Errorf("%s has not ended: %w", p.name, context.Cause(ctx))
	}
	if p.cmd.ProcessState == nil {
		return 0, fmt.Errorf("wait for %s: %w", p.name, p.err)
	}
	return p.cmd.ProcessState.ExitCode(), nil
}

// Find waits until the process has written something that matches and gives the first group of the match.
func (p *Process) Find(ctx context.Context, pattern *regexp.Regexp) (string, error) {
	var found string
	err := p.until(ctx, func() error {
		if m := pattern.FindStringSubmatch(p.Output()); m != nil {
			found = m[1]
			return nil
		}
		return fmt.Errorf("nothing that matches %v written", pattern)
	})
	return found, err
}

// Ready waits until url answers 200.
func (p *Process) Ready(ctx context.Context, url string) error {
	return p.until(ctx, func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	})
}

// until is Until, given up when the process has ended.
func (p *Process) until(ctx context.Context, condition func() error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.exited:
			cancel(fmt.Errorf("%s has ended with code %d\n%s", p.name, p.cmd.ProcessState.ExitCode(), p.Output()))
		case <-ctx.Done():
		}
	}()
	return Until(ctx, condition)
}

// Until asks again and again until condition holds, and gives its last error when ctx is done first.
func Until(ctx context.Context, condition func() error) error {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// Ports below those from which Linux gives one to a connection, or to a listener that does not mind which: none of these comes between the choice of
// a port and its use.
const (
	firstPort = 12000
	ports     = 20000
)

var chosen atomic.Int64 //nolint:gochecknoglobals // how many this process has chosen: ports are those of a process, too

// FreeAddress gives a loopback address that nobody listens on at the moment, another one each time, for programs that cannot choose one themselves.
func FreeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	apart := int64(os.Getpid()) * 97 // processes that choose at the same time begin at different places
	for range ports {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+(apart+chosen.Add(1))%ports)
		l, err := config.Listen(ctx, "tcp", address)
		switch {
		case err == nil:
			return address, l.Close()
		case !errors.Is(err, syscall.EADDRINUSE):
			return "", err
		}
	}
	return "", errors.New("no port is free")
}
