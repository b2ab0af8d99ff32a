//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// graphics reads GPUs and nothing else: sources, library of the driver.
const graphics = `
collectors:
  server: {enabled: false}
  gpu: {source: %s, nvml: {interval: 1s, library_path: %s}}
`

// driver compiles the library of a driver that has two GPUs of its own making, without some of its functions, and gives the file.
func driver(t *testing.T, without ...string) string {
	t.Helper()
	folder := t.TempDir()
	args := []string{folder}
	for _, function := range without {
		args = append(args, "-D"+function+"=lacking_"+function)
	}
	if out, err := exec.CommandContext(process.Within(t, patience), "../nvmlstub/build.sh", args...).CombinedOutput(); err != nil {
		t.Fatalf("compile the driver: %v\n%s", err, out)
	}
	return filepath.Join(folder, "libnvidia-ml.so.1")
}

// later are functions that drivers of some years ago do not have.
var later = []string{
	"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetCurrentClocksEventReasons", "nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleGet",
	"nvmlGpmMetricsGet", "nvmlDeviceGetFieldValues", "nvmlDeviceGetMigMode", "nvmlEventSetCreate", "nvmlDeviceGetJpgUtilization",
}

// stateOf is the state that a source says to be in.
func stateOf(f scrape.Families, source string) (string, error) {
	states := f.By("aiperf_gpu_collector_state", "state", scrape.Labels{"source": source})
	if len(states) != 1 {
		return "", fmt.Errorf("source %s is in the states %v, want one", source, states)
	}
	for state, value := range states {
		if value != 1 {
			return "", fmt.Errorf("state %s of source %s is %v, want 1", state, source, value)
		}
		return state, nil
	}
	return "", nil
}

// inState waits until a source is in a state, with so many GPUs and instances.
func inState(t *testing.T, e exporter, source, state string, devices float64) {
	t.Helper()
	eventually(t, patience, func() error {
		f := e.scrape(t)
		got, err := stateOf(f, source)
		if n := f.Sum("aiperf_gpu_devices", scrape.Labels{"source": source}); err == nil && (got != state || n != devices) {
			err = fmt.Errorf("source %s is in the state %s with %v devices, want %s with %v", source, got, n, state, devices)
		}
		return err
	})
}

func TestDriversOfEveryKindShowTheirState(t *testing.T) {
	t.Parallel()
	whole, old := driver(t), driver(t, later...)
	text := file(t, "libnvidia-ml.so.1", "no library")
	const nowhere = "/nowhere/libnvidia-ml.so.1"
	tests := []struct {
		name, sources, library string
		says                   string // of the driver
		state                  string
		devices                float64
		complains              bool // in the log: somebody has asked for it
	}{
		{name: "two GPUs", sources: "auto", library: whole, state: "ok", devices: 2},
		{name: "a GPU in two instances", sources: "auto", library: whole, says: "mig=1", state: "ok", devices: 4},
		{name: "what is newer is missing", sources: "auto", library: old, says: "mig=1", state: "ok", devices: 2},
		{name: "the kernel has no driver", sources: "auto", library: whole, says: "init=9", state: "driver_not_loaded"},
		{name: "the kernel has another version", sources: "nvml", library: whole, says: "init=18", state: "version_mismatch", complains: true},
		{name: "it is not allowed", sources: "nvml", library: whole, says: "init=4", state: "no_permission", complains: true},
		{name: "nobody knows why it fails", sources: "nvml", library: whole, says: "init=999", state: "error", complains: true},
		{name: "there is no GPU", sources: "auto", library: whole, says: "gpus=0", state: "no_devices"},
		{name: "there is no library and nobody needs it", sources: "auto", library: nowhere, state: "library_not_found"},
		{name: "there is no library", sources: "nvml", library: nowhere, state: "library_not_found", complains: true},
		{name: "the file is no library", sources: "nvml", library: text, state: "library_not_found", complains: true},
	}
	exporters := make([]exporter, len(tests))
	for i, test := range tests {
		exporters[i] = serveIn(t, []string{"NVMLSTUB=" + test.says}, fmt.Sprintf(graphics, test.sources, test.library))
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := exporters[i]
			if _, err := e.Find(process.Within(t, patience), regexp.MustCompile(`gpu_source=nvml (state=`+test.state+`) `)); err != nil {
				t.Error(err)
			}
			inState(t, e, "nvml", test.state, test.devices)
			f := e.scrape(t)
			if up := f.Sum("aiperf_gpu_up", nil); up != test.devices {
				t.Errorf("%v devices are up, want %v", up, test.devices)
			}
			for _, name := range []string{"aiperf_gpu_power_watts", "aiperf_gpu_memory_used_bytes"} {
				if told := len(f.Series(name, nil)) > 0; told != (test.devices > 0) {
					t.Errorf("%s is told: %v", name, told)
				}
			}
			if complains := strings.Contains(e.Output(), "level=ERROR"); complains != test.complains {
				t.Errorf("an error in the log: %v, want %v", complains, test.complains)
			}
			endsWell(t, e)
		})
	}
}

