//go:build linux && cgo && !nonvml

package nvml

import (
	"bytes"
	"debug/elf"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// stub compiles the driver without GPUs and gives the file.
func stub(t *testing.T) string {
	t.Helper()
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("no C compiler for the stub of the driver: %v", err)
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), filepath.FromSlash("../../../test/nvmlstub/build.sh"), dir).CombinedOutput(); err != nil {
		t.Fatalf("compile the stub of the driver: %v\n%s", err, out)
	}
	return filepath.Join(dir, libraryName)
}

// without is a copy of a library that lacks some functions: their names are changed, so that nobody finds them.
func without(t *testing.T, library string, symbols ...string) string {
	t.Helper()
	content, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	for _, symbol := range symbols {
		found := []byte("\x00" + symbol + "\x00")
		if !bytes.Contains(content, found) {
			t.Fatalf("%s has no function %s", library, symbol)
		}
		content = bytes.ReplaceAll(content, found, []byte("\x00x"+symbol[1:]+"\x00"))
	}
	lacking := filepath.Join(t.TempDir(), libraryName)
	if err = os.WriteFile(lacking, content, 0o700); err != nil {
		t.Fatal(err)
	}
	return lacking
}

// functions are those that a library has.
func functions(t *testing.T, library string) []string {
	t.Helper()
	f, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && strings.HasPrefix(s.Name, "nvml") {
			names = append(names, s.Name)
		}
	}
	return names
}

// uptime is the clock of the stub's energy, in seconds.
func uptime(t *testing.T) float64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	return float64(now.Nano()) * nano
}

// values are the samples of a device, by series and the values of its labels.
func values(d *gpu.Device) map[string]float64 {
	m := make(map[string]float64)
	for _, s := range d.Samples {
		m[strings.Join(append([]string{s.Name}, s.Labels...), " ")] = s.Value
	}
	return m
}

// names are the devices of a reading: index, instance, and "lost" if it is.
func names(r *gpu.Reading) []string {
	var out []string
	for i := range r.Devices {
		d := &r.Devices[i]
		name := d.Index
		if d.Instance != "" {
			name += "/" + d.Instance
		}
		if d.Lost {
			name += " lost"
		}
		out = append(out, name)
	}
	return out
}

func wantState(t *testing.T, r gpu.Reading, state gpu.State, devices ...string) {
	t.Helper()
	if got := names(&r); r.State != state || !slices.Equal(got, devices) {
		t.Errorf("got the state %s with the devices %q (%s), want %s with %q", r.State, got, r.Message, state, devices)
	}
}

func TestRealLibrarySaysEverythingThatADriverKnows(t *testing.T) {
	t.Parallel()
	p := start(t, stub(t))
	first := p.read()
	before := uptime(t)
	second := p.read()
	after := uptime(t)
	wantState(t, second, gpu.OK, "0", "1")

	d := &second.Devices[1]
	wantIdentity := gpu.Identity{Index: "1", UUID: "GPU-00000000-0000-0000-0000-000000000001", Hostname: "node-1"}
	if diff := cmp.Diff(wantIdentity, d.Identity); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	wantInfo := gpu.Info{
		Model: "NVIDIA H100 80GB HBM3", PCIBusID: "00000000:a1:00.0", Vendor: "nvidia",
		DriverVersion: "580.00.00", CUDAVersion: "13.1", VBIOSVersion: "96.00.74.00.01",
	}
	if diff := cmp.Diff(wantInfo, d.Info); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}

	got := values(d)
	clocks := map[string]float64{
		"aiperf_gpu_energy_joules_total":         300,
		"aiperf_gpu_pcie_transmit_bytes_total":   1e6,
		"aiperf_gpu_pcie_receive_bytes_total":    2e6,
		"aiperf_gpu_nvlink_transmit_bytes_total": 3e6 * kibi,
		"aiperf_gpu_nvlink_receive_bytes_total":  4e6 * kibi,
	}
	for series, perSecond := range clocks {
		if v := got[series]; v < before*perSecond*(1-1e-6) || v > after*perSecond*(1+1e-6) {
			t.Errorf("%s = %v, want between %v and %v", series, v, before*perSecond, after*perSecond)
		}
		delete(got, series)
	}
	if diff := cmp.Diff(wantConstant(), got, approximately); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for series := range values(&first.Devices[0]) {
		if strings.HasSuffix(series, "_active_ratio") {
			t.Errorf("%s is there at the first look, want none: it is over the time between two", series)
		}
	}
	p.do(wordClose)
	p.end()
}

