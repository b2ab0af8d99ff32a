package gpu

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const second = int64(time.Second)

// seconds are samples at whole seconds.
func seconds(samples ...[2]float64) []point {
	var out []point
	for _, s := range samples {
		out = append(out, point{at: int64(s[0] * 1e9), value: s[1]})
	}
	return out
}

func TestEnergyOfAWindow(t *testing.T) {
	t.Parallel()
	const unknown = -1
	for _, c := range []struct {
		name     string
		find     func(points []point, t0, t1, interval int64) (float64, bool)
		points   []point
		from, to float64 // seconds
		interval float64
		want     float64
	}{
		{"a counter is interpolated at both ends", counted, seconds([2]float64{0, 1000}, [2]float64{10, 5000}, [2]float64{20, 9000}), 5, 12, 10, 2800},
		{"the ends may be samples", counted, seconds([2]float64{0, 1000}, [2]float64{10, 5000}, [2]float64{20, 9000}), 0, 20, 10, 8000},
		{"a window may lie between two samples", counted, seconds([2]float64{0, 1000}, [2]float64{10, 5000}), 4, 6, 10, 800},
		{"the last sample before it may be one and a half intervals away", counted, seconds([2]float64{0, 0}, [2]float64{16, 1600}, [2]float64{26, 2600}), 15, 20, 10, 500},
		{"but no more", counted, seconds([2]float64{0, 0}, [2]float64{16, 1600}, [2]float64{26, 2600}), 15.1, 20, 10, unknown},
		{"nor the first one after it", counted, seconds([2]float64{0, 0}, [2]float64{10, 1000}, [2]float64{26, 2600}), 5, 10.9, 10, unknown},
		{"without a sample before it nothing is known", counted, seconds([2]float64{1, 0}, [2]float64{10, 1000}), 0, 5, 10, unknown},
		{"nor without one after it", counted, seconds([2]float64{0, 0}, [2]float64{10, 1000}), 5, 11, 10, unknown},
		{"nor without samples", counted, nil, 5, 11, 10, unknown},
		{"nor in a window without length", counted, seconds([2]float64{0, 0}, [2]float64{10, 1000}), 5, 5, 10, unknown},
		{"a gap inside costs a counter nothing", counted, seconds([2]float64{0, 0}, [2]float64{10, 1000}, [2]float64{90, 9000}, [2]float64{100, 10000}), 5, 95, 10, 9000},
		{"after a counter began anew only what came then is known", counted, seconds([2]float64{0, 1000}, [2]float64{10, 2000}, [2]float64{20, 300}, [2]float64{30, 1300}), 10, 30, 10, 1300},
		{"a counter that began anew before the window says nothing of it", counted, seconds([2]float64{0, 9000}, [2]float64{10, 500}, [2]float64{20, 1500}), 10, 20, 10, 1000},
		{"power is integrated, with its values at both ends", integrated, seconds([2]float64{0, 100}, [2]float64{10, 200}, [2]float64{20, 400}), 5, 15, 10, (150+200)/2*5 + (200+300)/2*5},
		{"also between two samples", integrated, seconds([2]float64{0, 100}, [2]float64{10, 200}), 4, 6, 10, 150 * 2},
		{"also where the ends are samples", integrated, seconds([2]float64{0, 100}, [2]float64{10, 200}, [2]float64{20, 400}), 0, 20, 10, 1500 + 3000},
		{"over a gap nobody knows the power", integrated, seconds([2]float64{0, 100}, [2]float64{10, 100}, [2]float64{41, 100}, [2]float64{50, 100}), 5, 45, 10, unknown},
		{"a gap outside does not matter", integrated, seconds([2]float64{0, 100}, [2]float64{41, 100}, [2]float64{50, 100}, [2]float64{60, 100}), 45, 55, 10, 1000},
		{"power needs samples around the window, too", integrated, seconds([2]float64{0, 100}, [2]float64{10, 200}), 5, 11, 10, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := c.find(c.points, int64(c.from*1e9), int64(c.to*1e9), int64(c.interval*1e9))
			if !ok {
				got = unknown
			}
			if math.Abs(got-c.want) > 1e-6 {
				t.Errorf("energy = %v J, want %v J", got, c.want)
			}
		})
	}
}

