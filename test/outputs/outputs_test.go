package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/report"
)

const ms = int64(time.Millisecond)

// recorded are files that AIPerf has written.
func recorded(t *testing.T) *files {
	t.Helper()
	f, err := readFolder(filepath.Join("testdata", "aiperf"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// record is a request as the scripted server answers it.
func record(i int64) *metrics.Record {
	start := (1000 + 160*i) * ms
	r := &metrics.Record{
		RequestID: "request", Streaming: true, Outcome: metrics.Success, Status: 200, Finish: metrics.FinishLength,
		InputSource: metrics.SourceUsage, OutputSource: metrics.SourceUsage,
		Usage:           metrics.Usage{Input: metrics.Tokens(50), Output: metrics.Tokens(tokens)},
		RequestedTokens: tokens, ConnObtained: true, ConnReused: i > 3, RequestBytes: 256, ResponseBytes: 13000,
		Time: metrics.Timeline{Sched: start, Issue: start, Start: start, ConnStart: start, ConnDone: start, Sent: start + ms/10},
	}
	t := &r.Time
	t.FirstByte, t.Header, t.FirstEvent, t.FirstOutput = start+ms, start+ms, start+ms, start+50*ms
	for token := range int64(tokens) {
		r.Content = append(r.Content, start+50*ms+10*ms*token)
	}
	t.End = r.Content[tokens-1] + ms
	if i%failEvery == failEvery-1 {
		r.Outcome, r.Class, r.Status, r.Detail, r.Finish = metrics.Failure, metrics.ErrHTTP5xx, 500, "this request fails by the script", ""
		r.Content, r.Usage, r.InputSource, r.OutputSource = nil, metrics.Usage{}, metrics.SourceNone, metrics.SourceNone
		t.FirstEvent, t.FirstOutput, t.End = 0, 0, t.Header
	}
	return r
}

// written are our files of the same run.
func written(t *testing.T) *files {
	t.Helper()
	slo := metrics.SLO{Name: "interactive", Objective: 0.5, Thresholds: []metrics.Threshold{
		{Metric: metrics.SLOTimeToFirstToken, Limit: float64(200 * ms)}, {Metric: metrics.SLOInterTokenLatency, Limit: float64(20 * ms)},
	}}
	c := report.NewCollector([]metrics.SLO{slo})
	for i := range int64(requests) {
		r := record(i)
		m := metrics.Measure(r)
		c.Add(r, &m, []metrics.Verdict{slo.Evaluate(r, &m)})
	}
	meta := report.Meta{
		ID: "0123456789ab", Version: "1.0.0", Command: "aiperf-exporter run", Target: "truth", URL: "http://127.0.0.1:8000", Model: "truth",
		Endpoint: "chat", Streaming: true, Epoch: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
		Workload: report.Workload{Name: "prompts", Format: "single_turn", File: "prompts.jsonl"},
		Load:     report.Load{Mode: "closed", Concurrency: concurrency, Requests: requests},
		GPUs:     &report.GPUs{Endpoints: []string{"http://127.0.0.1:8000/gpu/metrics"}},
	}
	for i := range 2 {
		meta.GPUs.Devices = append(meta.GPUs.Devices, report.Device{
			Endpoint: meta.GPUs.Endpoints[0], Platform: report.NVIDIA, Index: i, Name: "NVIDIA H100 80GB HBM3", Hostname: "node-1",
			UUID: "GPU-00000000-0000-0000-0000-00000000000" + string(rune('0'+i)), Energy: metrics.Value{V: 2400, Defined: true},
			Sensors: []report.Sensor{
				{Series: "aiperf_gpu_power_watts", Values: []float64{400}},
				{Series: "aiperf_gpu_utilization_ratio", Values: []float64{0.87}},
				{Series: "aiperf_gpu_memory_used_bytes", Values: []float64{71e9}},
				{Series: "aiperf_gpu_temperature_celsius", Values: []float64{51}},
			},
		})
	}
	folder := t.TempDir()
	if err := report.WriteFiles(folder, true, c.Report(meta)); err != nil {
		t.Fatal(err)
	}
	f, err := readFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOurFilesHaveTheShapeOfThoseOfAIPerf(t *testing.T) {
	t.Parallel()
	all := differences(recorded(t), written(t))
	for _, d := range all {
		if d.why == "" {
			t.Errorf("%s: AIPerf %s, here %s", d.field, shown(d.theirs), shown(d.ours))
		}
	}
	for _, r := range unneeded(all) {
		if !strings.HasPrefix(r.field, "value ") {
			t.Errorf("no longer a difference: %s", r.field)
		}
	}
}

func TestEachKindOfDifferenceIsSeen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, from, to string
		want           string // beginning of the place
	}{
		"a unit":                {"profile_export_aiperf.json", `"unit": "requests/sec",`, `"unit": "1/s",`, "json request_throughput"},
		"a statistic":           {"profile_export_aiperf.json", `"p99":`, `"p98":`, "json "},
		"a type":                {"profile_export_aiperf.json", `"was_cancelled": false`, `"was_cancelled": 0`, "json was_cancelled"},
		"an order":              {"profile_export_aiperf.json", `"was_cancelled": false,`, ``, "json was_cancelled"},
		"a key of a request":    {"profile_export.jsonl", `"turn_index"`, `"turn"`, "jsonl success.metadata.turn"},
		"a heading":             {"profile_export_aiperf.csv", "Goodput (requests/sec)", "Goodput", "csv block 2 Goodput"},
		"a column":              {"profile_export_aiperf.csv", "p25,p50", "p50,p25", "csv block 1, header"},
		"line ends":             {"profile_export_aiperf.csv", "\r\n", "\n", "csv, line ends"},
		"a column for GPUs":     {"profile_export_aiperf.csv", "GPU_UUID", "UUID", "csv block 3, header"},
		"a field of the marker": {".aiperf_results_ready.json", `"ready"`, `"done"`, "marker.done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "aiperf"))); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, test.file)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.ReplaceAll(string(raw), test.from, test.to)
			if changed == string(raw) {
				t.Fatalf("%s has no %q", test.file, test.from)
			}
			if err = os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			other, err := readFolder(folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range differences(recorded(t), other) {
				if strings.HasPrefix(d.field, test.want) {
					return
				}
			}
			t.Errorf("not seen: %q instead of %q", test.to, test.from)
		})
	}
}

func TestFiguresMustBeTheSameWhereTheyAreCounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b float64
		unit string
		want bool
	}{
		"counted, the same":          {2160, 2160, "tokens", true},
		"counted, one less":          {2160, 2159, "tokens", false},
		"measured, about the same":   {50, 54, "ms", true},
		"measured, something else":   {50, 64, "ms", false},
		"a rate, about the same":     {6.2, 6.3, "requests/sec", true},
		"a rate, something else":     {6.2, 7.5, "requests/sec", false},
		"energy, about the same":     {4680, 4670, "J", true},
		"energy since the beginning": {4680, 32400, "J", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := near(test.a, test.b, test.unit); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestAReasonMayStandForSeveralPlaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		field, place string
		want         bool
	}{
		{"json start_time", "json start_time", true},
		{"json start_time", "json start_time.x", false},
		{"json exporter.*", "json exporter.target", true},
		{"jsonl *.metadata.phase_index", "jsonl failure.metadata.phase_index", true},
		{"jsonl *.metadata.phase_index", "jsonl failure.metadata.phase_name", false},
		{"jsonl *.exporter.*", "jsonl success.exporter.outcome", true},
		{"jsonl *.exporter.*", "jsonl success.metadata.outcome", false},
		{"json a*a", "json a", false},
	} {
		if got := (&explanation{field: test.field}).holds(test.place); got != test.want {
			t.Errorf("%q stands for %q: %t", test.field, test.place, got)
		}
	}
}