// approximately takes floats for equal that differ by rounding only.
var approximately = cmp.Comparer(func(x, y float64) bool { return x == y || abs(x-y) <= 1e-9*max(abs(x), abs(y)) })

func abs(x float64) float64 { return max(x, -x) }

// wantConstant is what the stub says of its second GPU that is always the same.
func wantConstant() map[string]float64 {
	want := map[string]float64{
		"aiperf_gpu_power_watts": 300, "aiperf_gpu_power_limit_watts": 700,
		"aiperf_gpu_utilization_ratio": .87, "aiperf_gpu_memory_controller_utilization_ratio": .41,
		"aiperf_gpu_memory_total_bytes": 80 << 30, "aiperf_gpu_memory_used_bytes": 39 << 30, "aiperf_gpu_memory_free_bytes": 40 << 30,
		"aiperf_gpu_temperature_celsius": 62, "aiperf_gpu_memory_temperature_celsius": 70,
		"aiperf_gpu_sm_clock_hertz": 1.98e9, "aiperf_gpu_memory_clock_hertz": 2.619e9,
		"aiperf_gpu_engine_active_ratio": .9, "aiperf_gpu_sm_active_ratio": .75, "aiperf_gpu_sm_occupancy_ratio": .5,
		"aiperf_gpu_tensor_active_ratio": .25, "aiperf_gpu_nvlink_bytes_per_second": 96 << 20,
		"aiperf_gpu_encoder_utilization_ratio": 0, "aiperf_gpu_decoder_utilization_ratio": .12,
		"aiperf_gpu_jpeg_utilization_ratio": .03, "aiperf_gpu_ofa_utilization_ratio": 0,
		"aiperf_gpu_pcie_replays_total": 2, "aiperf_gpu_pcie_link_generation": 5, "aiperf_gpu_pcie_link_width": 16,
		"aiperf_gpu_nvlink_up 0": 1, "aiperf_gpu_nvlink_up 1": 1, "aiperf_gpu_nvlink_up 2": 1, "aiperf_gpu_nvlink_up 3": 0,
		"aiperf_gpu_ecc_errors_total corrected volatile": 0, "aiperf_gpu_ecc_errors_total corrected aggregate": 7,
		"aiperf_gpu_ecc_errors_total uncorrected volatile": 0, "aiperf_gpu_ecc_errors_total uncorrected aggregate": 0,
		"aiperf_gpu_remapped_rows_total correctable": 1, "aiperf_gpu_remapped_rows_total uncorrectable": 0,
		"aiperf_gpu_row_remap_pending": 1, "aiperf_gpu_row_remap_failed": 0,
		"aiperf_gpu_retired_pages single_bit": 3, "aiperf_gpu_retired_pages double_bit": 0,
		"aiperf_gpu_performance_state": 0, "aiperf_gpu_processes": 2, "aiperf_gpu_health": 1, "aiperf_gpu_last_xid": 0,
	}
	for _, reason := range gpu.ClockEventReasons {
		want["aiperf_gpu_clock_event_active "+reason] = boolean(reason == "sw_power_cap")
	}
	for _, p := range policies {
		if p.name != "sync_boost" { // which the stub does not support in any way
			want["aiperf_gpu_throttle_seconds_total "+p.name] = 2.5 * boolean(p.name == "power")
		}
	}
	for link := range 4 {
		for _, e := range linkErrors {
			want[fmt.Sprintf("aiperf_gpu_nvlink_errors_total %d %s", link, e.name)] = float64(link) * boolean(e.name == "replay")
		}
	}
	var counts gpu.XIDCounts
	for _, s := range counts.Samples() {
		want[s.Name+" "+s.Labels[0]] = 0
	}
	return want
}

