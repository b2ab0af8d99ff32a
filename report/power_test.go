package report

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// gpu is a device that draws 400 W for as long as the requests of measuredRun take.
func gpu(index int, uuid string) Device {
	return Device{
		Endpoint: "http://node-1:9400/metrics", Platform: NVIDIA, Index: index, Name: "NVIDIA H100 80GB HBM3", UUID: uuid, Hostname: "node-1",
		Energy: metrics.Value{V: 1600, Defined: true},
		Sensors: []Sensor{
			{"aiperf_gpu_power_watts", []float64{390, 410}},
			{"aiperf_gpu_utilization_ratio", []float64{0.5, 1}},
			{"aiperf_gpu_memory_used_bytes", []float64{71e9, 71e9}},
			{"aiperf_gpu_fan_speed_ratio", []float64{0.3}}, // AIPerf has no field for it
		},
	}
}

// measuredRun are 10 answers of 20 tokens in 4 seconds.
func measuredRun(gpus ...Device) *Report {
	c := NewCollector([]metrics.SLO{testSLO()})
	for i := range int64(10) {
		content := make([]int64, 20)
		for j := range content {
			content[j] = 50 + 10*int64(j)
		}
		add(c, stream(i*400, content...))
	}
	c.samples[9].record.Time.End = 5000 * ms
	meta := testMeta()
	meta.Load.Concurrency = 5
	meta.GPUs = &GPUs{Endpoints: []string{"http://node-1:9400/metrics", "http://node-2:9400/metrics"}, Devices: gpus}
	return c.Report(meta)
}

func TestFiguresOfPowerFollowFromEnergyAndTime(t *testing.T) {
	t.Parallel()
	r := measuredRun(gpu(0, "GPU-a"), gpu(1, "GPU-b"))
	want := map[string]float64{
		"nvidia_total_gpu_power": 800, "nvidia_average_gpu_power": 800, "nvidia_total_gpu_energy": 3200,
		"nvidia_output_tokens_per_joule": 200. / 3200, "nvidia_energy_per_output_token": 16000,
		"nvidia_energy_per_total_token": 3200e3 / (200 + 360), "nvidia_energy_per_request": 320, "nvidia_energy_per_user": 640,
		"nvidia_energy_delay_product": 320 * 0.24, "nvidia_performance_per_watt": 2.5 / 800, "nvidia_output_tps_per_watt": 50. / 800,
		"nvidia_goodput_per_watt": 2.5 / 800,
	}
	for tag, value := range want {
		if m, ok := r.Metric(tag); !ok || math.Abs(m.Stats.Avg-value) > 1e-9*value || !m.Scalar {
			t.Errorf("%s is %v, %t, want %v", tag, m.Stats.Avg, ok, value)
		}
	}
	theirs, ours := readProfile(t, aiperfFile(t, "profile_export_aiperf_gpu.json")), written(t, r)
	for tag, figure := range theirs.figures {
		if strings.HasPrefix(tag, "nvidia_") && ours.figures[tag]["unit"] != figure["unit"] {
			t.Errorf("%s has unit %v, want %v", tag, ours.figures[tag]["unit"], figure["unit"])
		}
	}
}

func TestGPUsOfAMDHaveFiguresOfTheirOwn(t *testing.T) {
	t.Parallel()
	other := gpu(0, "GPU-amd")
	other.Platform, other.Energy.V = AMD, 2000
	r := measuredRun(gpu(0, "GPU-a"), other)
	for tag, want := range map[string]float64{"nvidia_total_gpu_energy": 1600, "amd_total_gpu_energy": 2000, "amd_average_gpu_power": 500} {
		if m, _ := r.Metric(tag); m.Stats.Avg != want {
			t.Errorf("%s is %v, want %v", tag, m.Stats.Avg, want)
		}
	}
}

