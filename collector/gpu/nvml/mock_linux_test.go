//go:build linux && cgo && !nonvml

package nvml

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/gpus"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
)

// machine is one of go-nvml's, whose functions a test sets, and a source that reads it. Any function that is not set panics when it is called.
type machine struct {
	*server.Server
	symbols []string // functions that its library has
	passed  time.Duration
	source  *Source
	log     bytes.Buffer
	order   []string // what was given back, and when the driver was shut down
}

// newMachine has so many GPUs, in a library that has these functions beside those that there must be.
func newMachine(t *testing.T, count int, symbols ...string) *machine {
	t.Helper()
	m := &machine{Server: dgxh100.NewWithGPUs(gpus.Multiple(count, gpus.H100_SXM5_80GB)...), symbols: symbols}
	m.ShutdownFunc = func() nvml.Return {
		m.order = append(m.order, "shutdown")
		return nvml.SUCCESS
	}
	begin := time.Now()
	m.source = newSource(gpu.NVMLConfig{}, slog.New(slog.NewTextHandler(&m.log, nil)), func() time.Time { return begin.Add(m.passed) },
		func() (*driver, gpu.State, error) {
			return &driver{library: m, has: func(symbol string) bool { return slices.Contains(m.symbols, symbol) }}, gpu.OK, nil
		})
	t.Cleanup(m.source.Close)
	return m
}

// gpu is one of the machine's.
func (m *machine) gpu(index int) *server.Device { return m.Devices[index].(*server.Device) }

// read looks once; whatever comes of it must be in the table of series.
func (m *machine) read(t *testing.T) gpu.Reading {
	t.Helper()
	r := m.source.Read(t.Context())
	checkTable(t, &r)
	return r
}

// of is what a reading says of a series of its first device.
func of(t *testing.T, r *gpu.Reading, series string) (float64, bool) {
	t.Helper()
	if len(r.Devices) == 0 {
		t.Fatalf("the reading has no device, its state is %s: %s", r.State, r.Message)
	}
	v, ok := values(&r.Devices[0])[series]
	return v, ok
}

func TestWhatADeviceDoesNotSupportIsAskedOnceUntilTheDriverIsStartedAnew(t *testing.T) {
	t.Parallel()
	m := newMachine(t, 2, "nvmlDeviceGetFanSpeed", "nvmlDeviceGetTemperature")
	asked, answer := 0, nvml.SUCCESS
	m.gpu(0).GetFanSpeedFunc = func() (uint32, nvml.Return) {
		asked++
		return 0, nvml.ERROR_NOT_SUPPORTED
	}
	m.gpu(1).GetFanSpeedFunc = func() (uint32, nvml.Return) { return 130, nvml.SUCCESS }
	m.gpu(0).GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 50, nvml.SUCCESS }
	m.gpu(1).GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 50, answer }
	for range 3 {
		r := m.read(t)
		if _, ok := of(t, &r, "aiperf_gpu_fan_speed_ratio"); ok {
			t.Error("there is a fan speed, want none")
		}
		if got := values(&r.Devices[1])["aiperf_gpu_fan_speed_ratio"]; got != 1.3 {
			t.Errorf("fan speed of the other GPU is %v, want 1.3", got)
		}
		m.passed += retryEvery // what does not change is looked at again
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	answer = nvml.ERROR_RESET_REQUIRED
	r := m.read(t)
	wantState(t, r, gpu.OK, "0", "1 lost")
	answer = nvml.SUCCESS
	m.passed += retryEvery
	wantState(t, m.read(t), gpu.OK, "0", "1")
	if asked != 2 || !slices.Equal(m.order, []string{"shutdown"}) {
		t.Errorf("asked %d times and shut down %d times, want two and one", asked, len(m.order))
	}
}