// meterOf is a meter for the driver, asked each interval.
func meterOf(t *testing.T, interval time.Duration) *EnergyMeter {
	t.Helper()
	config := DefaultConfig()
	config.Source, config.NVML.Interval = Sources{"nvml"}, interval
	m, err := NewEnergyMeter(config, map[string]Selector{"chat": {}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// observed is a reading of a GPU; a value below 0 is not told.
func observed(source SourceName, at int64, uuid string, joules, watts float64) *Reading {
	d := Device{Identity: Identity{UUID: uuid}, Info: Info{Model: "H100"}}
	if joules >= 0 {
		d.Samples = append(d.Samples, Sample{Name: seriesEnergy, Value: joules})
	}
	if watts >= 0 {
		d.Samples = append(d.Samples, Sample{Name: seriesPower, Value: watts})
	}
	return &Reading{Source: source, State: OK, At: at, Devices: []Device{d}}
}

// TestThePauseBeforeAWindowIsNotInIt: two GPUs draw 400 W each, the collector pauses for 34.2 s before a window of 6.19 s. Counting from the last
// sample before it, however old, comes to 6.5 times too much.
func TestThePauseBeforeAWindowIsNotInIt(t *testing.T) {
	t.Parallel()
	const watts, interval = 400., 333 * time.Millisecond
	for _, pause := range []time.Duration{0, 30 * time.Second, 34200 * time.Millisecond, time.Hour} {
		for _, length := range []time.Duration{6 * time.Second, 6190 * time.Millisecond} {
			m := meterOf(t, interval)
			look := func(at time.Duration) {
				for _, uuid := range []string{"GPU-a", "GPU-b"} {
					m.Observe(observed(NVML, int64(at), uuid, 1e6+watts*at.Seconds(), watts))
				}
			}
			look(0)
			look(interval)
			t0 := interval + pause + 200*time.Millisecond
			for at := interval + pause; at <= t0+length+interval; at += interval {
				look(at)
			}
			want := watts * length.Seconds()
			got := m.Energy(int64(t0), int64(t0+length))
			if len(got) != 2 {
				t.Fatalf("%d GPUs, want 2", len(got))
			}
			for _, e := range got {
				if !e.Known || math.Abs(e.Joules-want) > 0.01*want || math.Abs(e.Watts-watts) > 0.01*watts {
					t.Errorf("pause %v: %.1f J, %.1f W, known %v; want %.1f J, %v W", pause, e.Joules, e.Watts, e.Known, want, watts)
				}
			}
			if total, partial := TotalEnergy(got); partial || math.Abs(total-2*want) > 0.02*want {
				t.Errorf("pause %v: total %.1f J, partial %v; want %.1f J", pause, total, partial, 2*want)
			}
		}
	}
}

func TestAnIdleGPUBeforeTheWindowIsNotInIt(t *testing.T) {
	t.Parallel()
	m := meterOf(t, time.Second)
	joules := 0.
	for at := range int64(40) {
		m.Observe(observed(NVML, at*second, "GPU-a", joules, -1))
		if at < 30 {
			joules += 60
		} else {
			joules += 400
		}
	}
	e := m.Energy(30*second, 36*second)[0]
	if !e.Known || e.Joules != 2400 || e.Method != ByCounter || e.Target != "chat" || e.Info.Model != "H100" {
		t.Errorf("energy = %+v, want 2400 J of the counter", e)
	}
}

func TestAWindowAfterAPauseIsUnknownAndTheTotalPartial(t *testing.T) {
	t.Parallel()
	m := meterOf(t, time.Second)
	for _, at := range []int64{0, 1, 35, 36, 42, 43} {
		m.Observe(observed(NVML, at*second, "GPU-a", float64(at)*400, -1))
	}
	m.Observe(observed(NVML, 33*second, "GPU-b", 1, -1))
	m.Observe(observed(NVML, 34*second, "GPU-b", 2, -1))
	m.Observe(observed(NVML, 43*second, "GPU-b", 3, -1))
	got := m.Energy(30*second, 36*second)
	for _, e := range got {
		if e.Known || e.Joules != 0 || e.Watts != 0 {
			t.Errorf("energy = %+v, want unknown", e)
		}
	}
	if total, partial := TotalEnergy(got); total != 0 || !partial {
		t.Errorf("total = %v, partial %v; want 0 and partial", total, partial)
	}
}

// TestAnExporterThatMeasuresRarely tells the same counter twice: it is known in steps of 30 s.
func TestAnExporterThatMeasuresRarely(t *testing.T) {
	t.Parallel()
	config := DefaultConfig()
	config.Source = Sources{"dcgm"}
	m, err := NewEnergyMeter(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at <= 300; at += 15 {
		m.Observe(observed(DCGM, at*second, "GPU-a", float64(at/30*30)*400, -1))
	}
	if e := m.Energy(40*second, 100*second)[0]; !e.Known || e.Joules != 24000 {
		t.Errorf("window of a minute: %+v, want 24000 J", e)
	}
	if e := m.Energy(40*second, 46*second)[0]; e.Known {
		t.Errorf("window of six seconds: %+v, want unknown", e)
	}
}

// TestLooksThatFollowEachOtherClosely find the counter where it was, which does not excuse a pause after them.
func TestLooksThatFollowEachOtherClosely(t *testing.T) {
	t.Parallel()
	m := meterOf(t, 5*time.Second)
	look := func(at, joules float64) { m.Observe(observed(NVML, int64(at*1e9), "GPU-a", joules, -1)) }
	look(0, 0)
	look(0.02, 0)
	look(5, 2000)
	look(10, 4000)
	if e := m.Energy(2*second, 5*second)[0]; !e.Known || e.Joules != 1200 {
		t.Errorf("without a pause: %+v, want 1200 J", e)
	}
	look(10.02, 4000)
	look(44, 10000)
	look(49, 12000)
	if e := m.Energy(12*second, 48*second)[0]; e.Known {
		t.Errorf("after a pause: %+v, want unknown", e)
	}
}

func TestOnlyWholeGPUsCountAndEachOnce(t *testing.T) {
	t.Parallel()
	m := meterOf(t, time.Second)
	for at := range int64(4) {
		m.Observe(observed(DCGM, at*second, "GPU-a", float64(at)*300, -1))
		m.Observe(observed(NVML, at*second, "GPU-a", float64(at)*400, -1))
		m.Observe(observed(Triton, at*second, "GPU-b", -1, 200))
		part := observed(NVML, at*second, "MIG-x", float64(at)*400, 400)
		part.Devices[0].Instance = "1"
		m.Observe(part)
		lost := observed(NVML, at*second, "GPU-c", float64(at)*400, 400)
		lost.Devices[0].Lost = true
		m.Observe(lost)
	}
	type short struct {
		Source SourceName
		UUID   string
		Joules float64
		Method Method
	}
	var got []short
	for _, e := range m.Energy(1*second, 3*second) {
		got = append(got, short{e.Source, e.UUID, e.Joules, e.Method})
	}
	if diff := cmp.Diff([]short{{NVML, "GPU-a", 800, ByCounter}, {Triton, "GPU-b", 400, ByPower}}, got); diff != "" {
		t.Errorf("energy (-want +got):\n%s", diff)
	}
	// The driver saw nothing any more, dcgm-exporter did.
	for at := int64(4); at < 9; at++ {
		m.Observe(observed(DCGM, at*second, "GPU-a", float64(at)*300, -1))
	}
	if e := m.Energy(5*second, 8*second)[0]; e.Source != DCGM || e.Joules != 900 {
		t.Errorf("energy = %+v, want 900 J of dcgm", e)
	}
}

func TestAWindowMayBeWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := meterOf(t, time.Second)
		ended := make(chan struct{})
		wait := func(ctx context.Context, at int64) {
			ended = make(chan struct{})
			go func() { defer close(ended); m.Await(ctx, at) }()
			synctest.Wait()
		}
		isOver := func() bool {
			synctest.Wait()
			select {
			case <-ended:
				return true
			default:
				return false
			}
		}
		wait(t.Context(), 5*second)
		m.Observe(observed(NVML, 4*second, "GPU-a", 1, -1))
		if isOver() {
			t.Error("ended before the instant")
		}
		m.Observe(observed(NVML, 5*second, "GPU-a", 2, -1))
		if !isOver() {
			t.Error("did not end at the instant")
		}
		m.Observe(observed(NVML, 6*second, "GPU-b", 2, -1))
		ctx, cancel := context.WithCancel(t.Context())
		wait(ctx, 6*second)
		if isOver() {
			t.Error("ended though one GPU was not seen")
		}
		cancel()
		if !isOver() {
			t.Error("did not end with its context")
		}
	})
}

func TestWithoutSourcesNothingIsWaitedFor(t *testing.T) {
	t.Parallel()
	config := DefaultConfig()
	config.Source = Sources{"off"}
	m, err := NewEnergyMeter(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Await(t.Context(), second)
	if got := m.Energy(0, second); len(got) != 0 {
		t.Errorf("energy = %v, want none", got)
	}
}

func TestMemoryOfTheMeterIsBounded(t *testing.T) {
	t.Parallel()
	var points []point
	for at := range int64(3 * maxPoints) {
		points = appendPoint(points, point{at: at})
	}
	if len(points) > maxPoints || points[len(points)-1].at != 3*maxPoints-1 {
		t.Errorf("%d samples up to %d, want no more than %d up to %d", len(points), points[len(points)-1].at, maxPoints, 3*maxPoints-1)
	}
	if got := appendPoint(points, point{at: 0}); len(got) != len(points) {
		t.Error("took a sample that is older than the last one")
	}
}
