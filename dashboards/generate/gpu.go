package main

import "github.com/aiperf-exporter/aiperf-exporter/dashboards/board"

// gpu answers: are the GPUs healthy, busy, and held back?
func gpu() *board.Dashboard {
	return &board.Dashboard{
		UID: "aiperf-gpu", Title: "aiperf / GPU", From: "now-3h",
		Help: "Are the GPUs healthy and busy, and does something hold them back? One line for each GPU; one that two sources see counts once.",
		Variables: []board.Variable{
			job(),
			{Name: "hostname", Label: "Host", Help: "Host of the GPU.", Query: `label_values(aiperf_gpu_info{job=~"$job"}, hostname)`},
			{Name: "uuid", Label: "GPU", Help: "UUID of the GPU, or of an instance on it.", Query: `label_values(aiperf_gpu_info{job=~"$job",hostname=~"$hostname"}, uuid)`},
		},
		First: gpuFirst(),
		Rows: []board.Row{
			{Key: "held", Title: "What holds clocks down", Panels: gpuHeld()},
			{Key: "memory", Title: "Memory and clocks", Panels: gpuMemory()},
			{Key: "faults", Title: "Faults", Panels: gpuFaults()},
			{Key: "links", Title: "NVLink and PCIe", Panels: gpuLinks()},
			{Key: "mig", Title: "Instances on GPUs (if MIG is on)", Folded: true, Panels: gpuInstances()},
		},
	}
}

const gpuChosen = `{job=~"$job",hostname=~"$hostname",uuid=~"$uuid"}`

// chosenGPU are the series of a name for the chosen GPUs, from the preferred source of each.
func chosenGPU(series string, matchers string) string {
	selector := gpuChosen
	if matchers != "" {
		selector = gpuChosen[:len(gpuChosen)-1] + "," + matchers + "}"
	}
	return series + selector + preferred
}

// rateGPU is the rate of such a counter.
func rateGPU(series, matchers, function, window string) string {
	selector := gpuChosen
	if matchers != "" {
		selector = gpuChosen[:len(gpuChosen)-1] + "," + matchers + "}"
	}
	return function + "(" + series + selector + "[" + window + "])" + preferred
}

// preferred leaves one source of each GPU.
const preferred = ` * on (job, instance, uuid, mig_instance, source) group_left () (aiperf_gpu_info{job=~"$job",preferred="1"})`

// byGPU gives one line for each GPU, whatever the exporters that see it.
func byGPU(expr string) string {
	return `max by (hostname, gpu, uuid, mig_instance) (` + expr + `)`
}

const gpuLegend = "{{hostname}} {{gpu}} {{mig_instance}}"

