package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// TestMain lets the test's own binary be the supervisor, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "-supervise=") {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// supervised runs a shell script under supervision to its end.
func supervised(t *testing.T, meanwhile func(*process.Process), script string) usage {
	t.Helper()
	file := filepath.Join(t.TempDir(), "usage.json")
	p := process.ForTest(t, nil, os.Args[0], "-supervise="+file, "--", "sh", "-c", script)
	meanwhile(p)
	if _, err := p.Wait(process.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	used, err := readUsage(file)
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func TestSupervisionLastsUntilTheLastDescendantHasEnded(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "marker")
	// The background process loses its parent at once, and works.
	script := "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; touch " + marker + ") & exit 3"
	used := supervised(t, func(*process.Process) {}, script)
	if used.Code != 3 {
		t.Errorf("got exit code %d, want 3", used.Code)
	}
	if _, err := os.Stat(marker); err != nil {
		t.Error("the orphan had not ended")
	}
	if used.CPU < .01 {
		t.Errorf("got %v s of CPU, want that of the orphan's work", used.CPU)
	}
}

func TestSupervisionPassesSignalsOnAndLooksAtTheMemory(t *testing.T) {
	t.Parallel()
	used := supervised(t, func(p *process.Process) {
		// Longer than the period of looks at the memory, by what the program does and not by a clock of the test.
		if err := process.Until(process.Within(t, time.Minute), func() error {
			if strings.Count(p.Output(), "tick") < 8 {
				return os.ErrNotExist
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := p.Terminate(); err != nil {
			t.Fatal(err)
		}
	}, `trap "exit 7" TERM; while :; do echo tick; sleep 0.1; done`)
	if used.Code != 7 {
		t.Errorf("got exit code %d, want 7", used.Code)
	}
	if used.Peak < 64<<10 || used.Peak > 64<<20 {
		t.Errorf("a shell took %d bytes at its peak", used.Peak)
	}
}

func TestParentIsFoundWhateverAProgramIsCalled(t *testing.T) {
	t.Parallel()
	for stat, want := range map[string][2]int{
		"12 (sh) S 34 12 12 0":           {12, 34},
		"12 (a) b (c) S 99) S 34 12 12 ": {12, 34},
		"12 (sh":                         {},
		"":                               {},
	} {
		pid, parent, ok := parentOf(stat)
		if got := [2]int{pid, parent}; ok != (want != [2]int{}) || ok && got != want {
			t.Errorf("%q: got %v, %t, want %v", stat, got, ok, want)
		}
	}
}

func TestProportionalSetSizeIsFoundInTheRollup(t *testing.T) {
	t.Parallel()
	const rollup = "5590-7ff [rollup]\nRss:       100 kB\nPss:        40 kB\nPss_Dirty:   7 kB\n"
	if got := proportional([]byte(rollup)); got != 40<<10 {
		t.Errorf("got %d bytes, want 40 KiB", got)
	}
	if got := proportional([]byte("Rss: 1 kB\n")); got != 0 {
		t.Errorf("got %d bytes, want 0", got)
	}
}

func TestDescendantsHaveTheirOwn(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 60 & wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	if err := process.Until(process.Within(t, time.Minute), func() error {
		if len(descendants(cmd.Process.Pid)) != 1 {
			return os.ErrNotExist
		}
		return nil
	}); err != nil {
		t.Error("the shell has no child")
	}
}

// With a real server and the real floor client; it is not parallel because it changes the folder.
func TestBenchRunsAllRoundsOfWhatWorks(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	var log strings.Builder
	b, err := newBench(t.Context(), &options{}, t.TempDir(), &log)
	if err != nil {
		t.Fatal(err)
	}
	fails := func(context.Context, *job) ([]string, error) {
		return []string{"sh", "-c", "echo out of order; exit 1"}, nil
	}
	b.tools["broken"] = tool{command: fails, attend: attendFloor, fewest: 1}
	s := scenario{name: "tiny", streams: 2, tokens: 20, firstToken: time.Millisecond, gap: time.Millisecond, batch: 1, waves: 3, tools: []string{"broken", floorTool}}
	contests, err := b.run(t.Context(), &s, 2)
	if err != nil {
		t.Fatal(err)
	}
	if c := contests[0]; len(c.rounds) != 0 || c.failed == nil || !strings.Contains(c.failed.Error(), "out of order") {
		t.Errorf("got %d rounds and error %v, want none and what the program wrote", len(c.rounds), c.failed)
	}
	c := contests[1]
	if c.failed != nil || len(c.rounds) != 2 {
		t.Fatalf("got %d rounds of the floor client and error %v, want 2 and none", len(c.rounds), c.failed)
	}
	if c.start.known.chunks() != 20 || c.start.said.requests != 1 {
		t.Errorf("the start had %d chunks and %d requests, want 20 and 1", c.start.known.chunks(), c.start.said.requests)
	}
	for i := range c.rounds {
		r := &c.rounds[i]
		if r.known.chunks() != 120 || r.said.requests != 6 || r.known.Completed != 6 || r.used.CPU <= 0 || r.known.First <= r.used.Started {
			t.Errorf("round %d: %d chunks, %d requests said, %d completed, %v s of CPU, first request %v after the start", i+1,
				r.known.chunks(), r.said.requests, r.known.Completed, r.used.CPU, time.Duration(r.known.First-r.used.Started))
		}
	}
	want := []string{
		"tiny, round 0: broken, 1 requests", "tiny, round 0: floor, 1 requests", "tiny, round 1: floor, 6 requests", "tiny, round 2: floor, 6 requests",
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		if strings.HasPrefix(line, "tiny") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
