package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// bench runs tools against servers.
type bench struct {
	self   string // this program, which supervises the tools
	server string // the truth server's program
	tools  map[string]tool
	folder string        // for what the runs leave
	pause  time.Duration // of quiet before each run
	log    func(format string, args ...any)
}

// trial is one run of one tool, as three sides saw it.
type trial struct {
	used  usage
	known truth
	said  figures
}

// contest is what a tool did in a scenario.
type contest struct {
	tool   string
	start  trial   // with the fewest requests
	rounds []trial // those that succeeded
	failed error   // why there are no more of them
}

// listening is what the truth server writes first.
var listening = regexp.MustCompile(`(?m)^(127\.0\.0\.1:\d+)$`)

var errOverdue = errors.New("not done")

// run has the tools of a scenario run in turn, once with next to no load and then a number of rounds. A tool that fails twice, or takes
// too long, is left out of the rounds that follow.
func (b *bench) run(ctx context.Context, s *scenario, rounds int) ([]contest, error) {
	contests := make([]contest, len(s.tools))
	index := map[string]*contest{}
	for i, name := range s.tools {
		contests[i].tool = name
		index[name] = &contests[i]
	}
	for round := -1; round < rounds; round++ {
		for _, name := range rotated(s.tools, max(round, 0)) {
			c := index[name]
			if c.failed != nil {
				continue
			}
			requests := s.requests()
			if round < 0 {
				requests = b.tools[name].fewest
			}
			b.log("%s, round %d: %s, %d requests", s.name, round+1, name, requests)
			t, err := b.try(ctx, s, name, requests)
			if err != nil && !errors.Is(err, errOverdue) {
				// On a busy machine guidellm now and then ends without its file.
				b.log("%s failed, once more: %v", name, err)
				t, err = b.try(ctx, s, name, requests)
			}
			if cause := context.Cause(ctx); cause != nil {
				return nil, cause
			}
			switch {
			case err != nil:
				b.log("%s failed: %v", name, err)
				c.failed = err
			case round < 0:
				c.start = t
			default:
				c.rounds = append(c.rounds, t)
			}
		}
	}
	return contests, nil
}

// try runs a tool once against a fresh server.
func (b *bench) try(ctx context.Context, s *scenario, name string, requests int) (trial, error) {
	if err := quiet(ctx, b.pause); err != nil {
		return trial{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit(), fmt.Errorf("%w within %v", errOverdue, s.limit()))
	defer cancel()
	server, err := process.Start(ctx, nil, b.server, s.server()...)
	if err != nil {
		return trial{}, err
	}
	defer func() {
		cancel()
		server.Wait(context.WithoutCancel(ctx)) //nolint:errcheck // it was ended by a signal
	}()
	host, err := server.Find(ctx, listening)
	if err != nil {
		return trial{}, err
	}
	folder, err := os.MkdirTemp(b.folder, "")
	if err != nil {
		return trial{}, err
	}
	defer os.RemoveAll(folder)
	return b.attend(ctx, b.tools[name], &job{scenario: s, requests: requests, host: host, folder: folder})
}

// attend runs the tool under supervision, to its end.
func (b *bench) attend(ctx context.Context, t tool, j *job) (trial, error) {
	command, err := t.command(ctx, j)
	if err != nil {
		return trial{}, err
	}
	usageFile := filepath.Join(j.folder, "usage.json")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := process.Start(ctx, nil, b.self, append([]string{"-supervise=" + usageFile, "--"}, command...)...)
	if err != nil {
		return trial{}, err
	}
	said, err := t.attend(ctx, j, p)
	if err != nil {
		cancel()
		_, waited := p.Wait(context.WithoutCancel(ctx))
		return trial{}, errors.Join(fmt.Errorf("%w; the end of what it wrote: %s", err, ending(p.Output())), waited)
	}
	used, err := readUsage(usageFile)
	if err != nil {
		return trial{}, err
	}
	known, err := askTruth(ctx, j.host)
	return trial{used: used, known: known, said: said}, err
}

// ending gives the last of what a program wrote, on one line.
func ending(output string) string {
	const shown = 300
	words := strings.Join(strings.Fields(output), " ")
	return words[max(0, len(words)-shown):]
}

// quiet waits.
func quiet(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