func gpuFirst() []board.Panel {
	asks := func(exprs ...string) (out []board.Query) {
		for _, e := range exprs {
			out = append(out, board.Query{Now: true, Expr: e})
		}
		return out
	}
	const all = `max by (hostname, gpu, uuid, mig_instance, model) (aiperf_gpu_info{job=~"$job",hostname=~"$hostname",uuid=~"$uuid",preferred="1"})`
	// on puts a value on the lines of all GPUs, so that all columns have the same labels.
	on := func(expr string) string {
		return all + ` * on (hostname, gpu, uuid, mig_instance) group_left () (` + byGPU(expr) + `)`
	}
	const reasons = `reason=~"sw_power_cap|hw_slowdown|sw_thermal_slowdown|hw_thermal_slowdown|hw_power_brake"`
	return []board.Panel{
		{
			Key: "gpus", Title: "GPUs", W: 24, H: 9, Unit: board.Plain, Empty: "no GPU is seen",
			Help: "One line for each GPU or instance. Busy says that any kernel ran, SM active how much of the chip worked. Held back counts the reasons that pull clocks down now; an XID of 48, 63, 64, 74, 79, 92, 94, 95, 119 or 120 is the hardware.",
			Queries: asks(
				on(chosenGPU("aiperf_gpu_up", "")),
				on(chosenGPU("aiperf_gpu_utilization_ratio", "")),
				on(chosenGPU("aiperf_gpu_sm_active_ratio", "")),
				on(chosenGPU("aiperf_gpu_memory_used_bytes", "")),
				on(chosenGPU("aiperf_gpu_memory_total_bytes", "")),
				on(chosenGPU("aiperf_gpu_power_watts", "")),
				on(chosenGPU("aiperf_gpu_power_limit_watts", "")),
				on(chosenGPU("aiperf_gpu_temperature_celsius", "")),
				all+` * on (hostname, gpu, uuid, mig_instance) group_left () (sum by (hostname, gpu, uuid, mig_instance) (`+chosenGPU("aiperf_gpu_clock_event_active", reasons)+`))`,
				all+` * on (hostname, gpu, uuid, mig_instance) group_left () (sum by (hostname, gpu, uuid, mig_instance) (`+rateGPU("aiperf_gpu_xid_errors_total", "", "increase", "24h")+`))`,
				on(chosenGPU("aiperf_gpu_last_xid", "")),
			),
			Form: board.Table{Sorted: "Held back", Columns: []board.Column{
				{Title: "State", Query: 1, Unit: board.Plain, Width: 65, Fill: true, Words: []board.Word{board.Is(0, "lost", board.Page), board.Is(1, "seen", board.Good)}},
				{Title: "Host", Label: "hostname", Width: 110},
				{Title: "GPU", Label: "gpu", Width: 50},
				{Title: "Instance", Label: "mig_instance", Width: 75},
				{Title: "Model", Label: "model"},
				{Title: "Busy", Query: 2, Unit: board.Share, Width: 120, Bar: true, Base: board.Client},
				{Title: "SM active", Query: 3, Unit: board.Share, Width: 120, Bar: true, Base: board.Server},
				{Title: "Used", Query: 4, Unit: board.Bytes, Width: 80},
				{Title: "Memory", Query: 5, Unit: board.Bytes, Width: 80},
				{Title: "Power", Query: 6, Unit: board.Watts, Width: 75},
				{Title: "Limit", Query: 7, Unit: board.Watts, Width: 75},
				{Title: "Temp.", Query: 8, Unit: board.Celsius, Width: 75, Base: "text", Steps: []board.Step{{From: 80, Colour: board.Warning}, {From: 88, Colour: board.Bad}}},
				{Title: "Held back", Query: 9, Unit: board.Plain, Width: 85, Base: board.Good, Steps: []board.Step{{From: 1, Colour: board.Worse}}},
				{Title: "XID 24 h", Query: 10, Unit: board.Plain, Decimals: new(0.0), Width: 80, Base: board.Good, Steps: []board.Step{{From: 0.5, Colour: board.Bad}}, Empty: "0"},
				{Title: "Last XID", Query: 11, Unit: board.Plain, Width: 80},
				{Title: "UUID", Label: "uuid"},
			}},
		},
		{
			Key: "power", Title: "Power", W: 12, H: 9, Unit: board.Watts, Form: board.Lines{Table: true}, Min: new(0.0),
			Help:    "Power of each GPU. Flat at its limit: it is capped, and clocks fall with more load. Flat and low under load: it waits for something else.",
			Queries: []board.Query{{Legend: gpuLegend, Expr: byGPU(chosenGPU("aiperf_gpu_power_watts", ""))}},
			Empty:   "sensor absent",
		},
		{
			Key: "sm", Title: "SM active", W: 12, H: 9, Unit: board.Share, Form: board.Lines{Table: true}, Min: new(0.0), Max: new(1.0),
			Help:    "Share of the multiprocessors' time with work, or where that is not measured the share of time in which any kernel ran. Decoding small batches keeps it low: that is the memory's limit, not idleness.",
			Queries: []board.Query{{Legend: gpuLegend, Expr: byGPU("(" + chosenGPU("aiperf_gpu_sm_active_ratio", "") + ") or (" + chosenGPU("aiperf_gpu_utilization_ratio", "") + ")")}},
			Empty:   "sensor absent",
		},
	}
}