// endsWell stops the daemon, which must not crash on its way. The driver ends a program that has not given back what it got from it.
func endsWell(t *testing.T, e exporter) {
	t.Helper()
	if err := e.Terminate(); err != nil {
		t.Fatal(err)
	}
	if code, err := e.Wait(process.Within(t, patience)); code != 0 || err != nil {
		t.Errorf("exit code %d, %v, want 0", code, err)
	}
}

// uptime is the clock of the driver's energy, in seconds.
func uptime(t *testing.T) float64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	return float64(now.Nano()) / 1e9
}

func TestGPUsShowWhatTheDriverKnows(t *testing.T) {
	t.Parallel()
	began := uptime(t)
	e := serveIn(t, []string{"NVMLSTUB=mig=1", "NODE_NAME=node-1"}, fmt.Sprintf(graphics, "nvml", driver(t)))
	inState(t, e, "nvml", "ok", 4)
	f := e.scrape(t)
	now := uptime(t)
	for name, want := range map[string]map[string]float64{ // by GPU; GPU 1 is divided, so its memory is that of its instances
		"aiperf_gpu_power_watts":         {"0": 400, "1": 300},
		"aiperf_gpu_power_limit_watts":   {"0": 700, "1": 700},
		"aiperf_gpu_temperature_celsius": {"0": 61, "1": 62},
		"aiperf_gpu_utilization_ratio":   {"0": .87}, // not measured by one in MIG mode
		"aiperf_gpu_sm_clock_hertz":      {"0": 1.98e9, "1": 1.98e9},
		"aiperf_gpu_memory_total_bytes":  {"0": 80 << 30, "1": 2 * 10 << 30},
		"aiperf_gpu_info":                {"0": 1, "1": 3},
	} {
		if diff := cmp.Diff(want, f.By(name, "gpu", scrape.Labels{"hostname": "node-1", "source": "nvml"})); diff != "" {
			t.Errorf("%s by GPU (-want +got):\n%s", name, diff)
		}
	}
	for gpu, watts := range map[string]float64{"0": 400, "1": 300} {
		joules := f.Sum("aiperf_gpu_energy_joules_total", scrape.Labels{"gpu": gpu})
		if low, high := watts*began, watts*now; joules < low-1 || joules > high {
			t.Errorf("GPU %s has used %v J, want a value from %v to %v", gpu, joules, low, high)
		}
	}
	instances := f.By("aiperf_gpu_info", "mig_profile", scrape.Labels{"gpu": "1"})
	if diff := cmp.Diff(map[string]float64{"": 1, "1g.10gb": 2}, instances); diff != "" {
		t.Errorf("profiles of GPU 1 (-want +got):\n%s", diff)
	}
}

