package scrape_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// diary notes what a loop does, and when.
type diary struct {
	mu      sync.Mutex
	start   time.Time
	entries []string
	log     bytes.Buffer
}

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, what+" "+time.Since(d.start).String())
}

// begin begins the diary anew, and tells how late that is.
func (d *diary) begin() (late time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	late, d.start = time.Since(d.start), time.Now()
	return late
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries)
}

// run lets a loop of ten seconds run for a while, in the time of a bubble, which begins with the first call of work. It returns what was noted, and
// how long the loop took to end.
func run(t *testing.T, lasts time.Duration, work func(ctx context.Context, d *diary)) (d *diary, took time.Duration) {
	t.Helper()
	const interval = 10 * time.Second
	d = &diary{start: time.Now()}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	first := make(chan struct{})
	called := false
	go func() {
		defer close(ended)
		scrape.Loop(ctx, slog.New(slog.NewTextHandler(&d.log, nil)), interval, nil, func(ctx context.Context) {
			if !called {
				called = true
				if late := d.begin(); late > interval/10 {
					t.Errorf("the first call comes after %v", late)
				}
				close(first)
			}
			work(ctx, d)
		}, func() { d.note("skipped") }, func(cause any) {
			if cause != "no such thing" {
				t.Errorf("told of a panic with %v", cause)
			}
			d.note("panicked")
		})
	}()
	<-first
	sleep(lasts)
	synctest.Wait()
	stop()
	stopped := time.Now()
	<-ended
	return d, time.Since(stopped)
}

func TestLoop(t *testing.T) {
	t.Parallel()
	calls := 0
	for _, tc := range []struct {
		name  string
		lasts time.Duration
		work  func(ctx context.Context, d *diary)
		want  []string
		took  time.Duration
	}{
		{"work is called each interval", 35 * time.Second, func(_ context.Context, d *diary) { d.note("call") }, []string{"call 0s", "call 10s", "call 20s", "call 30s"}, 0},
		{"work that takes long does not shift what comes after it", 45 * time.Second, func(_ context.Context, d *diary) {
			d.note("call")
			sleep(25 * time.Second)
		}, []string{"call 0s", "skipped 10s", "skipped 20s", "call 30s", "skipped 40s"}, time.Second},
		{"the end waits for work that heeds it", 5 * time.Second, func(ctx context.Context, d *diary) {
			<-ctx.Done()
			sleep(time.Second / 2)
			d.note("done")
		}, []string{"done 5.5s"}, time.Second / 2},
		{"work that hangs is left behind", 25 * time.Second, func(_ context.Context, d *diary) {
			sleep(time.Hour)
			d.note("never")
		}, []string{"skipped 10s", "skipped 20s"}, time.Second},
		{"after panics the pause grows, until work succeeds", 170 * time.Second, func(_ context.Context, d *diary) {
			if calls++; calls != 8 {
				panic("no such thing")
			}
			d.note("call")
		}, []string{
			"panicked 0s", "panicked 1s", "panicked 3s", "panicked 7s", "panicked 15s", "panicked 31s", "panicked 1m3s", // then a minute, not 64 s
			"call 2m3s", "panicked 2m13s", "panicked 2m14s", "panicked 2m16s", "panicked 2m20s", "panicked 2m28s", "panicked 2m44s",
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, took := run(t, tc.lasts, tc.work)
				if diff := cmp.Diff(tc.want, d.read()); diff != "" {
					t.Errorf("diary (-want +got):\n%s", diff)
				}
				if took != tc.took {
					t.Errorf("the loop took %v to end, want %v", took, tc.took)
				}
				if panicked := strings.Count(strings.Join(tc.want, ""), "panicked"); panicked != strings.Count(d.log.String(), `panic="no such thing" stack=`) {
					t.Errorf("want %d panics in the log:\n%s", panicked, d.log.String())
				}
				sleep(time.Hour) // what was left behind ends some time
			})
		})
	}
}

func TestALoopEndsBeforeItsFirstCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		scrape.Loop(ctx, slog.New(slog.DiscardHandler), time.Hour, nil, func(ctx context.Context) {
			if ctx.Err() == nil {
				t.Error("work is called with a context that goes on")
			}
		}, func() {}, func(any) {})
	})
}