func TestBestWayThatIsSupportedIsTaken(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		symbols []string
		prepare func(*server.Device)
		want    map[string]float64
	}{
		{
			"power at this instant before its mean",
			[]string{getFields, "nvmlDeviceGetPowerUsage"},
			func(d *server.Device) {
				d.GetFieldValuesFunc = fieldsOf(map[uint32]uint64{nvml.FI_DEV_POWER_INSTANT: 650500})
			},
			map[string]float64{"aiperf_gpu_power_watts": 650.5},
		},
		{
			"mean power where the driver has no field for it",
			[]string{getFields, "nvmlDeviceGetPowerUsage"},
			func(d *server.Device) {
				d.GetFieldValuesFunc = fieldsOf(nil)
				d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 600250, nvml.SUCCESS }
			},
			map[string]float64{"aiperf_gpu_power_watts": 600.25},
		},
		{
			"memory of an old driver",
			[]string{"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"},
			func(d *server.Device) {
				d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_ARGUMENT_VERSION_MISMATCH }
				d.MemoryInfo = nvml.Memory{Total: 100, Used: 60, Free: 40}
			},
			map[string]float64{"aiperf_gpu_memory_total_bytes": 100, "aiperf_gpu_memory_used_bytes": 60, "aiperf_gpu_memory_free_bytes": 40},
		},
		{
			"throttling by fields where its function is gone",
			[]string{getFields},
			func(d *server.Device) {
				d.GetFieldValuesFunc = fieldsOf(map[uint32]uint64{nvml.FI_DEV_PERF_POLICY_THERMAL: 1500000000})
			},
			map[string]float64{"aiperf_gpu_throttle_seconds_total thermal": 1.5},
		},
		{
			"NVLink link by link where the driver does not add up",
			[]string{getFields},
			func(d *server.Device) {
				d.GetFieldValuesFunc = fieldsOf(map[uint32]uint64{
					nvml.FI_DEV_NVLINK_LINK_COUNT: 2, nvml.FI_DEV_NVLINK_COUNT_XMIT_BYTES: 100, nvml.FI_DEV_NVLINK_COUNT_RCV_BYTES: 200,
				})
			},
			map[string]float64{"aiperf_gpu_nvlink_transmit_bytes_total": 200, "aiperf_gpu_nvlink_receive_bytes_total": 400},
		},
		{
			"replays by a field where the function is not supported",
			[]string{getFields, "nvmlDeviceGetPcieReplayCounter"},
			func(d *server.Device) {
				d.GetPcieReplayCounterFunc = func() (int, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
				d.GetFieldValuesFunc = fieldsOf(map[uint32]uint64{nvml.FI_DEV_PCIE_REPLAY_COUNTER: 9})
			},
			map[string]float64{"aiperf_gpu_pcie_replays_total": 9},
		},
		{
			"no performance state that is unknown",
			[]string{"nvmlDeviceGetPerformanceState"},
			func(d *server.Device) {
				d.GetPerformanceStateFunc = func() (nvml.Pstates, nvml.Return) { return nvml.PSTATE_UNKNOWN, nvml.SUCCESS }
			},
			map[string]float64{},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, 1, tc.symbols...)
			tc.prepare(m.gpu(0))
			m.read(t)
			r := m.read(t)
			tc.want["aiperf_gpu_health"] = 1
			if diff := cmp.Diff(tc.want, values(&r.Devices[0]), approximately); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// fieldsOf answers for these fields, as 64 bits, and supports no other.
func fieldsOf(known map[uint32]uint64) func([]nvml.FieldValue) nvml.Return {
	return func(values []nvml.FieldValue) nvml.Return {
		for i := range values {
			v, ok := known[values[i].FieldId]
			if !ok {
				values[i].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
				continue
			}
			values[i].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG)
			binary.NativeEndian.PutUint64(values[i].Value[:], v)
		}
		return nvml.SUCCESS
	}
}

