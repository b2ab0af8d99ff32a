package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSensorsShowWhatFellIntoTheWindow(t *testing.T) {
	t.Parallel()
	w := NewSensorWindow()
	for second := range int64(6) {
		w.Observe("a", second, "aiperf_gpu_power_watts", 100*float64(second))
		w.Observe("b", second, "aiperf_gpu_power_watts", 1)
		w.Observe("a", second, "aiperf_gpu_fan_speed_ratio", 0.5)       // AIPerf has no field for it
		w.Observe("a", second, "aiperf_gpu_energy_joules_total", 12345) // is no gauge
	}
	w.Observe("a", 5, "aiperf_gpu_temperature_celsius", 50)
	want := []Sensor{{"aiperf_gpu_power_watts", []float64{200, 300, 400}}}
	if diff := cmp.Diff(want, w.Sensors("a", 2, 4)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := w.Sensors("c", 2, 4); got != nil {
		t.Errorf("an unknown device showed %v", got)
	}
}
