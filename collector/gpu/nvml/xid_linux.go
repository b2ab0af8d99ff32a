//go:build linux && cgo && !nonvml

package nvml

import (
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// waitMilliseconds is for how long one wait for an event lasts, and after what time a watch notices that it is to end.
const waitMilliseconds = 250

// pauseAfterError is the time between two attempts where waiting fails.
const pauseAfterError = time.Second

// events are the XID errors seen since the program was started, over all sessions. Safe for concurrent use.
type events struct {
	mu sync.Mutex
	of map[string]*xids // by UUID
}

type xids struct {
	counts gpu.XIDCounts
	last   uint64
}

func newEvents() *events { return &events{of: make(map[string]*xids)} }

// add counts an error; with code 0 it makes the GPU's counters exist.
func (e *events) add(uuid string, code uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.of[uuid]
	if x == nil {
		x = &xids{}
		e.of[uuid] = x
	}
	if code != 0 {
		x.counts.Add(code, 1)
		x.last = code
	}
}

// has tells whether there are counters of a GPU.
func (e *events) has(uuid string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.of[uuid] != nil
}

// samples are those of a GPU.
func (e *events) samples(uuid string) []gpu.Sample {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.of[uuid]
	if x == nil {
		return nil
	}
	return append(x.counts.Samples(), gpu.Sample{Name: "aiperf_gpu_last_xid", Value: float64(x.last)})
}

// watch waits for the XID errors of the GPUs of a session, in a goroutine of its own: the driver only tells those that happen while somebody
// waits. A nil watch knows of none.
type watch struct {
	set    nvml.EventSet
	events *events
	stop   chan struct{}
	done   chan struct{} // nil = not started

	mu     sync.Mutex
	owners map[any]string // UUID by the handle that events come with
}

// newWatch makes one, if the library can tell events.
func newWatch(d *driver, e *events) *watch {
	if !d.hasAll("nvmlEventSetCreate", "nvmlEventSetFree", "nvmlDeviceRegisterEvents", "nvmlDeviceGetSupportedEventTypes") ||
		!d.hasOne("nvmlEventSetWait_v2", "nvmlEventSetWait") {
		return nil
	}
	set, ret := d.EventSetCreate()
	if ret != nvml.SUCCESS {
		return nil
	}
	return &watch{set: set, events: e, stop: make(chan struct{}), owners: make(map[any]string)}
}

// register adds a GPU to those that are watched, if it tells XID errors.
func (w *watch) register(h handle, uuid string) {
	if w == nil || w.owner(h) != "" {
		return
	}
	types, ret := h.GetSupportedEventTypes()
	if ret != nvml.SUCCESS || types&nvml.EventTypeXidCriticalError == 0 {
		return
	}
	if h.RegisterEvents(nvml.EventTypeXidCriticalError, w.set) != nvml.SUCCESS {
		return
	}
	w.mu.Lock()
	w.owners[h] = uuid
	w.mu.Unlock()
	w.events.add(uuid, 0)
}

// owner is the UUID of the GPU that was registered with a handle, "" if none was.
func (w *watch) owner(h any) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owners[h]
}

// whose is the UUID of the GPU that an event is of. A GPU that is lost can only be told by its handle.
func (w *watch) whose(h nvml.Device) string {
	if uuid := w.owner(h); uuid != "" || h == nil {
		return uuid
	}
	uuid, ret := h.GetUUID()
	if ret != nvml.SUCCESS || !w.events.has(uuid) {
		return ""
	}
	return uuid
}

// samples are those of a GPU that is watched.
func (w *watch) samples(uuid string) []gpu.Sample {
	if w == nil {
		return nil
	}
	return w.events.samples(uuid)
}

// start begins to wait, once there is a GPU to wait for.
func (w *watch) start() {
	if w == nil || w.done != nil || len(w.owners) == 0 {
		return
	}
	w.done = make(chan struct{})
	go w.run()
}

func (w *watch) run() {
	defer close(w.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		data, ret := w.set.Wait(waitMilliseconds)
		switch {
		case ret == nvml.SUCCESS && data.EventType&nvml.EventTypeXidCriticalError != 0:
			if uuid := w.whose(data.Device); uuid != "" {
				w.events.add(uuid, data.EventData)
			}
		case ret == nvml.SUCCESS, ret == nvml.ERROR_TIMEOUT:
		default: // with a lost GPU the wait ends at once, again and again
			pause.Reset(pauseAfterError)
			select {
			case <-pause.C:
			case <-w.stop:
			}
		}
		select {
		case <-w.stop:
			return
		default:
		}
	}
}

// close ends the waiting and gives the set back.
func (w *watch) close() {
	if w == nil {
		return
	}
	close(w.stop)
	if w.done != nil {
		<-w.done
	}
	_ = w.set.Free()
}