func TestPCIeCounterOf32BitsIsNoCounter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		asked bool // for the rate
		want  map[string]float64
	}{
		{"no traffic is shown", false, map[string]float64{}},
		{"the rate is shown where it is asked for", true, map[string]float64{
			"aiperf_gpu_pcie_transmit_bytes_per_second": 7000, "aiperf_gpu_pcie_receive_bytes_per_second": 5000,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, 1, getFields, "nvmlDeviceGetPcieThroughput")
			m.source.config.PCIeThroughput = tc.asked
			m.gpu(0).GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
				for i := range values {
					if values[i].FieldId != nvml.FI_DEV_PCIE_COUNT_TX_BYTES && values[i].FieldId != nvml.FI_DEV_PCIE_COUNT_RX_BYTES {
						values[i].NvmlReturn = uint32(nvml.ERROR_INVALID_ARGUMENT)
					}
					values[i].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_INT)
				}
				return nvml.SUCCESS
			}
			m.gpu(0).GetPcieThroughputFunc = func(counter nvml.PcieUtilCounter) (uint32, nvml.Return) {
				if counter == nvml.PCIE_UTIL_TX_BYTES {
					return 7, nvml.SUCCESS
				}
				return 5, nvml.SUCCESS
			}
			r := m.read(t)
			tc.want["aiperf_gpu_health"] = 1
			if diff := cmp.Diff(tc.want, values(&r.Devices[0])); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// sampler makes a machine measure activity; at counts its samples.
func sampler(m *machine, index int) {
	m.symbols = append(m.symbols, gpmSymbols...)
	at := 0.0
	taken := make(map[nvml.GpmSample]float64)
	m.GpmSampleAllocFunc = func() (nvml.GpmSample, nvml.Return) {
		return &mock.GpmSample{FreeFunc: func() nvml.Return {
			m.order = append(m.order, "sample")
			return nvml.SUCCESS
		}}, nvml.SUCCESS
	}
	m.gpu(index).GpmQueryDeviceSupportFunc = func() (nvml.GpmSupport, nvml.Return) {
		return nvml.GpmSupport{IsSupportedDevice: 1}, nvml.SUCCESS
	}
	m.gpu(index).GpmSampleGetFunc = func(s nvml.GpmSample) nvml.Return {
		at++
		taken[s] = at
		return nvml.SUCCESS
	}
	m.GpmMetricsGetFunc = func(r *nvml.GpmMetricsGetType) nvml.Return {
		if taken[r.Sample2] != taken[r.Sample1]+1 {
			return nvml.ERROR_UNKNOWN
		}
		for i := range r.Metrics[:r.NumMetrics] {
			r.Metrics[i].Value = at
			if r.Metrics[i].MetricId == uint32(nvml.GPM_METRIC_DRAM_BW_UTIL) {
				r.Metrics[i].Value = math.NaN()
			}
			if r.Metrics[i].MetricId == uint32(nvml.GPM_METRIC_SM_OCCUPANCY) {
				r.Metrics[i].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
			}
		}
		return nvml.SUCCESS
	}
}

func TestActivityIsThatBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	m := newMachine(t, 1)
	sampler(m, 0)
	r := m.read(t)
	if v, ok := of(t, &r, "aiperf_gpu_sm_active_ratio"); ok {
		t.Errorf("the first look has the activity %v, want none", v)
	}
	for look := 2.0; look < 5; look++ {
		r = m.read(t)
		want := map[string]float64{
			"aiperf_gpu_engine_active_ratio": look / 100, "aiperf_gpu_sm_active_ratio": look / 100, "aiperf_gpu_tensor_active_ratio": look / 100,
			"aiperf_gpu_nvlink_bytes_per_second": 2 * look * mebi, "aiperf_gpu_health": 1,
		}
		if diff := cmp.Diff(want, values(&r.Devices[0]), approximately); diff != "" {
			t.Errorf("values at look %v (-want +got):\n%s", look, diff)
		}
	}
	m.source.Close()
	if want := []string{"sample", "sample", "shutdown"}; !slices.Equal(m.order, want) {
		t.Errorf("got the order %q at the end, want %q", m.order, want)
	}
}

