package gpu

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// drivers are those that a collector has opened. At no time may two be in use: the driver is started by the first look and given back by Close.
type drivers struct {
	t               *testing.T
	opened, started atomic.Int64
	inUse           atomic.Int64
}

func (d *drivers) open(NVMLConfig) Source {
	d.opened.Add(1)
	return &oneDriver{drivers: d}
}

type oneDriver struct {
	*drivers

	using bool
}

func (o *oneDriver) Read(context.Context) Reading {
	if !o.using {
		o.using = true
		o.started.Add(1)
		if n := o.inUse.Add(1); n != 1 {
			o.t.Errorf("%d drivers are in use", n)
		}
	}
	return gpus("GPU-a")
}

func (o *oneDriver) Close() {
	if o.using {
		o.using = false
		o.inUse.Add(-1)
	}
}

// changing is a collector that runs in a bubble and is changed.
type changing struct {
	*Collector
	*drivers
	stop func()
}

func change(t *testing.T, config Config, targets map[string]Selector) *changing {
	t.Helper()
	d := &drivers{t: t}
	c, err := New(config, promconfig.HTTPClientConfig{}, targets, Deps{Clock: metrics.NewSystemClock(), Logger: slog.New(slog.DiscardHandler), NVML: d.open})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	pass(time.Second)
	return &changing{c, d, func() { cancel(); <-done }}
}

func (c *changing) to(config Config, targets map[string]Selector) {
	c.t.Helper()
	change, err := c.Plan(config, promconfig.HTTPClientConfig{}, targets)
	if err != nil {
		c.t.Fatal(err)
	}
	change.Commit()
}

// looks are those at the driver that were counted.
func (c *changing) looks() uint64 {
	for _, f := range c.Families() {
		if f.GetName() == "aiperf_scrape_duration_seconds" {
			return f.Metric[0].GetHistogram().GetSampleCount()
		}
	}
	return 0
}

func TestSelectorsChangeWithoutTouchingSources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := change(t, DefaultConfig(), map[string]Selector{"chat": {}})
		owner := func(when string, want ...string) {
			t.Helper()
			var got []string
			for _, line := range about(lines(t, c.Collector, c.deps.Clock.Now()), seriesTargetGPU) {
				_, rest, _ := strings.Cut(line, `target="`)
				name, _, _ := strings.Cut(rest, `"`)
				got = append(got, name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		feed := c.feeds[0]
		owner("at first", "chat")
		c.to(DefaultConfig(), map[string]Selector{"code": {UUIDs: []string{"GPU-z"}}})
		owner("while it drains", "chat")
		c.to(DefaultConfig(), map[string]Selector{"code": {}})
		owner("when it belongs to another one", "code")
		c.to(DefaultConfig(), map[string]Selector{"code": {UUIDs: []string{"GPU-z"}}})
		owner("when that wants it no longer", "chat")
		c.Remove("code")
		c.Remove("chat")
		owner("after the removal")
		c.to(DefaultConfig(), map[string]Selector{"chat": {}})
		c.Remove("chat")
		owner("one that the configuration has keeps it", "chat")
		c.to(DefaultConfig(), nil)
		owner("until it has it no longer")
		if _, err := c.Plan(DefaultConfig(), promconfig.HTTPClientConfig{}, map[string]Selector{"x": {Pod: "("}}); err == nil {
			t.Error("an expression that is none is taken")
		}
		if c.feeds[0] != feed || c.opened.Load() != 1 {
			t.Error("the source was made anew")
		}
		c.stop()
	})
}

func TestADriverIsStartedOnceAndGivenBackOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := DefaultConfig()
		c := change(t, config, nil)
		pass(time.Minute)
		looks := c.looks()
		config.NVML.Interval = 30 * time.Second
		c.to(config, nil)
		want(t, "right after another interval", about(lines(t, c.Collector, c.deps.Clock.Now()), hot), power(0, "GPU-a"))
		pass(time.Minute)
		if n := c.looks(); n <= looks || n > looks+3 {
			t.Errorf("%d looks, then %d a minute later, want two or three more", looks, n)
		}
		if c.opened.Load() != 1 || c.started.Load() != 1 {
			t.Errorf("another interval opened the driver %d times and started it %d times, want once", c.opened.Load(), c.started.Load())
		}
		looks = c.looks()
		config.NVML.PCIeThroughput = true
		for range 3 { // faster than one can end
			config.NVML.LibraryPath += "/x"
			c.to(config, nil)
		}
		pass(2 * time.Minute)
		if n := c.looks(); n <= looks || c.opened.Load() != 4 || c.started.Load() != 2 || c.inUse.Load() != 1 {
			t.Errorf("%d looks, then %d; opened %d times, started %d, %d in use", looks, n, c.opened.Load(), c.started.Load(), c.inUse.Load())
		}
		off := config
		off.Source = Sources{"off"}
		c.to(off, nil)
		pass(time.Second)
		if n := c.inUse.Load(); n != 0 || len(c.Status()) != 0 {
			t.Errorf("%d drivers are in use that nobody asks", n)
		}
		c.to(config, nil)
		pass(time.Minute)
		c.stop()
		if n := c.inUse.Load(); n != 0 {
			t.Errorf("%d drivers are in use at the end", n)
		}
	})
}

func TestAChangeThatIsGivenUpOpensNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := change(t, DefaultConfig(), nil)
		config := DefaultConfig()
		config.NVML.LibraryPath = "/x"
		change, err := c.Plan(config, promconfig.HTTPClientConfig{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		change.Discard()
		config.Source, config.DCGM.URLs = Sources{"nvml", "dcgm"}, []secret.URL{"http://h:1"}
		unreadable := promconfig.HTTPClientConfig{TLSConfig: promconfig.TLSConfig{CAFile: "testdata/no-such-file"}}
		if _, err := c.Plan(config, unreadable, nil); err == nil || !strings.HasPrefix(err.Error(), "dcgm: ") {
			t.Errorf("error %v, want one that names the source", err)
		}
		pass(time.Minute)
		if c.started.Load() != 1 || c.inUse.Load() != 1 {
			t.Errorf("started %d times, %d in use, want the one that was there", c.started.Load(), c.inUse.Load())
		}
		c.stop()
	})
}

// TestPagesComeAndGo changes a collector of exporters two hundred times while it reads over real sockets.
func TestPagesComeAndGo(t *testing.T) { //nolint:paralleltest // it counts the goroutines of the process
	goroutines := runtime.NumGoroutine()
	var code atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`DCGM_EXP_XID_ERRORS_COUNT{gpu="0",UUID="GPU-a",xid="31"} ` + string(rune('0'+code.Load()%10)) + "\n"))
	}))
	c, err := New(DefaultConfig(), promconfig.HTTPClientConfig{}, nil, Deps{
		Clock: metrics.NewSystemClock(), Logger: slog.New(slog.DiscardHandler), NVML: (&drivers{t: t}).open,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	running.Go(func() {
		for ctx.Err() == nil {
			c.Families()
			c.Status()
			runtime.Gosched()
		}
	})
	config := DefaultConfig()
	config.Source = Sources{"dcgm"}
	for round := range 200 {
		config.DCGM.URLs = []secret.URL{secret.URL(server.URL + "/steady")}
		for _, path := range []string{"/a", "/b"}[:round%3%2+round%2] {
			config.DCGM.URLs = append(config.DCGM.URLs, secret.URL(server.URL+path))
		}
		config.DCGM.Prefix = strings.Repeat("x", round%4/3) // every fourth time all are made anew
		change, err := c.Plan(config, promconfig.HTTPClientConfig{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if round%5 == 4 {
			change.Discard()
		} else {
			change.Commit()
		}
	}
	if n := len(c.feeds); n == 0 || n > 3 {
		t.Errorf("%d sources", n)
	}
	stop()
	running.Wait()
	server.Close()
	for range 10_000 {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		runtime.Gosched()
		<-time.NewTimer(time.Millisecond).C
	}
	t.Errorf("%d goroutines, %d at first", runtime.NumGoroutine(), goroutines)
}

// What an exporter was asked more than once, and what was counted of it, stays when it is asked in another way.
func TestWhatWasCountedOfAPageGoesOn(t *testing.T) {
	t.Parallel()
	count := "1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`DCGM_EXP_XID_ERRORS_COUNT{gpu="0",UUID="GPU-a",xid="31"} ` + count + "\n"))
	}))
	t.Cleanup(server.Close)
	c := asking(t, server.URL)
	c.feeds[0].look(t.Context())
	count = "3"
	c.feeds[0].look(t.Context())
	config := DefaultConfig()
	config.DCGM.URLs, config.DCGM.Interval = []secret.URL{secret.URL(server.URL)}, time.Minute
	change, err := c.Plan(config, promconfig.HTTPClientConfig{ProxyConfig: promconfig.ProxyConfig{NoProxy: "x"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	change.Commit()
	series := seriesXIDErrors + `{gpu="0",hostname="",mig_instance="",source="dcgm",uuid="GPU-a",xid="31"} `
	before := about(lines(t, c, c.deps.Clock.Now()), series)
	count = "4"
	c.feeds[0].look(t.Context())
	after := about(lines(t, c, c.deps.Clock.Now()), series)
	if !slices.Equal(before, []string{series + "2"}) || !slices.Equal(after, []string{series + "3"}) {
		t.Errorf("%v, then %v, want 2 and then 3", before, after)
	}
	if s := c.Status()[0]; s.URL != server.URL || s.State != string(OK) || s.Devices != 1 || s.Samples != 1 || s.LastSuccess.IsZero() || s.Took <= 0 {
		t.Errorf("status %+v", s)
	}
}

func TestStatusOfASource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, DefaultConfig(), func() Reading { return Reading{Source: NVML, State: LibraryNotFound, Message: "no such file"} })
		if diff := cmp.Diff([]Status{{Source: NVML, State: string(LibraryNotFound), Detail: "no such file"}}, r.Status()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		release := make(chan struct{})
		r.script.set(func() Reading { <-release; return gpus() })
		pass(time.Minute)
		if diff := cmp.Diff([]Status{{Source: NVML, State: string(Failed), Detail: hangs}}, r.Status()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		close(release)
		r.stop()
	})
	c, err := New(DefaultConfig(), promconfig.HTTPClientConfig{}, nil, Deps{Clock: metrics.NewSystemClock(), NVML: (&drivers{t: t}).open})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Status{{Source: NVML, State: collector.StateWaiting}}, c.Status()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