func TestFunctionThatAnOldLibraryLacksIsNotCalled(t *testing.T) {
	t.Parallel()
	library := stub(t)
	all := functions(t, library)
	optional := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return slices.Contains(required, f) })
	if len(optional) < 45 {
		t.Fatalf("the stub has %d optional functions, want all that are called: %q", len(optional), optional)
	}
	for _, f := range optional {
		t.Run(f, func(t *testing.T) {
			t.Parallel()
			p := start(t, without(t, library, f), "mig=1")
			p.read()
			r := p.read()
			if r.State != gpu.OK || len(r.Devices) < 2 || len(r.Failures) > 0 {
				t.Errorf("got the state %s (%s) with the devices %q and the failures %v, want ok with all", r.State, r.Message, names(&r), r.Failures)
			}
			p.end()
		})
	}
	t.Run("any of them", func(t *testing.T) {
		t.Parallel()
		p := start(t, without(t, library, optional...))
		p.read()
		r := p.read()
		wantState(t, r, gpu.OK, "0", "1")
		if diff := cmp.Diff(map[string]float64{"aiperf_gpu_health": 1}, values(&r.Devices[0])); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
		p.do(wordClose)
		p.end()
	})
	for _, f := range required {
		t.Run(f, func(t *testing.T) {
			t.Parallel()
			p := start(t, without(t, library, f))
			r := p.read()
			wantState(t, r, gpu.Failed)
			if !strings.Contains(r.Message, f) {
				t.Errorf("message %q does not name %s", r.Message, f)
			}
			p.do(wordClose)
			p.end()
		})
	}
}

func TestDriverThatDoesNotStartIsTriedAgainAfterAMinute(t *testing.T) {
	t.Parallel()
	library := stub(t)
	for _, tc := range []struct {
		behaviour, message string
		state              gpu.State
	}{
		{"init=9", "Driver Not Loaded", gpu.DriverNotLoaded},
		{"init=18", "start it again", gpu.VersionMismatch},
		{"init=4", "Insufficient Permissions", gpu.NoPermission},
		{"init=999", "Unknown Error", gpu.Failed},
		{"gpus=0", "no GPU", gpu.NoDevices},
		{"fail=nvmlDeviceGetCount_v2:999", "find the GPUs", gpu.Failed},
		{"fail=nvmlDeviceGetHandleByIndex_v2:4", "may not be looked at", gpu.NoPermission},
		{"fail=nvmlDeviceGetHandleByIndex_v2:15", "no GPU answers", gpu.Failed},
		{"fail=nvmlDeviceGetUUID:999", "no GPU answers", gpu.Failed},
	} {
		t.Run(tc.behaviour, func(t *testing.T) {
			t.Parallel()
			p := start(t, library, tc.behaviour)
			r := p.read()
			wantState(t, r, tc.state)
			if !strings.Contains(r.Message, tc.message) {
				t.Errorf("message %q does not say %q", r.Message, tc.message)
			}
			p.set()
			wantState(t, p.read(), tc.state) // a minute has not passed
			p.minute()
			wantState(t, p.read(), gpu.OK, "0", "1")
			p.do(wordClose)
			p.end()
		})
	}
}

func TestDriverThatGoesAwayTakesEverythingWithIt(t *testing.T) {
	t.Parallel()
	p := start(t, stub(t))
	wantState(t, p.read(), gpu.OK, "0", "1")
	p.set("fail=nvmlDeviceGetTemperature:9")
	wantState(t, p.read(), gpu.DriverNotLoaded)
	p.set()
	p.minute()
	wantState(t, p.read(), gpu.OK, "0", "1")
	p.do(wordClose)
	p.end()
}

func TestGPUThatIsLostLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	p := start(t, stub(t))
	whole := len(p.read().Devices[0].Samples)
	p.set("lost=1")
	r := p.read()
	wantState(t, r, gpu.OK, "0", "1 lost")
	if got := len(r.Devices[0].Samples); got < whole {
		t.Errorf("the other GPU has %d samples, want %d at least", got, whole)
	}
	if diff := cmp.Diff(map[string]float64{"aiperf_gpu_health": 0}, values(&r.Devices[1])); diff != "" {
		t.Errorf("values of the lost GPU (-want +got):\n%s", diff)
	}
	p.minute()
	wantState(t, p.read(), gpu.OK, "0", "1 lost") // the driver has been started anew and does not find it
	p.set()
	wantState(t, p.read(), gpu.OK, "0", "1 lost") // it is not looked for at each reading
	p.minute()
	wantState(t, p.read(), gpu.OK, "0", "1")
	p.do(wordClose)
	p.end()
}

func TestOnlyGPUThatIsLostIsMissed(t *testing.T) {
	t.Parallel()
	p := start(t, stub(t), "gpus=1")
	wantState(t, p.read(), gpu.OK, "0")
	p.set("gpus=1", "lost=0")
	wantState(t, p.read(), gpu.OK, "0 lost")
	p.minute()
	wantState(t, p.read(), gpu.OK, "0 lost")
	p.set("gpus=0")
	p.minute()
	wantState(t, p.read(), gpu.NoDevices)
	p.do(wordClose)
	p.end()
}

func TestGPUThatTheDriverNoLongerNamesIsNotMissed(t *testing.T) {
	t.Parallel()
	p := start(t, stub(t), "gpus=3")
	wantState(t, p.read(), gpu.OK, "0", "1", "2")
	p.set("gpus=2")
	p.minute()
	wantState(t, p.read(), gpu.OK, "0", "1")
	p.do(wordClose)
	p.end()
}

func TestMIGIsFollowedWhenItIsSwitchedOnAndOff(t *testing.T) {
	t.Parallel()
	p := start(t, stub(t))
	wantState(t, p.read(), gpu.OK, "0", "1")
	p.set("mig=0")
	p.minute()
	p.read()
	r := p.read()
	wantState(t, r, gpu.OK, "0", "0/7", "0/8", "1")

	whole := values(&r.Devices[0])
	if whole["aiperf_gpu_power_watts"] != 400 {
		t.Errorf("power of the whole GPU is %v, want 400", whole["aiperf_gpu_power_watts"])
	}
	ofInstances := []string{"aiperf_gpu_memory_used_bytes", "aiperf_gpu_processes", "aiperf_gpu_utilization_ratio", "aiperf_gpu_sm_active_ratio"}
	for _, series := range ofInstances {
		if v, ok := whole[series]; ok {
			t.Errorf("%s of the whole GPU is %v, want none: it is told of the instances", series, v)
		}
	}
	part := &r.Devices[2]
	if want := "MIG-00000000-0000-0000-0002-000000000000"; part.UUID != want || part.Info.Profile != "1g.10gb" {
		t.Errorf("the instance has the UUID %s and the profile %s, want %s and 1g.10gb", part.UUID, part.Info.Profile, want)
	}
	want := map[string]float64{
		"aiperf_gpu_memory_total_bytes": 10 << 30, "aiperf_gpu_memory_used_bytes": 4.875 * (1 << 30), "aiperf_gpu_memory_free_bytes": 5 << 30,
		"aiperf_gpu_engine_active_ratio": .9, "aiperf_gpu_sm_active_ratio": .75, "aiperf_gpu_sm_occupancy_ratio": .5,
		"aiperf_gpu_tensor_active_ratio": .25, "aiperf_gpu_nvlink_bytes_per_second": 96 << 20, "aiperf_gpu_processes": 1,
	}
	if diff := cmp.Diff(want, values(part), approximately); diff != "" {
		t.Errorf("values of the instance (-want +got):\n%s", diff)
	}

	p.set("mig=0", "instances=1")
	p.minute()
	wantState(t, p.read(), gpu.OK, "0", "0/7", "1")
	p.set()
	p.minute()
	r = p.read()
	wantState(t, r, gpu.OK, "0", "1")
	if got := values(&r.Devices[0])["aiperf_gpu_memory_total_bytes"]; got != 80<<30 {
		t.Errorf("memory of the GPU is %v, want 80 GiB", got)
	}
	p.do(wordClose)
	p.end()
}

