package report

import "sync"

// SensorWindow keeps what gauges of GPUs showed, to tell afterwards what they showed within the window of a report. It is safe for concurrent
// use.
type SensorWindow struct {
	mu      sync.Mutex
	devices map[string]*shown // by what the caller tells devices apart with
}

// shown are the readings of a device.
type shown struct {
	order   []string
	sensors map[string][]sensed
}

// sensed is one value.
type sensed struct {
	at    int64
	value float64
}

// NewSensorWindow makes an empty one.
func NewSensorWindow() *SensorWindow { return &SensorWindow{devices: map[string]*shown{}} }

// Observe takes a value that a device showed at an instant of the clock of the records, under the name of our series. Series that AIPerf has no
// field for are not kept.
func (w *SensorWindow) Observe(device string, at int64, series string, value float64) {
	if !isField(series) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.devices[device]
	if d == nil {
		d = &shown{sensors: map[string][]sensed{}}
		w.devices[device] = d
	}
	if d.sensors[series] == nil {
		d.order = append(d.order, series)
	}
	d.sensors[series] = append(d.sensors[series], sensed{at, value})
}

func isField(series string) bool {
	for i := range fields {
		if fields[i].series == series && series != energySeries {
			return true
		}
	}
	return false
}

// Sensors are what a device showed between two instants.
func (w *SensorWindow) Sensors(device string, from, to int64) []Sensor {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.devices[device]
	if d == nil {
		return nil
	}
	var out []Sensor
	for _, series := range d.order {
		var values []float64
		for _, v := range d.sensors[series] {
			if v.at >= from && v.at <= to {
				values = append(values, v.value)
			}
		}
		if len(values) > 0 {
			out = append(out, Sensor{series, values})
		}
	}
	return out
}