func gpuHeld() []board.Panel {
	return []board.Panel{
		{
			Key: "reasons", Title: "Reasons that hold clocks down", W: 12, H: 8, Unit: board.Plain, Form: board.States{},
			Words:   []board.Word{board.Is(0, "no", board.Good), board.Is(1, "yes", board.Worse)},
			Help:    "One band for each reason, of all chosen GPUs together. sw_power_cap is usual under full load; thermal and hw reasons are not.",
			Queries: []board.Query{{Legend: "{{reason}}", Expr: `max by (reason) (` + chosenGPU("aiperf_gpu_clock_event_active", `reason!~"gpu_idle|applications_clocks_setting|display_clock_setting"`) + `)`}},
			Empty:   "sensor absent",
		},
		{
			Key: "throttled", Title: "Share of the time held back", W: 12, H: 8, Unit: board.Share, Form: board.Lines{Table: true}, Min: new(0.0),
			Help:    "By policy, from the driver's own counters. thermal above a tenth is worth a ticket, power is the price of a limit.",
			Queries: []board.Query{{Legend: "{{hostname}} {{gpu}} {{policy}}", Expr: `max by (hostname, gpu, policy) (` + rateGPU("aiperf_gpu_throttle_seconds_total", "", "rate", "$__rate_interval") + `) > 0`}},
			Empty:   "never held back, or sensor absent",
		},
		{
			Key: "temperature", Title: "Temperature", W: 12, H: 8, Unit: board.Celsius, Form: board.Lines{Table: true},
			Help: "Of chips, and of memory (dashed). One GPU that is hotter than its neighbours at the same power has a cooling problem.",
			Queries: []board.Query{
				{Legend: gpuLegend, Expr: byGPU(chosenGPU("aiperf_gpu_temperature_celsius", ""))},
				{Legend: gpuLegend + " memory", Style: board.Style{Dashed: true}, Expr: byGPU(chosenGPU("aiperf_gpu_memory_temperature_celsius", ""))},
			},
			Empty: "sensor absent",
		},
		{
			Key: "energy", Title: "Mean power from energy", W: 12, H: 8, Unit: board.Watts, Form: board.Lines{Table: true}, Min: new(0.0),
			Help:    "From the energy counters: what the bill says. Samples of power miss what happens between two of them.",
			Queries: []board.Query{{Legend: gpuLegend, Expr: byGPU(rateGPU("aiperf_gpu_energy_joules_total", "", "rate", "$__rate_interval"))}},
			Empty:   "sensor absent",
		},
	}
}

func gpuMemory() []board.Panel {
	return []board.Panel{
		{
			Key: "memory", Title: "Memory used", W: 8, H: 8, Unit: board.Bytes, Form: board.Lines{}, Min: new(0.0),
			Help:    "Inference servers take what they may when they start: flat and near the total is as it should be. A fall to nothing is a server that ended.",
			Queries: []board.Query{{Legend: gpuLegend, Expr: byGPU(chosenGPU("aiperf_gpu_memory_used_bytes", ""))}},
			Empty:   "sensor absent",
		},
		{
			Key: "dram", Title: "Memory and tensor units at work", W: 8, H: 8, Unit: board.Share, Form: board.Lines{}, Min: new(0.0), Max: new(1.0),
			Help: "DRAM near its end with few tensor units at work is decoding: memory is the limit. The reverse is prefill.",
			Queries: []board.Query{
				{Legend: gpuLegend + " DRAM", Expr: byGPU(chosenGPU("aiperf_gpu_dram_active_ratio", ""))},
				{Legend: gpuLegend + " tensor", Style: board.Style{Dashed: true}, Expr: byGPU(chosenGPU("aiperf_gpu_tensor_active_ratio", ""))},
			},
			Empty: "sensor absent",
		},
		{
			Key: "clocks", Title: "Clock of the multiprocessors", W: 8, H: 8, Unit: board.Hertz, Form: board.Lines{}, Min: new(0.0),
			Help:    "Falls under load when something holds it down, and at rest by itself.",
			Queries: []board.Query{{Legend: gpuLegend, Expr: byGPU(chosenGPU("aiperf_gpu_sm_clock_hertz", ""))}},
			Empty:   "sensor absent",
		},
	}
}

func gpuFaults() []board.Panel {
	return []board.Panel{
		{
			Key: "xid", Title: "XID errors", W: 8, H: 8, Unit: board.Plain, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "Errors of the driver in 10 minutes, by code. 13, 31, 43 and 45 are programs; 48, 63, 64, 74, 79, 92, 94, 95, 119 and 120 the hardware.",
			Queries: []board.Query{{Legend: "{{hostname}} {{gpu}} XID {{xid}}", Expr: `sum by (hostname, gpu, xid) (` + rateGPU("aiperf_gpu_xid_errors_total", "", "increase", "10m") + `) > 0`}},
			Empty:   "none",
		},
		{
			Key: "ecc", Title: "Memory errors", W: 8, H: 8, Unit: board.Plain, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help:    "In an hour, since the driver was loaded. Corrected ones are harmless while few; an uncorrected one ends the program that met it.",
			Named:   board.Colours("corrected", board.Warning, "uncorrected", board.Bad, "deferred", board.Worse),
			Queries: []board.Query{{Legend: "{{type}}", Expr: `sum by (type) (` + rateGPU("aiperf_gpu_ecc_errors_total", `scope="volatile"`, "increase", "1h") + `)`}},
			Empty:   "sensor absent",
		},
		{
			Key: "remap", Title: "Rows of memory to replace", W: 8, H: 8, Unit: board.Plain, Form: board.Number{Names: true},
			Help:  "pending: replaced at the next reset, plan one. failed: no spare row is left, the GPU is to be exchanged.",
			Steps: []board.Step{{From: 1, Colour: board.Worse}},
			Queries: []board.Query{
				{Now: true, Legend: "pending", Expr: `sum(` + chosenGPU("aiperf_gpu_row_remap_pending", "") + `)`},
				{Now: true, Legend: "failed", Expr: `sum(` + chosenGPU("aiperf_gpu_row_remap_failed", "") + `)`},
			},
			Empty: "sensor absent",
		},
	}
}