func TestCallThatFailsOnceIsCountedAndAskedAgain(t *testing.T) {
	t.Parallel()
	p := start(t, stub(t), "fail=nvmlDeviceGetTemperature:10")
	r := p.read()
	wantState(t, r, gpu.OK, "0", "1")
	if diff := cmp.Diff(map[scrape.Reason]int{scrape.Timeout: 2}, r.Failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if _, ok := values(&r.Devices[0])["aiperf_gpu_temperature_celsius"]; ok {
		t.Error("there is a temperature, want none")
	}
	p.set("fail=nvmlDeviceGetTotalEccErrors:999")
	p.minute()
	r = p.read()
	if diff := cmp.Diff(map[scrape.Reason]int{scrape.Status: 8}, r.Failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	p.set()
	r = p.read()
	if got := values(&r.Devices[0])["aiperf_gpu_temperature_celsius"]; got != 61 || len(r.Failures) > 0 {
		t.Errorf("temperature is %v with the failures %v, want 61 and none", got, r.Failures)
	}
	p.do(wordClose)
	p.end()
}

func TestEnergyCounterThatStartsAnewIsPassedOn(t *testing.T) {
	t.Parallel()
	p := start(t, stub(t), "energy=5000000")
	for _, millijoules := range []int{5000000, 7500, 8000} {
		p.set("energy=" + strconv.Itoa(millijoules))
		r := p.read()
		if got, want := values(&r.Devices[0])["aiperf_gpu_energy_joules_total"], float64(millijoules)/1000; got != want {
			t.Errorf("energy is %v J, want %v", got, want)
		}
	}
	p.do(wordClose)
	p.end()
}

func TestXIDErrorsAreCountedOverTheLossOfTheirGPU(t *testing.T) {
	t.Parallel()
	p := start(t, stub(t), "xid=1:79:2")
	r := p.read()
	for values(&r.Devices[1])["aiperf_gpu_xid_errors_total 79"] != 2 { // it takes its time to come, and cannot be missed
		r = p.read()
	}
	if got := values(&r.Devices[1])["aiperf_gpu_last_xid"]; got != 79 {
		t.Errorf("last code is %v, want 79", got)
	}
	if got := values(&r.Devices[0]); got["aiperf_gpu_xid_errors_total 79"] != 0 || got["aiperf_gpu_last_xid"] != 0 {
		t.Errorf("the other GPU has the error too: %v", got)
	}
	p.set("lost=1")
	wantState(t, p.read(), gpu.OK, "0", "1 lost")
	p.set("xid=1:31:3")
	p.minute()
	for r = p.read(); values(&r.Devices[1])["aiperf_gpu_xid_errors_total 31"] != 1; {
		r = p.read()
	}
	if got := values(&r.Devices[1]); got["aiperf_gpu_xid_errors_total 79"] != 2 || got["aiperf_gpu_last_xid"] != 31 {
		t.Errorf("got %v errors 79 and the last code %v, want 2 and 31", got["aiperf_gpu_xid_errors_total 79"], got["aiperf_gpu_last_xid"])
	}
	p.do(wordClose)
	p.end()
}

func TestDriverThatHangsIsLeftToItself(t *testing.T) {
	t.Parallel()
	library := stub(t)
	for _, function := range []string{"nvmlInit_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetTemperature", "nvmlEventSetWait_v2", "nvmlShutdown"} {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			p := start(t, library, "hang="+function)
			if function == "nvmlEventSetWait_v2" || function == "nvmlShutdown" {
				wantState(t, p.read(), gpu.OK, "0", "1")
				p.do(wordClose)
			} else {
				p.do(wordAbandoned)
			}
			p.end()
		})
	}
}

func TestLibraryThatIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), libraryName)
	if err := os.WriteFile(text, []byte("no library\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/nonexistent", t.TempDir(), text} {
		s := Open(gpu.NVMLConfig{LibraryPath: path}, slog.New(slog.DiscardHandler))
		r := s.Read(t.Context())
		wantState(t, r, gpu.LibraryNotFound)
		if !strings.Contains(r.Message, path) {
			t.Errorf("message %q does not name %s", r.Message, path)
		}
		s.Close()
	}
}