// A driver does not only fail when it is loaded.
func TestGPUsFailWhileTheExporterRuns(t *testing.T) {
	t.Parallel()
	words := file(t, "words", "")
	say := func(what string) {
		t.Helper()
		if err := os.WriteFile(words, []byte(what), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := serveIn(t, []string{"NVMLSTUB_FILE=" + words}, fmt.Sprintf(graphics, "nvml", driver(t)))
	inState(t, e, "nvml", "ok", 2)
	for _, step := range []struct {
		name, says string
		state      string
		up, watts  float64
		more       func(f scrape.Families) bool
	}{
		{"an error of the hardware", "xid=1:79:2", "ok", 2, 700, func(f scrape.Families) bool {
			return f.Sum("aiperf_gpu_xid_errors_total", scrape.Labels{"gpu": "1", "xid": "79"}) == 2
		}},
		{"a question fails", "fail=nvmlDeviceGetTemperature:999", "ok", 2, 700, func(f scrape.Families) bool {
			return f.Sum("aiperf_scrape_errors_total", scrape.Labels{"collector": "nvml", "reason": "status"}) > 0 &&
				len(f.Series("aiperf_gpu_temperature_celsius", nil)) == 0
		}},
		{"a GPU is lost", "lost=1", "ok", 1, 400, func(f scrape.Families) bool { return len(f.Series("aiperf_gpu_up", nil)) == 2 }},
		{"the driver hangs", "lost=1 hang=nvmlDeviceGetTemperature", "error", 0, 0, func(f scrape.Families) bool {
			return f.Sum("aiperf_scrape_skipped_total", scrape.Labels{"collector": "nvml"}) >= 3
		}},
		{"the driver goes on", "lost=1", "ok", 1, 400, func(scrape.Families) bool { return true }},
	} {
		say(step.says)
		eventually(t, patience, func() error {
			f := e.scrape(t)
			state, err := stateOf(f, "nvml")
			up, watts := f.Sum("aiperf_gpu_up", nil), f.Sum("aiperf_gpu_power_watts", nil)
			if err == nil && (state != step.state || up != step.up || watts != step.watts || !step.more(f)) {
				err = fmt.Errorf("%s: state %s, %v GPUs are up and draw %v W, want %s, %v and %v W", step.name, state, up, watts, step.state, step.up, step.watts)
			}
			return err
		})
	}
	say("hang=nvmlDeviceGetTemperature")
	endsWell(t, e)
}

// pages are those of exporters of GPUs, as they are in the tests of the collector.
func pages(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", scrape.Text)
		http.ServeFile(w, r, filepath.Join("../../collector/gpu/testdata", filepath.Base(r.URL.Path)))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// all reads GPUs of every source: library of the driver, truth server, pages.
const all = `
collectors:
  server: {enabled: false}
  gpu:
    source: [nvml, dcgm, amd]
    nvml: {interval: 1s, library_path: %s}
    dcgm: {interval: 1s, urls: ["%s/gpu/metrics", "%[3]s/dcgm.prom"]}
    amd: {interval: 1s, urls: ["%[3]s/amd.prom"]}
`

func TestGPUsThatSeveralSourcesSeeArePreferredOnce(t *testing.T) {
	t.Parallel()
	// The truth server has the GPUs of the driver.
	e := serve(t, fmt.Sprintf(all, driver(t), startServer(t, "-watts=350").url, pages(t)))
	inState(t, e, "nvml", "ok", 2)
	inState(t, e, "dcgm", "ok", 6)
	inState(t, e, "amd", "ok", 4)
	f := e.scrape(t)
	preferred := scrape.Labels{"preferred": "1"}
	if diff := cmp.Diff(map[string]float64{"nvml": 2, "dcgm": 4, "amd": 4}, f.By("aiperf_gpu_info", "source", preferred)); diff != "" {
		t.Errorf("preferred devices by source (-want +got):\n%s", diff)
	}
	type device struct{ uuid, instance string }
	seen := map[device]int{}
	for _, m := range f.Series("aiperf_gpu_info", preferred) {
		labels := scrape.LabelsOf(m)
		seen[device{labels["uuid"], labels["mig_instance"]}]++
	}
	for d, n := range seen {
		if n != 1 {
			t.Errorf("device %v is preferred %d times", d, n)
		}
	}
	watts := map[string]float64{"nvml": 400 + 300, "dcgm": 2*350 + 412.532 + 251.07, "amd": 540 + 310}
	if diff := cmp.Diff(watts, f.By("aiperf_gpu_power_watts", "source", nil), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("power by source (-want +got):\n%s", diff)
	}
}
