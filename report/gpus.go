package report

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Platform is what AIPerf calls the maker of a GPU; the tags of its figures begin with it.
type Platform string

// The platforms.
const (
	NVIDIA Platform = "nvidia"
	AMD    Platform = "amd"
)

// GPUs are those that served a target, seen over the window of its report (Collector.Window).
type GPUs struct {
	// Endpoints are all that were asked, whether they answered or not: public URLs of exporters, or the name of a source in this process.
	Endpoints []string
	Devices   []Device
}

// Device is one of them, or a MIG instance on one.
type Device struct {
	Endpoint       string // one of GPUs.Endpoints
	Platform       Platform
	Index          int
	Name, UUID     string
	Hostname       string // "" = not known, as the following
	Namespace, Pod string
	// Instance is the id of a MIG instance, "" for a whole GPU. Instances have no energy of their own: that of their GPU is counted.
	Instance string

	// Energy is what it took during the window, in joules: the difference of its counter between the ends of the window. It is not defined
	// where no two readings stand close around an end, because then nobody knows.
	Energy metrics.Value
	// Integrated: there is no counter, Energy is the area under the readings of its power.
	Integrated bool
	// Sensors are what its gauges showed during the window.
	Sensors []Sensor
}

// Sensor is a gauge and what it showed, one value a reading, under the name and in the unit of our own series (aiperf_gpu_power_watts).
// Sensors that AIPerf has no field for are left out.
type Sensor struct {
	Series string
	Values []float64
}

// field is a sensor in AIPerf's words. The order is AIPerf's.
type field struct {
	platform           Platform
	name, header, unit string
	series             string
	size               float64 // of its unit in ours
}

// energySeries stands for Device.Energy among the series.
const energySeries = "aiperf_gpu_energy_joules_total"

// fields leaves out AIPerf's counters of faults: it takes the last XID code for a number of errors.
var fields = []field{
	{NVIDIA, "nvidia_power_usage", "NVIDIA GPU Power Usage", "W", "aiperf_gpu_power_watts", 1},
	{NVIDIA, "nvidia_energy_consumption", "NVIDIA Energy Consumption", "MJ", energySeries, 1e6},
	{NVIDIA, "nvidia_gpu_utilization", "NVIDIA GPU Utilization", "%", "aiperf_gpu_utilization_ratio", 0.01},
	{NVIDIA, "nvidia_memory_utilization", "NVIDIA Memory Utilization", "%", "aiperf_gpu_memory_controller_utilization_ratio", 0.01},
	{NVIDIA, "nvidia_memory_used", "NVIDIA GPU Memory Used", "GB", "aiperf_gpu_memory_used_bytes", 1e9},
	{NVIDIA, "nvidia_temperature", "NVIDIA GPU Temperature", "°C", "aiperf_gpu_temperature_celsius", 1},
	{NVIDIA, "nvidia_sm_utilization", "NVIDIA SM Utilization", "%", "aiperf_gpu_sm_active_ratio", 0.01},
	{NVIDIA, "nvidia_decoder_utilization", "NVIDIA Decoder Utilization", "%", "aiperf_gpu_decoder_utilization_ratio", 0.01},
	{NVIDIA, "nvidia_encoder_utilization", "NVIDIA Encoder Utilization", "%", "aiperf_gpu_encoder_utilization_ratio", 0.01},
	{NVIDIA, "nvidia_jpg_utilization", "NVIDIA JPEG Utilization", "%", "aiperf_gpu_jpeg_utilization_ratio", 0.01},
	{AMD, "amd_power", "AMD GPU Power", "W", "aiperf_gpu_power_watts", 1},
	{AMD, "amd_energy_consumption", "AMD Energy Consumption", "MJ", energySeries, 1e6},
	{AMD, "amd_gfx_activity", "AMD GFX Activity", "%", "aiperf_gpu_utilization_ratio", 0.01},
	{AMD, "amd_umc_activity", "AMD UMC Activity", "%", "aiperf_gpu_memory_controller_utilization_ratio", 0.01},
	{AMD, "amd_memory_used", "AMD GPU Memory Used", "GB", "aiperf_gpu_memory_used_bytes", 1e9},
	{AMD, "amd_temperature", "AMD GPU Temperature", "°C", "aiperf_gpu_temperature_celsius", 1},
}

