package gpu

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// script is a Source that does what a test tells it.
type script struct {
	mu     sync.Mutex
	read   func() Reading
	looks  int
	closed bool
}

func (s *script) set(read func() Reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = read
}

func (s *script) Read(context.Context) Reading {
	s.mu.Lock()
	read := s.read
	s.looks++
	s.mu.Unlock()
	return read()
}

func (s *script) Close() { s.closed = true }

// running is a collector whose driver is a script, with an interval of five seconds.
type running struct {
	*Collector
	script *script
	log    *bytes.Buffer
	stop   func() // ends it and waits
}

// run starts one in a bubble. It gives it the time for its first look.
func run(t *testing.T, c Config, read func() Reading) *running {
	t.Helper()
	r := &running{script: &script{read: read}, log: &bytes.Buffer{}}
	clock := metrics.NewSystemClock()
	var err error
	r.Collector, err = New(c, promconfig.HTTPClientConfig{}, map[string]Selector{"chat": {}}, Deps{
		Clock: clock, Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
		NVML: func(NVMLConfig) Source { return r.script },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	r.stop = func() { cancel(); <-done }
	pass(time.Second)
	return r
}

// pass lets time pass in a bubble, until nothing more happens.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// at waits and gives the lines about the series.
func (r *running) at(t *testing.T, wait time.Duration, series ...string) []string {
	t.Helper()
	pass(wait)
	return about(lines(t, r.Collector, r.deps.Clock.Now()), series...)
}

// state is the one that holds for a source. It fails if it is not exactly one.
func (r *running) state(t *testing.T, source SourceName) State {
	t.Helper()
	var is []State
	for _, state := range States {
		line := fmt.Sprintf(`aiperf_gpu_collector_state{source="%s",state="%s"} `, source, state)
		for _, got := range r.at(t, 0, line) {
			switch got {
			case line + "1":
				is = append(is, state)
			case line + "0":
			default:
				t.Errorf("line %s is neither 0 nor 1", got)
			}
		}
	}
	if len(is) != 1 {
		t.Fatalf("states of %s that hold: %v, want exactly one", source, is)
	}
	return is[0]
}

// counted is the value of a counter of the log of the driver's looks.
func (r *running) counted(name string) float64 {
	total := 0.
	for _, f := range r.Families() {
		if f.GetName() == name {
			for _, m := range f.Metric {
				total += m.GetCounter().GetValue()
			}
		}
	}
	return total
}

// gpus is a reading of GPUs with a power.
func gpus(uuids ...string) Reading {
	r := Reading{Source: NVML, State: OK}
	for i, uuid := range uuids {
		r.Devices = append(r.Devices, Device{Identity: Identity{Index: fmt.Sprint(i), UUID: uuid}, Samples: []Sample{{Name: seriesPower, Value: 400}}})
	}
	return r
}

func power(index int, uuid string) string {
	return fmt.Sprintf(`aiperf_gpu_power_watts{gpu="%d",hostname="",mig_instance="",source="nvml",uuid="%s"} 400`, index, uuid)
}

func up(index int, uuid string, v int) string {
	return fmt.Sprintf(`aiperf_gpu_up{gpu="%d",hostname="",mig_instance="",source="nvml",uuid="%s"} %d`, index, uuid, v)
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got, sorted(func(a, b string) bool { return a < b })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const (
	hot  = "aiperf_gpu_power_watts{"
	life = "aiperf_gpu_up{"
)

func TestADriverThatHangsIsSkippedAndItsGPUsAreDownAfterThreeSkips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, DefaultConfig(), func() Reading { return gpus("GPU-a") })
		want(t, "before", r.at(t, 0, hot, life), power(0, "GPU-a"), up(0, "GPU-a", 1))
		release := make(chan struct{})
		r.script.set(func() Reading { <-release; return gpus("GPU-a") })
		// The look that hangs begins within five seconds; the ones due 5, 10 and 15 seconds later are skipped.
		want(t, "while it hangs, with a reading of the last 15 s", r.at(t, 13*time.Second, hot, life), power(0, "GPU-a"), up(0, "GPU-a", 1))
		want(t, "when that is too old", r.at(t, 4*time.Second, hot, life), up(0, "GPU-a", 0))
		want(t, "after three skips", r.at(t, 5*time.Second, hot, life), up(0, "GPU-a", 0))
		if got := r.state(t, NVML); got != Failed {
			t.Errorf("state = %s, want %s", got, Failed)
		}
		if got := r.counted("aiperf_scrape_skipped_total"); got < 3 {
			t.Errorf("skipped = %v, want at least 3", got)
		}
		want(t, "an hour later, it still hangs", r.at(t, time.Hour, life), up(0, "GPU-a", 0))
		r.script.set(func() Reading { return gpus("GPU-a") })
		close(release)
		want(t, "at the look after that", r.at(t, 5*time.Second, hot, life), power(0, "GPU-a"), up(0, "GPU-a", 1))
		if got := r.state(t, NVML); got != OK {
			t.Errorf("state = %s, want %s", got, OK)
		}
		r.stop()
		if !r.script.closed {
			t.Error("the driver was not closed")
		}
		const told = `level=INFO msg="gpu source changed" gpu_source=nvml state=ok devices=1` + "\n" +
			`level=WARN msg="gpu source changed" gpu_source=nvml state=error devices=0 reason="it hangs: 3 looks fell due while one ran"` + "\n" +
			`level=INFO msg="gpu source changed" gpu_source=nvml state=ok devices=1` + "\n"
		if diff := cmp.Diff(told, r.log.String()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestADriverThatHangsAtTheEndIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, DefaultConfig(), func() Reading { return gpus("GPU-a") })
		release := make(chan struct{})
		r.script.set(func() Reading { <-release; return Reading{} })
		pass(10 * time.Second)
		r.stop()
		if r.script.closed {
			t.Error("the driver was closed under a call")
		}
		close(release)
	})
}

func TestALostGPUIsDownAsLongAsItIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, DefaultConfig(), func() Reading { return gpus("GPU-a", "GPU-b") })
		want(t, "before", r.at(t, 0, hot, life), power(0, "GPU-a"), up(0, "GPU-a", 1), power(1, "GPU-b"), up(1, "GPU-b", 1))
		r.script.set(func() Reading {
			reading := gpus("GPU-a", "GPU-b")
			reading.Devices[1].Lost = true
			return reading
		})
		want(t, "after it is lost", r.at(t, 5*time.Second, hot, life), power(0, "GPU-a"), up(0, "GPU-a", 1), up(1, "GPU-b", 0))
		want(t, "an hour later", r.at(t, time.Hour, hot, life), power(0, "GPU-a"), up(0, "GPU-a", 1), up(1, "GPU-b", 0))
		want(t, "what is known of it", r.at(t, 0, seriesInfo+`{container="",cuda_version="",driver_version="",gpu="1"`, seriesTargetGPU),
			`aiperf_target_gpu_info{mig_instance="",target="chat",uuid="GPU-a"} 1`)
		r.stop()
	})
}

func TestAGPUThatDisappearsIsDownForTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, DefaultConfig(), func() Reading { return gpus("GPU-a", "GPU-b") })
		r.script.set(func() Reading { return gpus("GPU-a") })
		want(t, "at the next look", r.at(t, 5*time.Second, hot, life), power(0, "GPU-a"), up(0, "GPU-a", 1), up(1, "GPU-b", 0))
		want(t, "after nine minutes", r.at(t, 9*time.Minute, life), up(0, "GPU-a", 1), up(1, "GPU-b", 0))
		want(t, "after ten", r.at(t, 70*time.Second, life), up(0, "GPU-a", 1))
		r.script.set(func() Reading { return gpus("GPU-a", "GPU-b") })
		want(t, "when it comes back", r.at(t, 5*time.Second, life), up(0, "GPU-a", 1), up(1, "GPU-b", 1))
		if down := r.feeds[0].show(r.deps.Clock.Now()).down; len(down) != 0 {
			t.Errorf("still missed: %v", down)
		}
		r.stop()
	})
}

func TestADriverThatIsGoneTakesItsGPUsAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, DefaultConfig(), func() Reading { return gpus("GPU-a") })
		r.script.set(func() Reading { return Reading{Source: NVML, State: DriverNotLoaded} })
		want(t, "at the next look", r.at(t, 5*time.Second, hot, life), up(0, "GPU-a", 0))
		if got := r.state(t, NVML); got != DriverNotLoaded {
			t.Errorf("state = %s, want %s", got, DriverNotLoaded)
		}
		if got := r.counted("aiperf_scrape_errors_total"); got != 0 {
			t.Errorf("errors = %v, want 0: the state says it", got)
		}
		r.stop()
	})
}

func TestAPageThatCannotBeHadLeavesItsGPUsForThreeIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, DefaultConfig(), func() Reading { return gpus("GPU-a") })
		r.feeds[0].certain = false // as for an exporter
		r.script.set(func() Reading { return Reading{Source: NVML, State: Failed} })
		want(t, "while the last reading is new enough", r.at(t, 13*time.Second, hot, life), power(0, "GPU-a"), up(0, "GPU-a", 1))
		if got := r.state(t, NVML); got != Failed {
			t.Errorf("state = %s, want %s", got, Failed)
		}
		want(t, "when it is too old", r.at(t, 3*time.Second, hot, life), up(0, "GPU-a", 0))
		want(t, "and nobody has seen it for ten minutes", r.at(t, 10*time.Minute+15*time.Second, hot, life))
		r.stop()
	})
}

func TestAPanicIsCountedAndTheNextLookComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, DefaultConfig(), func() Reading { panic("driver") })
		if got := r.counted("aiperf_scrape_panics_total"); got != 1 {
			t.Errorf("panics = %v, want 1", got)
		}
		r.script.set(func() Reading { return gpus("GPU-a") })
		want(t, "after it", r.at(t, 2*time.Second, hot), power(0, "GPU-a"))
		r.stop()
	})
}

func TestFailedQuestionsAreCountedByReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, DefaultConfig(), func() Reading {
			reading := gpus("GPU-a")
			reading.Failures = map[scrape.Reason]int{scrape.Timeout: 2}
			return reading
		})
		if got := r.counted("aiperf_scrape_errors_total"); got != 2 {
			t.Errorf("errors = %v, want 2", got)
		}
		r.stop()
	})
}

func TestSourcesThatAreNotAskedAreDisabled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := DefaultConfig()
		config.Source = Sources{"off"}
		r := run(t, config, nil)
		for _, source := range SourceNames {
			if got := r.state(t, source); got != Disabled {
				t.Errorf("state of %s = %s, want %s", source, got, Disabled)
			}
		}
		want(t, "devices", r.at(t, 0, seriesDevices),
			`aiperf_gpu_devices{source="nvml"} 0`, `aiperf_gpu_devices{source="dcgm"} 0`, `aiperf_gpu_devices{source="triton"} 0`, `aiperf_gpu_devices{source="amd"} 0`)
		if r.script.looks != 0 {
			t.Errorf("the driver was asked %d times", r.script.looks)
		}
		r.stop()
	})
}

func TestAChangeOfStateIsLoggedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		source Sources
		level  string
	}{
		{"as information if the driver was only tried", Sources{"auto"}, "INFO"},
		{"as an error if it was asked for", Sources{"nvml"}, "ERROR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				config := DefaultConfig()
				config.Source = c.source
				r := run(t, config, func() Reading {
					return Reading{Source: NVML, State: LibraryNotFound, Message: "no such file"}
				})
				pass(time.Minute)
				r.script.set(func() Reading { return gpus("GPU-a") })
				pass(time.Minute)
				r.stop()
				want := "level=" + c.level + ` msg="gpu source changed" gpu_source=nvml state=library_not_found devices=0 reason="no such file"` + "\n" +
					`level=INFO msg="gpu source changed" gpu_source=nvml state=ok devices=1` + "\n"
				if diff := cmp.Diff(want, r.log.String()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestADeviceOnTwoPagesIsShownOnce(t *testing.T) {
	t.Parallel()
	reading := func(uuids ...string) Reading { r := gpus(uuids...); r.Source = DCGM; return r }
	c := fed(t, nil, reading("GPU-a"), reading("GPU-a"))
	want(t, "both see it", about(lines(t, c, 0), life), strings.ReplaceAll(up(0, "GPU-a", 1), "nvml", "dcgm"))
	gone := reading()
	c.feeds[0].take(t.Context(), &gone)
	want(t, "one sees it", about(lines(t, c, 0), life), strings.ReplaceAll(up(0, "GPU-a", 1), "nvml", "dcgm"))
	c.feeds[1].take(t.Context(), &gone)
	want(t, "none does", about(lines(t, c, 0), life), strings.ReplaceAll(up(0, "GPU-a", 0), "nvml", "dcgm"))
}

func TestDevicesThatAreGoneAreBounded(t *testing.T) {
	t.Parallel()
	c := fed(t, nil, gpus("GPU-first"))
	for i := range maxGone + 10 {
		next := gpus(fmt.Sprintf("GPU-%d", i))
		c.feeds[0].take(t.Context(), &next)
	}
	if got := len(c.feeds[0].show(0).down); got != maxGone {
		t.Errorf("%d devices are said to be gone, want %d", got, maxGone)
	}
}

func TestPodsAreOnlyShownIfAskedFor(t *testing.T) {
	t.Parallel()
	c := fed(t, nil, Reading{Source: DCGM, State: OK, Devices: []Device{{Identity: Identity{UUID: "GPU-a"}, Info: Info{Namespace: "llm", Pod: "vllm-0", Container: "vllm"}}}})
	for _, shown := range []bool{true, false} {
		c.podLabels = shown
		if got := strings.Contains(about(lines(t, c, 0), seriesInfo)[0], "vllm-0"); got != shown {
			t.Errorf("pod_labels %v: pod shown %v", shown, got)
		}
	}
}
