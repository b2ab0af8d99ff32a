package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

// clockwork runs a collector in simulated time against a server in memory, until the test ends.
func clockwork(t *testing.T, config func(*Config), answer func(ctx context.Context, url string) ([]byte, error), targets ...Target) *rig {
	t.Helper()
	r := newRig(t, rigOptions{config: config, client: func(scrape.Options) (getter, error) { return &scripted{answer}, nil }}, targets...)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return r
}

// pass lets simulated time pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

func refused() error { return &scrape.Error{Reason: scrape.Connect, Err: errors.New("refused")} }

func TestSeriesOutliveTheirServerForTwoIntervalsAndNoLonger(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stale *time.Duration
		want  []int // looks at which the series are there, by seconds after the failure
	}{
		"by default, two intervals": {nil, []int{0, 5, 9}},
		"a minute":                  {new(time.Minute), []int{0, 5, 9, 11, 59}},
		"not at all":                {new(time.Duration(0)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Int64 // since when
				r := clockwork(t, func(c *Config) { c.StaleAfter = tc.stale }, func(context.Context, string) ([]byte, error) {
					if down.Load() != 0 {
						down.CompareAndSwap(1, time.Now().UnixNano())
						return nil, refused()
					}
					return []byte(vllm(1000, 5000, 3)), nil
				}, auto("t", "http://h:1"))
				pass(12 * time.Second)
				if got := r.series("aiperf_server_requests_running"); len(got) != 1 {
					t.Fatalf("series %v, want one", got)
				}
				down.Store(1)
				for down.Load() == 1 {
					pass(10 * time.Millisecond)
				}
				failed := time.Unix(0, down.Load())
				var seen []int
				for _, after := range []int{0, 5, 9, 11, 59, 61} {
					pass(time.Until(failed.Add(time.Duration(after)*time.Second + 50*time.Millisecond)))
					if len(r.series("aiperf_server_requests_running")) > 0 {
						seen = append(seen, after)
					}
					wantSeries(t, map[string]float64{"aiperf_server_up instance_id=h:1 target=t": 0}, r.series("aiperf_server_up"))
				}
				if diff := cmp.Diff(tc.want, seen); diff != "" {
					t.Errorf("seconds at which the series were there (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAServerIsForgottenWhenItSaysForTenMinutesThatItHasNoMetrics(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		target Target
		reason scrape.Reason
		want   bool // the state is still there after an hour
	}{
		"one that was found":                  {auto("t", "http://h:1"), scrape.NotFound, false},
		"unless it does not answer":           {auto("t", "http://h:1"), scrape.Connect, true},
		"or its page was configured":          {explicit("t", "http://h:1/metrics"), scrape.NotFound, true},
		"or somebody said what the server is": {func() Target { t := auto("t", "http://h:1"); t.Config.Kind = mapping.VLLM; return t }(), scrape.NotFound, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				r := clockwork(t, nil, func(context.Context, string) ([]byte, error) {
					if broken.Load() {
						return nil, &scrape.Error{Reason: tc.reason, Err: errors.New("gone")}
					}
					return []byte(vllm(1000, 5000, 3)), nil
				}, tc.target)
				pass(10 * time.Second)
				broken.Store(true)
				pass(9 * time.Minute)
				down := map[string]float64{"aiperf_server_up instance_id=h:1 target=t": 0}
				wantSeries(t, down, r.series("aiperf_server_up"))
				pass(51 * time.Minute)
				if !tc.want {
					down = map[string]float64{}
				}
				wantSeries(t, down, r.series("aiperf_server_up"))
				broken.Store(false)
				pass(time.Minute + 10*time.Second)
				wantSeries(t, map[string]float64{"aiperf_server_up instance_id=h:1 target=t": 1}, r.series("aiperf_server_up"))
			})
		})
	}
}