func TestEnergyThatIsNotKnownIsNotZero(t *testing.T) {
	t.Parallel()
	unknown := gpu(1, "GPU-b")
	unknown.Energy = metrics.Value{}
	integrated := gpu(1, "GPU-b")
	integrated.Integrated = true
	instance := unknown
	instance.UUID, instance.Instance = "MIG-a", "3"
	for name, test := range map[string]struct {
		gpus []Device
		want string  // exporter.energy
		sum  float64 // -1 = there is none
		note string
	}{
		"of one GPU":       {[]Device{gpu(0, "GPU-a"), unknown}, `{"nvidia":{"gpus":2,"known":1,"partial":true,"method":"counter"}}`, 1600, "energy of 1 of 2 GPUs"},
		"of none":          {[]Device{unknown}, `{"nvidia":{"gpus":1,"known":0,"partial":true}}`, -1, "no energy"},
		"of an instance":   {[]Device{gpu(0, "GPU-a"), instance}, `{"nvidia":{"gpus":1,"known":1,"partial":false,"method":"counter"}}`, 1600, ""},
		"but of its power": {[]Device{integrated}, `{"nvidia":{"gpus":1,"known":1,"partial":false,"method":"integrated"}}`, 1600, "energy of 1 GPU is the area"},
		"of two kinds":     {[]Device{gpu(0, "GPU-a"), integrated}, `{"nvidia":{"gpus":2,"known":2,"partial":false,"method":"mixed"}}`, 3200, "energy of 1 GPU is the area"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := measuredRun(test.gpus...)
			var buf bytes.Buffer
			if err := WriteJSON(&buf, r); err != nil {
				t.Fatal(err)
			}
			file := decode[struct {
				Exporter struct{ Energy json.RawMessage }
				Total    *struct{ Avg float64 } `json:"nvidia_total_gpu_energy"`
				Each     *struct{ Avg float64 } `json:"nvidia_energy_per_request"`
			}](t, buf.Bytes())
			var got bytes.Buffer
			if err := json.Compact(&got, file.Exporter.Energy); err != nil || got.String() != test.want {
				t.Errorf("energy is %s, want %s", got.String(), test.want)
			}
			if sum := file.Total; (sum == nil) != (test.sum < 0) || sum != nil && sum.Avg != test.sum {
				t.Errorf("total energy is %v, want %v", sum, test.sum)
			}
			if divided := file.Each != nil; divided != (test.sum > 0 && !strings.Contains(test.want, `"partial":true`)) {
				t.Errorf("energy per request is there: %t", divided)
			}
			noted := slices.ContainsFunc(r.Notes, func(note string) bool { return strings.Contains(note, "energy") })
			if told := slices.ContainsFunc(r.Notes, func(note string) bool { return strings.HasPrefix(note, test.note) }); !told || noted != (test.note != "") {
				t.Errorf("notes are %q", r.Notes)
			}
		})
	}
}

// gpuFile is how a program would read telemetry_data.
type gpuFile struct {
	Telemetry struct {
		Summary struct {
			Configured []string `json:"endpoints_configured"`
			Successful []string `json:"endpoints_successful"`
			Start      string   `json:"start_time"`
			End        string   `json:"end_time"`
		}
		Endpoints map[string]struct {
			GPUs map[string]struct {
				Index    *int   `json:"gpu_index"`
				Name     string `json:"gpu_name"`
				UUID     string `json:"gpu_uuid"`
				Platform string
				Hostname string
				Metrics  map[string]map[string]any
			}
		}
	} `json:"telemetry_data"`
}