func TestActivityThatMayNotBeReadIsGivenUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t, 1)
	sampler(m, 0)
	m.gpu(0).GpmSampleGetFunc = func(nvml.GpmSample) nvml.Return { return nvml.ERROR_NO_PERMISSION }
	r := m.read(t)
	wantState(t, r, gpu.OK, "0")
	wantState(t, m.read(t), gpu.OK, "0")
	if want := []string{"sample", "sample"}; len(r.Failures) > 0 || !slices.Equal(m.order, want) {
		t.Errorf("got the failures %v and the order %q, want none and %q", r.Failures, m.order, want)
	}
}

func TestMIGIsFollowedOnAMachineOfGoNVML(t *testing.T) {
	t.Parallel()
	m := newMachine(t, 2, "nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex",
		"nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetMemoryInfo")
	parts := make([]*server.Device, 3)
	for i := range parts {
		parts[i] = dgxh100.NewDevice(i)
		parts[i].UUID = "MIG-" + string(rune('a'+i))
		parts[i].MemoryInfo = nvml.Memory{Total: uint64(i + 1)}
		parts[i].GetGpuInstanceIdFunc = func() (int, nvml.Return) { return 3 + i, nvml.SUCCESS }
		parts[i].GetAttributesFunc = func() (nvml.DeviceAttributes, nvml.Return) {
			return nvml.DeviceAttributes{GpuInstanceSliceCount: 1, ComputeInstanceSliceCount: 1, MemorySizeMB: 9984}, nvml.SUCCESS
		}
	}
	present := []int{0, 1}
	m.gpu(0).GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	m.gpu(0).GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if !slices.Contains(present, i) {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return parts[i], nvml.SUCCESS
	}
	wantState(t, m.read(t), gpu.OK, "0", "1")

	m.gpu(0).MigMode = nvml.DEVICE_MIG_ENABLE
	m.passed += retryEvery
	r := m.read(t)
	wantState(t, r, gpu.OK, "0", "0/3", "0/4", "1")
	if _, ok := of(t, &r, "aiperf_gpu_memory_total_bytes"); ok {
		t.Error("the whole GPU has memory, want that of its instances only")
	}
	if got := values(&r.Devices[2])["aiperf_gpu_memory_total_bytes"]; got != 2 {
		t.Errorf("memory of the second instance is %v, want 2", got)
	}

	present = []int{1, 2}
	m.passed += retryEvery
	wantState(t, m.read(t), gpu.OK, "0", "0/4", "0/5", "1")

	m.gpu(0).MigMode = nvml.DEVICE_MIG_DISABLE
	m.passed += retryEvery
	wantState(t, m.read(t), gpu.OK, "0", "1")
}

func TestLostGPUIsFoundWhileItsInstancesAreLookedFor(t *testing.T) {
	t.Parallel()
	m := newMachine(t, 1, "nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetGpuInstanceId")
	m.gpu(0).GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	m.gpu(0).GetMigDeviceHandleByIndexFunc = func(int) (nvml.Device, nvml.Return) { return nil, nvml.ERROR_GPU_IS_LOST }
	wantState(t, m.read(t), gpu.OK, "0")
	m.gpu(0).MigMode = nvml.DEVICE_MIG_ENABLE
	m.passed += retryEvery
	wantState(t, m.read(t), gpu.OK, "0 lost")
}

func TestLossOfAGPUIsLoggedOnceWithItsSource(t *testing.T) {
	t.Parallel()
	m := newMachine(t, 2, "nvmlDeviceGetFanSpeed")
	m.gpu(0).GetFanSpeedFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
	m.gpu(1).GetFanSpeedFunc = func() (uint32, nvml.Return) { return 50, nvml.SUCCESS }
	for range 3 {
		m.read(t)
	}
	const line = `msg="GPU no longer answers" gpu_source=nvml gpu=0 `
	if got := m.log.String(); strings.Count(got, line) != 1 || strings.Count(got, "\n") != 1 {
		t.Errorf("log %q, want one line with %s", got, line)
	}
}

func TestLookEndsBetweenTwoGPUsWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	m := newMachine(t, 2, "nvmlDeviceGetFanSpeed")
	ctx, cancel := context.WithCancel(t.Context())
	m.gpu(0).GetFanSpeedFunc = func() (uint32, nvml.Return) {
		cancel()
		return 0, nvml.SUCCESS
	}
	m.gpu(1).GetFanSpeedFunc = func() (uint32, nvml.Return) { return 0, nvml.SUCCESS }
	wantState(t, m.source.Read(ctx), gpu.Failed)
	wantState(t, m.read(t), gpu.OK, "0", "1")
}

func TestEventIsOfTheGPUByItsHandleElseByItsUUID(t *testing.T) {
	t.Parallel()
	m := newMachine(t, 1, "nvmlEventSetCreate", "nvmlEventSetFree", "nvmlDeviceRegisterEvents", "nvmlDeviceGetSupportedEventTypes",
		"nvmlEventSetWait_v2")
	registered := 0
	m.gpu(0).GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return nvml.EventTypeXidCriticalError, nvml.SUCCESS }
	m.gpu(0).RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return {
		registered++
		return nvml.SUCCESS
	}
	var lost atomic.Bool
	uuid := m.gpu(0).UUID
	m.gpu(0).GetUUIDFunc = func() (string, nvml.Return) {
		if lost.Load() {
			return "", nvml.ERROR_GPU_IS_LOST
		}
		return uuid, nvml.SUCCESS
	}
	told := make(chan nvml.EventData, 4)
	m.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		return &mock.EventSet{
			WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
				select {
				case data := <-told:
					return data, nvml.SUCCESS
				default:
					return nvml.EventData{}, nvml.ERROR_TIMEOUT
				}
			},
			FreeFunc: func() nvml.Return { return nvml.SUCCESS },
		}, nvml.SUCCESS
	}
	m.read(t)
	m.passed += retryEvery
	m.read(t)
	if registered != 1 {
		t.Errorf("registered %d times for events, want once", registered)
	}

	lost.Store(true)
	other, stranger := dgxh100.NewDevice(0), dgxh100.NewDevice(5)
	other.UUID = uuid
	told <- nvml.EventData{Device: stranger, EventType: nvml.EventTypeXidCriticalError, EventData: 13}
	told <- nvml.EventData{EventType: nvml.EventTypeXidCriticalError, EventData: 13}
	told <- nvml.EventData{Device: m.gpu(0), EventType: nvml.EventTypeXidCriticalError, EventData: 79}
	told <- nvml.EventData{Device: other, EventType: nvml.EventTypeXidCriticalError, EventData: 48}
	r := m.read(t)
	for v, _ := of(t, &r, "aiperf_gpu_last_xid"); v != 48; v, _ = of(t, &r, "aiperf_gpu_last_xid") { // the last of them
		r = m.read(t)
	}
	for code, want := range map[string]float64{"13": 0, "48": 1, "79": 1} {
		if v, _ := of(t, &r, "aiperf_gpu_xid_errors_total "+code); v != want {
			t.Errorf("got %v errors %s, want %v", v, code, want)
		}
	}
}

func TestWaitingThatFailsIsNotAnEndlessLoop(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{}, 1000)
	w := &watch{
		set: &mock.EventSet{
			WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
				waits <- struct{}{}
				return nvml.EventData{}, nvml.ERROR_GPU_IS_LOST // as with a lost GPU: at once, again and again
			},
			FreeFunc: func() nvml.Return { return nvml.SUCCESS },
		},
		events: newEvents(), stop: make(chan struct{}), owners: map[any]string{0: "GPU-0"},
	}
	w.start()
	<-waits
	w.close()
	if len(waits) > 5 { // one would be, each second for which this machine is busy
		t.Errorf("waited %d times more, want a pause that the end breaks off", len(waits))
	}
}