func TestServersAreAskedOncePerIntervalAndNeverTwiceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked, running, most atomic.Int64
		r := clockwork(t, nil, func(ctx context.Context, _ string) ([]byte, error) {
			asked.Add(1)
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			select {
			case <-ctx.Done():
				return nil, &scrape.Error{Reason: scrape.Timeout, Err: ctx.Err()}
			case <-time.NewTimer(4 * time.Second).C:
				return []byte(vllm(1000, 5000, 3)), nil
			}
		}, auto("a", "http://h:1"), auto("b", "http://h:1/v1"))
		pass(10*time.Minute - time.Second)
		if got := asked.Load(); got != 120 {
			t.Errorf("%d requests in ten minutes at one in 5 s, want 120", got)
		}
		if got := most.Load(); got != 1 {
			t.Errorf("%d requests at a time, want 1", got)
		}
		wantSeries(t, map[string]float64{"aiperf_scrape_skipped_total target=a": 0, "aiperf_scrape_skipped_total target=b": 0}, r.series("aiperf_scrape_skipped_total"))
	})
}

func TestPagesThatHangDoNotMakeOthersOfTheirHostOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked sync.Map // url to *atomic.Int64
		r := clockwork(t, nil, func(ctx context.Context, url string) ([]byte, error) {
			n, _ := asked.LoadOrStore(url, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			if url == "http://h:1/good" {
				return []byte(vllm(1000, 5000, 3)), nil
			}
			<-ctx.Done()
			return nil, &scrape.Error{Reason: scrape.Timeout, Err: ctx.Err()}
		}, explicit("t", "http://h:1/hung1", "http://h:1/hung2", "http://h:1/hung3", "http://h:1/hung4", "http://h:1/good"))
		pass(10*time.Minute + 30*time.Second)
		if got := r.series("aiperf_server_up")["aiperf_server_up instance_id=h:1/good target=t"]; got != 1 {
			t.Error("the page that answers is not up")
		}
		for _, c := range []struct {
			url   string
			least int64
		}{{"http://h:1/good", 55}, {"http://h:1/hung1", 12}, {"http://h:1/hung4", 12}} {
			n, _ := asked.Load(c.url)
			if got := n.(*atomic.Int64).Load(); got < c.least {
				t.Errorf("%s was asked %d times in ten minutes and a half, want at least %d", c.url, got, c.least)
			}
		}
	})
}

func TestTheTimeoutIsTheIntervalAndAtMostFiveSeconds(t *testing.T) {
	t.Parallel()
	for interval, want := range map[time.Duration]time.Duration{time.Second: time.Second, 5 * time.Second: 5 * time.Second, time.Minute: 5 * time.Second} {
		t.Run(fmt.Sprint(interval), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var left atomic.Int64
				clockwork(t, func(c *Config) { c.Interval = interval }, func(ctx context.Context, _ string) ([]byte, error) {
					deadline, _ := ctx.Deadline()
					left.Store(int64(time.Until(deadline)))
					return nil, refused()
				}, explicit("t", "http://h:1/metrics"))
				pass(2 * interval)
				if got := time.Duration(left.Load()); got != want {
					t.Errorf("timeout %v, want %v", got, want)
				}
			})
		})
	}
}

// A panic is that of one source: others go on, and the one begins anew.
func TestAPanicIsThatOfOneSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		r := clockwork(t, nil, func(_ context.Context, url string) ([]byte, error) {
			if broken.Load() && url == "http://bad:1/metrics" {
				panic("a fault of this program")
			}
			return []byte(vllm(1000, 5000, 3)), nil
		}, auto("bad", "http://bad:1"), auto("good", "http://good:1"))
		pass(10 * time.Second)
		broken.Store(true)
		pass(20 * time.Second)
		wantSeries(t, map[string]float64{"aiperf_server_up instance_id=bad:1 target=bad": 0, "aiperf_server_up instance_id=good:1 target=good": 1}, r.series("aiperf_server_up"))
		if got := r.series("aiperf_scrape_panics_total")["aiperf_scrape_panics_total target=bad"]; got < 2 {
			t.Errorf("%v panics, want at least two in 20 s", got)
		}
		broken.Store(false)
		pass(2 * time.Minute)
		wantSeries(t, map[string]float64{"aiperf_server_up instance_id=bad:1 target=bad": 1, "aiperf_server_up instance_id=good:1 target=good": 1}, r.series("aiperf_server_up"))
	})
}