// metrics are the fields that the device has values of.
func (d *Device) metrics() []Metric {
	out := make([]Metric, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		m := Metric{Tag: f.name, Header: f.header, Unit: f.unit}
		switch {
		case f.platform != d.Platform:
			continue
		case f.series == energySeries:
			if !d.Energy.Defined {
				continue
			}
			m.Scalar, m.Stats.Avg = true, d.Energy.V/f.size
		default:
			at := slices.IndexFunc(d.Sensors, func(s Sensor) bool { return s.Series == f.series && len(s.Values) > 0 })
			if at < 0 {
				continue
			}
			values := slices.Clone(d.Sensors[at].Values)
			for i := range values {
				values[i] /= f.size
			}
			m.Stats = newStats(values)
		}
		out = append(out, m)
	}
	return out
}

// place is how AIPerf shows an endpoint: without the scheme and without /metrics at the end.
func place(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return endpoint
	}
	return u.Host + strings.TrimSuffix(u.Path, "/metrics")
}

// places are the devices by endpoint, each in the order in which it comes first.
func (g *GPUs) places() (order []string, devices map[string][]*Device) {
	devices = map[string][]*Device{}
	for i := range g.Devices {
		d := &g.Devices[i]
		if devices[d.Endpoint] == nil {
			order = append(order, d.Endpoint)
		}
		devices[d.Endpoint] = append(devices[d.Endpoint], d)
	}
	return order, devices
}

// telemetry is AIPerf's telemetry_data.
func (r *Report) telemetry() object {
	g := r.Meta.GPUs
	order, devices := g.places()
	endpoints := make(object, 0, len(order))
	for _, endpoint := range order {
		gpus, taken := object{}, map[string]bool{}
		for _, d := range devices[endpoint] {
			key := fmt.Sprintf("gpu_%d", d.Index)
			if taken[key] { // several machines behind one URL, or instances of one GPU: AIPerf keeps the last of them
				key += "_" + d.UUID
			}
			taken[key] = true
			gpus = append(gpus, member{key, d.object()})
		}
		endpoints = append(endpoints, member{place(endpoint), object{{"gpus", gpus}}})
	}
	return object{
		{"summary", object{
			{"endpoints_configured", append([]string{}, g.Endpoints...)},
			{"endpoints_successful", append([]string{}, order...)},
			{"start_time", r.Start.Format(timeLayout)},
			{"end_time", r.End.Format(timeLayout)},
		}},
		{"endpoints", endpoints},
		{"error_summary", []object{}}, // an exporter that did not answer is among those configured and not among the successful
	}
}

func (d *Device) object() object {
	o := object{{"gpu_index", d.Index}, {"gpu_name", d.Name}, {"gpu_uuid", d.UUID}, {"platform", d.Platform}}
	for _, m := range []struct{ key, value string }{{"hostname", d.Hostname}, {"namespace", d.Namespace}, {"pod_name", d.Pod}} {
		if m.value != "" {
			o = append(o, member{m.key, m.value})
		}
	}
	return append(o, member{"metrics", appendMetrics(object{}, d.metrics(), func(*Metric) bool { return true })})
}

// telemetryRows are the third block of AIPerf's CSV.
func (g *GPUs) telemetryRows() [][]string {
	optional := []struct {
		header string
		of     func(*Device) string
	}{
		{"Hostname", func(d *Device) string { return d.Hostname }},
		{"Namespace", func(d *Device) string { return d.Namespace }},
		{"Pod Name", func(d *Device) string { return d.Pod }},
	}
	header := append([]string{"Endpoint", "GPU_Index", "GPU_Name", "GPU_UUID", "Platform", "Metric"}, statColumns...)
	known := optional[:0]
	for _, o := range optional {
		if slices.ContainsFunc(g.Devices, func(d Device) bool { return o.of(&d) != "" }) {
			known, header = append(known, o), append(header, o.header)
		}
	}
	rows := [][]string{header}
	order, devices := g.places()
	for _, endpoint := range order {
		for _, d := range devices[endpoint] {
			for _, m := range d.metrics() {
				row := append([]string{place(endpoint), fmt.Sprint(d.Index), d.Name, d.UUID, string(d.Platform), m.Header + " (" + m.Unit + ")"}, m.stats()...)
				for _, o := range known {
					row = append(row, o.of(d))
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}