func TestHostIsTheNodeInAContainer(t *testing.T) {
	t.Setenv("NODE_NAME", "node-7")
	s := Open(gpu.NVMLConfig{LibraryPath: "/nonexistent"}, slog.New(slog.DiscardHandler))
	defer s.Close()
	if s.hostname != "node-7" {
		t.Errorf("hostname is %q, want that of NODE_NAME", s.hostname)
	}
	t.Setenv("NODE_NAME", "")
	if got := hostname(); got == "" {
		t.Error("hostname is empty, want the name of this machine")
	}
}

func TestLibraryIsLoadedOnce(t *testing.T) {
	t.Parallel()
	loads, passed := 0, time.Duration(0)
	begin := time.Now()
	s := newSource(gpu.NVMLConfig{}, slog.New(slog.DiscardHandler), func() time.Time { return begin.Add(passed) }, func() (*driver, gpu.State, error) {
		loads++
		if loads == 1 {
			return nil, gpu.LibraryNotFound, errors.New("not there yet")
		}
		return &driver{library: dgxh100.New(), has: func(string) bool { return false }}, gpu.OK, nil
	})
	defer s.Close()
	for _, want := range []gpu.State{gpu.LibraryNotFound, gpu.LibraryNotFound, gpu.OK, gpu.OK} {
		if got := s.Read(t.Context()).State; got != want {
			t.Errorf("the state is %s, want %s", got, want)
		}
		passed += retryEvery / 2
	}
	if loads != 2 {
		t.Errorf("loaded %d times, want two", loads)
	}
}

func TestFieldSaysOfWhatTypeItIs(t *testing.T) {
	t.Parallel()
	for kind, want := range map[nvml.ValueType]float64{
		nvml.VALUE_TYPE_DOUBLE:             math.Float64frombits(0xfffefdfcfbfaf9f8),
		nvml.VALUE_TYPE_UNSIGNED_INT:       0xfbfaf9f8,
		nvml.VALUE_TYPE_UNSIGNED_LONG:      0xfffefdfcfbfaf9f8,
		nvml.VALUE_TYPE_UNSIGNED_LONG_LONG: 0xfffefdfcfbfaf9f8,
		nvml.VALUE_TYPE_SIGNED_LONG_LONG:   -0x0001020304050608,
		nvml.VALUE_TYPE_SIGNED_INT:         -0x04050608,
		nvml.VALUE_TYPE_UNSIGNED_SHORT:     0xf9f8,
	} {
		v := nvml.FieldValue{ValueType: uint32(kind)}
		binary.NativeEndian.PutUint64(v.Value[:], 0xfffefdfcfbfaf9f8)
		if got := fieldNumber(&v); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("type %d: got %v, want %v", kind, got, want)
		}
	}
}

func TestProfileOfAnInstanceIsItsNameOfNVIDIA(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		want            string
		total           uint64 // MiB of the GPU
		memory          uint64 // MiB of the instance
		slices, compute uint32
	}{
		{"1g.5gb", 40536, 4864, 1, 1},
		{"3g.20gb", 40536, 19968, 3, 3},
		{"1g.10gb", 81559, 9984, 1, 1},
		{"7g.80gb", 81559, 81152, 7, 7},
		{"1c.3g.40gb", 81559, 40448, 3, 1},
		{"1g.18gb", 143771, 16384, 1, 1},
		{"", 0, 9984, 1, 1},
	} {
		a := nvml.DeviceAttributes{MemorySizeMB: tc.memory, GpuInstanceSliceCount: tc.slices, ComputeInstanceSliceCount: tc.compute}
		if got := profile(&a, tc.total*mebi); got != tc.want {
			t.Errorf("%d MiB of %d: got %q, want %q", tc.memory, tc.total, got, tc.want)
		}
	}
}