func TestOneReaderReadsTheGPUsOfBoth(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	if err := WriteJSON(&buf, measuredRun(gpu(0, "GPU-a"), gpu(1, "GPU-b"), gpu(1, "GPU-c"))); err != nil {
		t.Fatal(err)
	}
	theirs, ours := decode[gpuFile](t, aiperfFile(t, "profile_export_aiperf_gpu.json")).Telemetry, decode[gpuFile](t, buf.Bytes()).Telemetry
	if s := &ours.Summary; len(s.Configured) != 2 || len(s.Successful) != 1 || !strings.HasSuffix(s.Start, "Z") || s.End == "" {
		t.Errorf("summary is %+v", s)
	}
	got := ours.Endpoints["node-1:9400"].GPUs["gpu_0"]
	for place, endpoint := range theirs.Endpoints {
		if strings.Contains(place, "metrics") {
			t.Errorf("AIPerf shows the endpoint as %s", place)
		}
		want := endpoint.GPUs["gpu_0"]
		if *got.Index != *want.Index || got.Name != want.Name || got.Platform != want.Platform || got.Hostname != want.Hostname || got.UUID != "GPU-a" {
			t.Errorf("GPU 0 is %+v, want something like %+v", got, want)
		}
		for field, values := range got.Metrics {
			if diff := cmp.Diff(keysOf(want.Metrics[field]), keysOf(values)); diff != "" || values["unit"] != want.Metrics[field]["unit"] {
				t.Errorf("%s: -theirs +ours:\n%s", field, diff)
			}
		}
	}
	for field, want := range map[string]float64{"nvidia_power_usage": 400, "nvidia_energy_consumption": 0.0016, "nvidia_gpu_utilization": 75, "nvidia_memory_used": 71} {
		if value, _ := got.Metrics[field]["avg"].(float64); math.Abs(value-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", field, value, want)
		}
	}
	if len(got.Metrics) != 4 || ours.Endpoints["node-1:9400"].GPUs["gpu_1_GPU-c"].UUID != "GPU-c" {
		t.Errorf("GPUs are %+v", ours.Endpoints)
	}
}

func keysOf(m map[string]any) []string {
	var list []string
	for key := range m {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

func TestTheThirdBlockOfTheCSVIsThatOfAIPerf(t *testing.T) {
	t.Parallel()
	other := gpu(0, "GPU-x")
	other.Endpoint, other.Hostname, other.Energy = "http://user@node-2:9400/dcgm/metrics", "node-2", metrics.Value{}
	var buf bytes.Buffer
	if err := measuredRun(gpu(0, "GPU-a"), other).WriteCSV(&buf); err != nil {
		t.Fatal(err)
	}
	_, theirs, _ := strings.Cut(string(aiperfFile(t, "profile_export_aiperf_gpu.csv")), "\r\n\r\n\r\n")
	_, ours, ok := strings.Cut(buf.String(), "\r\n\r\n\r\n")
	if !ok || strings.Contains(ours, "\r\n\r\n") {
		t.Fatalf("the blocks are not apart:\n%s", buf.String())
	}
	header, _, _ := strings.Cut(theirs, "\r\n")
	want := header + `
node-1:9400,0,NVIDIA H100 80GB HBM3,GPU-a,nvidia,NVIDIA GPU Power Usage (W),400,390,410,800,390.2,391,392,395,400,405,408,409,409.8,10,node-1
node-1:9400,0,NVIDIA H100 80GB HBM3,GPU-a,nvidia,NVIDIA Energy Consumption (MJ),0.0016,,,,,,,,,,,,,,node-1
node-1:9400,0,NVIDIA H100 80GB HBM3,GPU-a,nvidia,NVIDIA GPU Utilization (%),75,50,100,150,50.5,52.5,55,62.5,75,87.5,95,97.5,99.5,25,node-1
node-1:9400,0,NVIDIA H100 80GB HBM3,GPU-a,nvidia,NVIDIA GPU Memory Used (GB),71,71,71,142,71,71,71,71,71,71,71,71,71,0,node-1
node-2:9400/dcgm,0,NVIDIA H100 80GB HBM3,GPU-x,nvidia,NVIDIA GPU Power Usage (W),400,390,410,800,390.2,391,392,395,400,405,408,409,409.8,10,node-2
node-2:9400/dcgm,0,NVIDIA H100 80GB HBM3,GPU-x,nvidia,NVIDIA GPU Utilization (%),75,50,100,150,50.5,52.5,55,62.5,75,87.5,95,97.5,99.5,25,node-2
node-2:9400/dcgm,0,NVIDIA H100 80GB HBM3,GPU-x,nvidia,NVIDIA GPU Memory Used (GB),71,71,71,142,71,71,71,71,71,71,71,71,71,0,node-2
`
	if diff := cmp.Diff(want, strings.ReplaceAll(ours, "\r\n", "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