func gpuLinks() []board.Panel {
	both := func(kind string) []board.Query {
		return []board.Query{
			{Legend: gpuLegend + " sent", Expr: byGPU("(" + rateGPU("aiperf_gpu_"+kind+"_transmit_bytes_total", "", "rate", "$__rate_interval") + ")" + orGauge(kind, "transmit"))},
			{Legend: gpuLegend + " received", Style: board.Style{Dashed: true}, Expr: byGPU("(" + rateGPU("aiperf_gpu_"+kind+"_receive_bytes_total", "", "rate", "$__rate_interval") + ")" + orGauge(kind, "receive"))},
		}
	}
	return []board.Panel{
		{
			Key: "nvlink", Title: "NVLink", W: 8, H: 8, Unit: board.BytesPerSecond, Form: board.Lines{}, Min: new(0.0),
			Help:    "Traffic between GPUs: tensor parallelism needs it for every token. One GPU that is silent while its neighbours speak does not take part.",
			Queries: both("nvlink"),
			Empty:   "sensor absent",
		},
		{
			Key: "pcie", Title: "PCIe", W: 8, H: 8, Unit: board.BytesPerSecond, Form: board.Lines{}, Min: new(0.0),
			Help:    "Traffic to the host. Much of it during inference is a KV cache that is moved out to the host's memory.",
			Queries: both("pcie"),
			Empty:   "sensor absent",
		},
		{
			Key: "link-errors", Title: "Errors of links", W: 8, H: 8, Unit: board.Plain, Form: board.Lines{Stacked: true}, Min: new(0.0),
			Help: "In 10 minutes: packets that were sent again, and errors on NVLink. More than a few is a connector or a cable.",
			Queries: []board.Query{
				{Legend: "{{hostname}} {{gpu}} PCIe replays", Expr: `sum by (hostname, gpu) (` + rateGPU("aiperf_gpu_pcie_replays_total", "", "increase", "10m") + `)`},
				{Legend: "{{hostname}} {{gpu}} NVLink {{type}}", Expr: `sum by (hostname, gpu, type) (` + rateGPU("aiperf_gpu_nvlink_errors_total", "", "increase", "10m") + `)`},
			},
			Empty: "sensor absent",
		},
	}
}

// orGauge adds the gauges of sources that only know a rate.
func orGauge(kind, direction string) string {
	if kind == "nvlink" {
		return ""
	}
	return " or (" + chosenGPU("aiperf_gpu_"+kind+"_"+direction+"_bytes_per_second", "") + ")"
}

func gpuInstances() []board.Panel {
	only := `mig_instance!=""`
	return []board.Panel{
		{
			Key: "mig-active", Title: "Instances at work", W: 12, H: 8, Unit: board.Share, Form: board.Lines{Table: true}, Min: new(0.0), Max: new(1.0),
			Help:    "Share of an instance's part of the chip that had work.",
			Queries: []board.Query{{Legend: gpuLegend, Expr: byGPU("(" + chosenGPU("aiperf_gpu_sm_active_ratio", only) + ") or (" + chosenGPU("aiperf_gpu_engine_active_ratio", only) + ")")}},
			Empty:   "no instances",
		},
		{
			Key: "mig-memory", Title: "Memory of instances", W: 12, H: 8, Unit: board.Bytes, Form: board.Lines{Table: true}, Min: new(0.0),
			Help:    "Memory that is used of each instance's own.",
			Queries: []board.Query{{Legend: gpuLegend, Expr: byGPU(chosenGPU("aiperf_gpu_memory_used_bytes", only))}},
			Empty:   "no instances",
		},
	}
}
