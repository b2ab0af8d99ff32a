//go:build linux && cgo && !nonvml

package nvml

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

const (
	// retryEvery is the time between two attempts to use a driver that cannot be used, or to find a GPU that is lost, and between two looks at
	// what does not change.
	retryEvery = time.Minute
	// closeWithin is for how long Close waits for a driver that does not answer.
	closeWithin = 3 * time.Second
)

// Source implements gpu.Source.
type Source struct {
	config   gpu.NVMLConfig
	logger   *slog.Logger
	hostname string
	now      func() time.Time
	load     func() (*driver, gpu.State, error)
	events   *events

	mu      sync.Mutex // held while the driver is asked or given back
	driver  *driver    // nil = not loaded yet
	session *session   // nil = the driver cannot be used, for what state and message say
	tried   time.Time  // when it was last attempted
	state   gpu.State
	message string
	seen    map[string]gpu.Device // GPUs that have answered and must be missed if they no longer do, by UUID
}

// Open makes one. The library is loaded by the first reading, and again each minute for as long as it cannot be used. It does not set the instant
// of its readings.
func Open(c gpu.NVMLConfig, logger *slog.Logger) *Source {
	return newSource(c, logger, time.Now, func() (*driver, gpu.State, error) { return load(c.LibraryPath) })
}

func newSource(c gpu.NVMLConfig, logger *slog.Logger, now func() time.Time, load func() (*driver, gpu.State, error)) *Source {
	return &Source{
		config: c, logger: logger.With(slog.String("gpu_source", string(gpu.NVML))), hostname: hostname(), now: now, load: load,
		events: newEvents(), seen: make(map[string]gpu.Device),
	}
}

// hostname is the node's: in a container the host is called after its pod.
func hostname() string {
	if node := os.Getenv("NODE_NAME"); node != "" {
		return node
	}
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// Read implements gpu.Source. What it asks for cannot be broken off: it returns when the driver has answered, or between two GPUs after ctx ended.
func (s *Source) Read(ctx context.Context) gpu.Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, counts := s.now(), make(failures)
	s.prepare(now, counts)
	if s.session == nil {
		return gpu.Reading{Source: gpu.NVML, State: s.state, Message: s.message}
	}
	s.session.failures = counts
	devices, ret := s.session.look(ctx)
	if ret == nvml.ERROR_TIMEOUT {
		return gpu.Reading{Source: gpu.NVML, State: gpu.Failed, Message: "the driver took too long to answer", Failures: counts}
	}
	if ret != nvml.SUCCESS {
		s.giveUp(stateOf(ret), "the driver no longer answers: "+ret.Error())
		return gpu.Reading{Source: gpu.NVML, State: s.state, Message: s.message}
	}
	return gpu.Reading{Source: gpu.NVML, State: gpu.OK, Devices: append(devices, s.missing(devices)...), Failures: counts}
}

// prepare makes the session that there is ready to be read, and tries to begin one if there is none and it is time for it.
func (s *Source) prepare(now time.Time, counts failures) {
	if s.session != nil {
		if now.Sub(s.session.refreshed) < retryEvery {
			return
		}
		if !s.session.lost {
			s.refresh(now, counts)
			return
		}
		s.session.end() // the driver finds a GPU again only when it is started anew
		s.session = nil
	} else if s.state != "" && now.Sub(s.tried) < retryEvery {
		return
	}
	s.begin(now, counts)
}

// begin loads the library, if that has not been done, and starts the driver.
func (s *Source) begin(now time.Time, counts failures) {
	s.tried = now
	if s.driver == nil {
		d, state, err := s.load()
		if err != nil {
			s.state, s.message = state, err.Error()
			return
		}
		s.driver = d
	}
	if ret := s.driver.Init(); ret != nvml.SUCCESS {
		s.state, s.message = stateOf(ret), "start the driver: "+ret.Error()
		if s.state == gpu.VersionMismatch {
			s.message += "; if the driver was exchanged while this program ran, start it again"
		}
		return
	}
	s.session = newSession(s.driver, s.config, s.hostname, s.events, s.logger)
	s.refresh(now, counts)
}

// refresh looks at what does not change, and ends the session if there is nothing to read.
func (s *Source) refresh(now time.Time, counts failures) {
	session := s.session
	session.failures = counts
	if ret := session.refresh(now); ret != nvml.SUCCESS {
		s.giveUp(stateOf(ret), "find the GPUs: "+ret.Error())
		return
	}
	switch {
	case len(session.devices) > 0 || session.lost && len(s.seen) > 0:
		s.state, s.message = gpu.OK, ""
	case session.denied:
		s.giveUp(gpu.NoPermission, "the GPUs may not be looked at")
	case session.lost || len(session.failures) > 0:
		s.giveUp(gpu.Failed, "no GPU answers")
	default:
		s.giveUp(gpu.NoDevices, "the driver has no GPU")
	}
}

// giveUp ends the session; another is tried in a minute.
func (s *Source) giveUp(state gpu.State, message string) {
	s.session.end()
	s.session, s.tried = nil, s.now()
	s.state, s.message = state, message
	clear(s.seen)
}

// missing are the GPUs that have answered before and do not now, though the driver has not said that they are gone for good.
func (s *Source) missing(devices []gpu.Device) []gpu.Device {
	if !s.session.lost {
		clear(s.seen)
	}
	missing := maps.Clone(s.seen)
	for i := range devices {
		if d := &devices[i]; d.Instance == "" {
			s.seen[d.UUID] = gpu.Device{Identity: d.Identity, Info: d.Info, Lost: true, Samples: []gpu.Sample{{Name: healthSeries}}}
			delete(missing, d.UUID)
		}
	}
	return slices.SortedFunc(maps.Values(missing), func(a, b gpu.Device) int {
		i, _ := strconv.Atoi(a.Index)
		j, _ := strconv.Atoi(b.Index)
		return cmp.Compare(i, j)
	})
}

// Close implements gpu.Source. A driver that does not answer is left to itself after a few seconds, together with the goroutine that waits for it:
// nothing can break off a call that is inside the library.
func (s *Source) Close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.session != nil {
			s.giveUp(gpu.Disabled, "closed")
		}
	}()
	timer := time.NewTimer(closeWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		s.logger.Warn("driver of the GPUs does not answer and is left to itself")
	}
}
