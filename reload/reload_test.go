package reload_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/aiperf-exporter/aiperf-exporter/reload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a loop whose work does nothing but count.
type rig struct {
	loop      *reload.Loop
	ticks     chan time.Time
	refreshed chan struct{}

	mu       sync.Mutex
	contents string
	stuck    chan struct{} // looking at the files waits until it is closed; nil = it does not
	looks    int           // at a time
	most     int
	err      error
	hold     chan struct{} // an attempt waits until it is closed; nil = it does not
	attempts int
	told     []reload.Result
	begun    int // attempts to load the files that Begin has heard of
	ended    int // those of which Done has
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{ticks: make(chan time.Time), refreshed: make(chan struct{}, 1), contents: "first"}
	work := func(summary reload.Summary) func(context.Context) (reload.Summary, error) {
		return func(ctx context.Context) (reload.Summary, error) {
			r.mu.Lock()
			r.attempts++
			hold, err := r.hold, r.err
			r.mu.Unlock()
			if hold != nil {
				select {
				case <-hold:
				case <-ctx.Done():
					return reload.Summary{}, context.Cause(ctx)
				}
			}
			return summary, err
		}
	}
	r.loop = reload.New(reload.Deps{
		Reload: work(reload.Summary{Added: 1}), Refresh: work(reload.Summary{}), Refreshed: r.refreshed, Ticks: r.ticks,
		Fingerprint: func() string {
			r.mu.Lock()
			stuck := r.stuck
			r.looks++
			r.most = max(r.most, r.looks)
			r.mu.Unlock()
			if stuck != nil {
				<-stuck
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.looks--
			return r.contents
		},
		Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Begin: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.begun++
			if r.begun != r.ended+1 {
				t.Errorf("attempt %d begins when %d have ended", r.begun, r.ended)
			}
		},
		Done: func(result reload.Result) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.told = append(r.told, result)
			if result.Trigger == reload.Discovery {
				return
			}
			r.ended++
			if r.begun != r.ended {
				t.Errorf("attempt %d ends when %d have begun", r.ended, r.begun)
			}
		},
	}, r.contents)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.loop.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return r
}

// set changes what the work does.
func (r *rig) set(change func(*rig)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *rig) triggers() []reload.Trigger {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []reload.Trigger
	for _, result := range r.told {
		out = append(out, result.Trigger)
	}
	return out
}

func TestABurstOfSignalsIsTwoAttemptsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, hold := newRig(t), make(chan struct{})
		r.set(func(r *rig) { r.hold = hold })
		r.loop.Trigger()
		synctest.Wait() // the first attempt runs
		for range 50 {
			r.loop.Trigger()
		}
		close(hold)
		synctest.Wait()
		if diff := cmp.Diff([]reload.Trigger{reload.Signal, reload.Signal}, r.triggers()); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
	})
}

func TestARequestIsRefusedWhileAnAttemptRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, hold := newRig(t), make(chan struct{})
		r.set(func(r *rig) { r.hold = hold })
		r.loop.Trigger()
		synctest.Wait()
		if err := r.loop.Reload(t.Context()); !errors.Is(err, reload.ErrRunning) {
			t.Errorf("got %v, want %v", err, reload.ErrRunning)
		}
		close(hold)
		synctest.Wait()
		if err := r.loop.Reload(t.Context()); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}

func TestARequestWaitsForWhatWasDiscovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, hold := newRig(t), make(chan struct{})
		r.set(func(r *rig) { r.hold = hold })
		r.refreshed <- struct{}{}
		synctest.Wait() // a refresh runs
		answer := make(chan error)
		go func() { answer <- r.loop.Reload(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-answer:
			t.Fatalf("answered before that ended: %v", err)
		default:
		}
		close(hold)
		if err := <-answer; err != nil {
			t.Error(err)
		}
	})
}

func TestARequestIsToldWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, broken := newRig(t), errors.New("broken")
		r.set(func(r *rig) { r.err = broken })
		if err := r.loop.Reload(t.Context()); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
		last := r.loop.Last()
		if last == nil || last.Trigger != reload.Request || !errors.Is(last.Err, broken) {
			t.Errorf("last attempt: %+v", last)
		}
	})
}

func TestFilesAreTakenWhenTheirContentHasChangedAndBrokenOnesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		tick := func(contents string, err error) {
			r.set(func(r *rig) { r.contents, r.err = contents, err })
			r.ticks <- time.Now()
			synctest.Wait()
		}
		tick("first", nil)
		tick("broken", errors.New("broken"))
		tick("broken", errors.New("broken"))
		tick("second", nil)
		tick("second", nil)
		tick("first", nil)
		if diff := cmp.Diff([]reload.Trigger{reload.Poll, reload.Poll, reload.Poll}, r.triggers()); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
	})
}

func TestAnAttemptThatTakesTooLongIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.set(func(r *rig) { r.hold = make(chan struct{}) })
		if err := r.loop.Reload(t.Context()); err == nil {
			t.Error("it was taken")
		}
	})
}

func TestAFileSystemThatHangsFailsReloadsUntilItIsBack(t *testing.T) {
	for name, begin := range map[string]func(*testing.T, *rig) reload.Trigger{
		"asked for": func(t *testing.T, r *rig) reload.Trigger {
			t.Helper()
			if err := r.loop.Reload(t.Context()); err == nil {
				t.Error("it was taken")
			}
			return reload.Request
		},
		"looked for": func(_ *testing.T, r *rig) reload.Trigger {
			r.ticks <- time.Now()
			return reload.Poll
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, stuck := newRig(t), make(chan struct{})
				r.set(func(r *rig) { r.stuck = stuck })
				want := []reload.Trigger{begin(t, r)}
				<-time.NewTimer(2 * time.Minute).C // of the bubble
				for range 3 {
					r.ticks <- time.Now() // nothing that nobody knows
					if err := r.loop.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "file system") {
						t.Errorf("while it hangs: %v", err)
					}
					want = append(want, reload.Request)
				}
				r.refreshed <- struct{}{}
				synctest.Wait()
				r.set(func(r *rig) {
					if r.attempts != 1 || r.most != 1 { // that of discovery
						t.Errorf("%d attempts, and the files were looked at by %d at a time", r.attempts, r.most)
					}
					r.stuck = nil
				})
				close(stuck)
				synctest.Wait()
				r.ticks <- time.Now()
				synctest.Wait()
				if err := r.loop.Reload(t.Context()); err != nil {
					t.Errorf("when it is back: %v", err)
				}
				if diff := cmp.Diff(append(want, reload.Poll, reload.Request), r.triggers()); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestWhatIsDiscoveredAndChangesNothingIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.refreshed <- struct{}{}
		synctest.Wait()
		r.set(func(r *rig) { r.err = errors.New("broken") })
		r.refreshed <- struct{}{}
		synctest.Wait()
		if diff := cmp.Diff([]reload.Trigger{reload.Discovery}, r.triggers()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if last := r.loop.Last(); last != nil {
			t.Errorf("discovery is no attempt to load the files, got %+v", last)
		}
	})
}

func TestWhatIsDiscoveredIsTriedAgainUntilItIsInEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		attempts := func() int {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.attempts
		}
		pass := func(d time.Duration) {
			<-time.NewTimer(d).C
			synctest.Wait()
		}
		broken := func(err error) { r.set(func(r *rig) { r.err = err }) }
		broken(errors.New("broken"))
		r.refreshed <- struct{}{}
		pass(150 * time.Second)
		if got := attempts(); got != 3 {
			t.Errorf("%d attempts while it fails, want one and one each minute", got)
		}
		broken(nil)
		pass(time.Hour)
		if got := attempts(); got != 4 {
			t.Errorf("%d attempts, want 4: the last was successful", got)
		}
		broken(errors.New("broken"))
		r.refreshed <- struct{}{}
		synctest.Wait()
		broken(nil)
		if err := r.loop.Reload(t.Context()); err != nil {
			t.Error(err)
		}
		pass(time.Hour)
		if got := attempts(); got != 6 {
			t.Errorf("%d attempts, want 6: files were loaded, and with them what was discovered", got)
		}
	})
}

func TestNobodyWaitsForALoopThatHasEnded(t *testing.T) {
	t.Parallel()
	loop := reload.New(reload.Deps{}, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	loop.Run(ctx)
	if err := loop.Reload(t.Context()); err == nil {
		t.Error("it was taken")
	}
}

// The folder of a ConfigMap is a link that is replaced; the files in it are links through that link.
func TestFingerprintFollowsLinksAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, version := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, version, "c.yml"), []byte(version), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(version string) {
		next := filepath.Join(dir, "next")
		if err := os.Symlink(version, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "c.yml")
	if err := os.Symlink(filepath.Join("..data", "c.yml"), file); err != nil {
		t.Fatal(err)
	}
	prints := make([]string, 0, 4)
	note := func() { prints = append(prints, reload.Fingerprint([]string{file})) }
	note() // there is nothing yet
	link("one")
	note()
	link("two")
	note()
	if again := reload.Fingerprint([]string{file}); again != prints[2] {
		t.Errorf("the same content: %s and %s", prints[2], again)
	}
	link("one")
	note()
	if prints[3] != prints[1] {
		t.Errorf("the content of before: %s, was %s", prints[3], prints[1])
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(prints))); len(distinct) != 3 {
		t.Errorf("%d contents have %d fingerprints", 3, len(distinct))
	}
}
