package gpu

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// What dcgm-exporter tells about XID errors beside the last code. Both become aiperf_gpu_xid_errors_total and are no series of ours.
const (
	xidWindow = "xid_window" // how many there were in the last minutes: falls when they are past
	xidTotal  = "xid_total"  // how many there were since the exporter was started
)

// rememberDevice is for how long a device that is gone is remembered, and maxGone how many of them are: an exporter may invent devices for ever.
const (
	rememberDevice = 10 * time.Minute
	maxGone        = 1000
)

// xidHistory makes counters of what one exporter tells about XID errors: of a total, if it has one, else of what comes into the window, else of
// the changes of the last code, which misses repetitions.
type xidHistory struct {
	mu      sync.Mutex // a look that hung may end beside those of the source that took the place of its own
	devices map[Identity]*xidState
}

type xidState struct {
	counts XIDCounts
	last   float64            // code
	window map[uint64]float64 // by code
	at     int64
}

// count replaces what the exporter tells by counters. They begin with the first look at a device: what was before is not counted.
func (h *xidHistory) count(devices []Device, at int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.devices == nil {
		h.devices = map[Identity]*xidState{}
	}
	told := slices.ContainsFunc(devices, func(d Device) bool { return slices.ContainsFunc(d.Samples, isXID) })
	for i := range devices {
		dev := &devices[i]
		if dev.Instance != "" {
			continue
		}
		state, known := h.devices[dev.key()]
		if !known {
			state = &xidState{}
			h.devices[dev.key()] = state
		}
		state.at = at
		counts := state.look(dev.Samples, known)
		dev.Samples = slices.DeleteFunc(dev.Samples, func(s Sample) bool { return isXID(s) && s.Name != seriesLastXID })
		if told {
			dev.Samples = append(dev.Samples, counts.Samples()...)
		}
	}
	for id, state := range h.devices {
		if at-state.at > int64(rememberDevice) || state.at != at && len(h.devices) > len(devices)+maxGone {
			delete(h.devices, id)
		}
	}
}

func isXID(s Sample) bool {
	return s.Name == seriesLastXID || s.Name == xidWindow || s.Name == xidTotal
}

// look takes in what is told now. known: it is not the first look.
func (x *xidState) look(samples []Sample, known bool) *XIDCounts {
	var total XIDCounts
	window := map[uint64]float64{}
	last, counted, totalled := 0., false, false
	for _, s := range samples {
		switch s.Name {
		case seriesLastXID:
			last = s.Value
		case xidWindow:
			if code, err := strconv.ParseUint(s.Labels[0], 10, 64); err == nil {
				window[code] = s.Value
				counted = true
			}
		case xidTotal:
			if code, err := strconv.ParseUint(s.Labels[0], 10, 64); err == nil {
				total.Add(code, s.Value)
				totalled = true
			}
		}
	}
	if known {
		if counted {
			for code, n := range window {
				x.counts.Add(code, max(0, n-x.window[code]))
			}
		} else if last != x.last {
			x.counts.Add(uint64(last), 1)
		}
	}
	x.window, x.last = window, last
	if totalled {
		return &total
	}
	return &x.counts
}
