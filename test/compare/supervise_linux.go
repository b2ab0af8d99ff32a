package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// memoryPeriod is the time between two looks at the memory: seldom enough to cost nothing that matters.
	memoryPeriod = 500 * time.Millisecond
	// lingering is how long processes may stay after the program has ended, and the program after it was told to end.
	lingering = 30 * time.Second
)

// exit is the end of one process.
type exit struct {
	pid    int
	status unix.WaitStatus
}

// supervise runs a program until it and all its descendants have ended. Descendants whose parent is gone become children of this
// process, so none is lost. SIGTERM and SIGINT are passed on to the program.
func supervise(program string, args []string) (usage, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return usage{}, fmt.Errorf("become the parent of orphans: %w", err)
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return usage{}, err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	used := usage{Started: time.Now().UnixNano(), Code: -1}
	started, err := os.StartProcess(path, append([]string{program}, args...), &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	if err != nil {
		return usage{}, err
	}
	exits := make(chan exit)
	go reap(exits)

	memory := time.NewTicker(memoryPeriod)
	defer memory.Stop()
	overdue := time.NewTimer(lingering)
	overdue.Stop()
	for {
		select {
		case e, ok := <-exits:
			if !ok {
				used.CPU, err = cpuOfChildren()
				return used, err
			}
			if e.pid == started.Pid {
				used.Code = e.status.ExitStatus()
				overdue.Reset(lingering)
			}
		case s := <-signals:
			// It may just have ended.
			_ = started.Signal(s)
			overdue.Reset(lingering)
		case <-memory.C:
			used.Peak = max(used.Peak, memoryOf(descendants(os.Getpid())))
		case <-overdue.C:
			for _, pid := range descendants(os.Getpid()) {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			overdue.Reset(memoryPeriod) // for those that they have left behind
		}
	}
}

// reap waits for one child after the other until there is none.
func reap(exits chan<- exit) {
	defer close(exits)
	for {
		var e exit
		var err error
		e.pid, err = unix.Wait4(-1, &e.status, 0, nil)
		switch {
		case err == nil:
			exits <- e
		case !errors.Is(err, unix.EINTR):
			return // no child is left
		}
	}
}

func cpuOfChildren() (float64, error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &r); err != nil {
		return 0, fmt.Errorf("usage of children: %w", err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds(), nil
}
