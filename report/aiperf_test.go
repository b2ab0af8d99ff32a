package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// profile is how a program would read profile_export_aiperf.json: the run's own keys, everything else is a figure.
type profile struct {
	SchemaVersion string `json:"schema_version"`
	BenchmarkID   string `json:"benchmark_id"`
	InputConfig   struct {
		Models struct {
			Items []struct{ Name string }
		}
		Endpoint struct {
			URLs      []string
			Type      string
			Streaming bool
		}
		Datasets []struct {
			Name, Type string
			Prompts    map[string]struct{ Mean, Stddev float64 }
		}
		Phases []struct {
			Name, Kind, Type      string
			Requests, Concurrency int
		}
		SLOs map[string]float64 `json:"slos"`
	} `json:"input_config"`
	RunInfo struct {
		BenchmarkID string `json:"benchmark_id"`
		RandomSeed  uint64 `json:"random_seed"`
		Trial       *int
		CLICommand  string `json:"cli_command"`
	} `json:"run_info"`
	WasCancelled *bool         `json:"was_cancelled"`
	IsComplete   *bool         `json:"is_complete"`
	ErrorSummary []errorReport `json:"error_summary"`
	StartTime    string        `json:"start_time"`
	EndTime      string        `json:"end_time"`

	figures map[string]map[string]any
}

type errorReport struct {
	Details struct {
		Code          int
		Type, Message string
	} `json:"error_details"`
	Count int
}

// requestLine is how a program would read a line of profile_export.jsonl.
type requestLine struct {
	Metadata map[string]any
	Metrics  map[string]struct {
		Value any
		Unit  string
	}
	Error *struct {
		Code          int
		Type, Message string
	}
}

func decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func readProfile(t *testing.T, raw []byte) profile {
	t.Helper()
	p := decode[profile](t, raw)
	p.figures = map[string]map[string]any{}
	for key, value := range decode[map[string]json.RawMessage](t, raw) {
		var figure map[string]any
		if json.Unmarshal(value, &figure) == nil && figure["unit"] != nil {
			p.figures[key] = figure
		}
	}
	return p
}

func aiperfFile(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "aiperf", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func written(t *testing.T, r *Report) profile {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteJSON(&buf, r); err != nil {
		t.Fatal(err)
	}
	return readProfile(t, buf.Bytes())
}

// Figures of AIPerf that we do not have.
var missing = []string{
	// Over time, not over requests.
	"active_decode_throughput", "active_decode_throughput_per_user", "active_prefill_throughput", "active_prefill_throughput_per_user",
	"active_total_throughput", "effective_concurrency", "effective_decode_concurrency", "effective_decode_throughput",
	"effective_decode_throughput_per_user", "effective_prefill_concurrency", "effective_prefill_throughput",
	"effective_prefill_throughput_per_user", "effective_total_throughput", "tokens_in_flight",
	// Percentiles with failures as infinite latencies.
	"adj_decode_duration", "adj_inter_token_latency", "adj_request_latency", "adj_time_to_first_token",
	// Reads and writes of its HTTP library.
	"http_req_chunks_received", "http_req_chunks_sent",
}

// known are AIPerf's figures without those.
func known(figures map[string]map[string]any) map[string]map[string]any {
	figures = maps.Clone(figures)
	for _, tag := range missing {
		delete(figures, tag)
	}
	return figures
}

func TestKeysUnitsAndStatisticsAreThoseOfAIPerf(t *testing.T) {
	t.Parallel()
	ours := written(t, mixedRun())
	for _, name := range []string{"profile_export_aiperf.json", "profile_export_aiperf_errors.json"} {
		theirs := readProfile(t, aiperfFile(t, name))
		for tag, want := range known(theirs.figures) {
			got := ours.figures[tag]
			if got["unit"] != want["unit"] {
				t.Errorf("%s: %s has unit %v, want %v", name, tag, got["unit"], want["unit"])
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("%s: statistics of %s: -theirs +ours:\n%s", name, tag, diff)
			}
		}
	}
	theirs := readProfile(t, aiperfFile(t, "profile_export_aiperf_errors.json"))
	for tag := range ours.figures {
		if theirs.figures[tag] == nil {
			t.Errorf("%s is no figure of AIPerf", tag)
		}
	}
}

func TestOneReaderReadsBothDescriptionsOfARun(t *testing.T) {
	t.Parallel()
	theirs, ours := readProfile(t, aiperfFile(t, "profile_export_aiperf_errors.json")), written(t, mixedRun())
	for name, p := range map[string]profile{"theirs": theirs, "ours": ours} {
		config := &p.InputConfig
		switch {
		case p.SchemaVersion != "1.4" || len(p.BenchmarkID) != 12 || p.RunInfo.BenchmarkID != p.BenchmarkID:
			t.Errorf("%s: version %q, run %q and %q", name, p.SchemaVersion, p.BenchmarkID, p.RunInfo.BenchmarkID)
		case p.RunInfo.RandomSeed != 7 || p.RunInfo.Trial == nil || p.RunInfo.CLICommand == "":
			t.Errorf("%s: run_info is %+v", name, p.RunInfo)
		case config.Models.Items[0].Name == "" || len(config.Endpoint.URLs) != 1 || config.Endpoint.Type != "chat" || !config.Endpoint.Streaming:
			t.Errorf("%s: model and endpoint are %+v, %+v", name, config.Models, config.Endpoint)
		case config.Phases[0].Name != "profiling" || config.Phases[0].Requests != 40 || config.Phases[0].Concurrency != 4:
			t.Errorf("%s: phases are %+v", name, config.Phases)
		case config.Datasets[0].Type != "synthetic" || config.Datasets[0].Prompts["osl"].Mean != 32:
			t.Errorf("%s: datasets are %+v", name, config.Datasets)
		case config.SLOs["time_to_first_token"] != 60 || config.SLOs["inter_token_latency"] != 12:
			t.Errorf("%s: slos are %v", name, config.SLOs)
		case p.WasCancelled == nil || *p.WasCancelled || p.IsComplete == nil || !*p.IsComplete:
			t.Errorf("%s: was_cancelled or is_complete is wrong", name)
		case len(p.ErrorSummary) == 0 || p.ErrorSummary[0].Details.Code < 500 || p.ErrorSummary[0].Details.Message == "":
			t.Errorf("%s: error_summary is %+v", name, p.ErrorSummary)
		}
	}
	want := []errorReport{{Count: 2}, {Count: 1}}
	want[0].Details.Code, want[0].Details.Type, want[0].Details.Message = 503, "http_5xx", "worker\ncrashed\x1b[31m"
	want[1].Details.Type, want[1].Details.Message = "connect", "dial tcp 127.0.0.1:8000: connect: connection refused"
	if diff := cmp.Diff(want, ours.ErrorSummary); diff != "" {
		t.Errorf("error_summary: -want +got:\n%s", diff)
	}
	if !strings.HasSuffix(ours.StartTime, "Z") || !strings.HasSuffix(ours.EndTime, "Z") {
		t.Errorf("times without a zone: %s, %s", ours.StartTime, ours.EndTime)
	}
}

func TestKeysStandInTheOrderOfAIPerf(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	if err := WriteJSON(&buf, mixedRun()); err != nil {
		t.Fatal(err)
	}
	ours := keys(t, buf.Bytes())
	theirs := keys(t, aiperfFile(t, "profile_export_aiperf_errors.json"))
	// Behind the times AIPerf's order is that of a set.
	ours, theirs = ours[:slices.Index(ours, "end_time")+1], theirs[:slices.Index(theirs, "end_time")+1]
	theirs[slices.Index(theirs, "aiperf_version")] = "generator"
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("-theirs +ours:\n%s", diff)
	}
}

// keys are those of an object, as they stand.
func keys(t *testing.T, raw []byte) []string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	var list []string
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, key.(string))
		var skipped json.RawMessage
		if err := decoder.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func TestTheCSVHasTheHeadingsOfAIPerf(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	if err := replay(t).WriteCSV(&buf); err != nil {
		t.Fatal(err)
	}
	theirs, ours := readCSV(t, aiperfFile(t, "profile_export_aiperf.csv")), readCSV(t, buf.Bytes())
	if diff := cmp.Diff(theirs["Metric"], ours["Metric"]); diff != "" {
		t.Errorf("header of the statistics: -theirs +ours:\n%s", diff)
	}
	for heading, got := range ours {
		want := theirs[heading]
		if want == nil {
			t.Errorf("AIPerf has no row %q", heading)
		}
		if len(got) != len(want) {
			t.Errorf("%s has %d columns, want %d", heading, len(got), len(want))
		}
	}
	for heading := range theirs {
		overTime := strings.HasPrefix(heading, "Active ") || strings.HasPrefix(heading, "Effective ") || heading == "Tokens In Flight (tokens)"
		if ours[heading] == nil && !overTime && !strings.HasPrefix(heading, "HTTP ") {
			t.Errorf("no row %q", heading)
		}
	}
	first, _, _ := bytes.Cut(aiperfFile(t, "profile_export_aiperf.csv"), []byte("\n"))
	if !bytes.HasPrefix(buf.Bytes(), append(first, '\n')) || bytes.Count(buf.Bytes(), []byte("\r\n\r\nMetric,Value\r\n")) != 1 {
		t.Error("the blocks do not begin and end as in AIPerf's file")
	}
}

// readCSV gives the rows of both blocks by heading; those of scalars have one column.
func readCSV(t *testing.T, raw []byte) map[string][]string {
	t.Helper()
	reader := csv.NewReader(bytes.NewReader(raw))
	reader.FieldsPerRecord = -1
	records, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, record := range records {
		if record[0] != "Metric" || len(record) > 2 {
			rows[record[0]] = record[1:]
		}
	}
	return rows
}

func TestOneReaderReadsTheRequestsOfBoth(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	if err := mixedRun().WriteRecords(&buf); err != nil {
		t.Fatal(err)
	}
	theirs, ours := readRequests(t, aiperfFile(t, "profile_export.jsonl")), readRequests(t, buf.Bytes())
	for _, state := range []string{"success", "failure"} {
		want, got := theirs[state], ours[state]
		for key := range want.Metadata {
			if got.Metadata[key] == nil && !slices.Contains([]string{"conversation_id", "phase_index", "profiling_index"}, key) {
				t.Errorf("%s: no metadata %q", state, key)
			}
		}
		for tag := range want.Metrics {
			if !slices.Contains(missing, tag) && (got.Metrics[tag].Unit != want.Metrics[tag].Unit || got.Metrics[tag].Value == nil) {
				t.Errorf("%s: %s is %+v, want something like %+v", state, tag, got.Metrics[tag], want.Metrics[tag])
			}
		}
	}
	if _, ok := ours["success"].Metrics["inter_chunk_latency"].Value.([]any); !ok {
		t.Error("inter_chunk_latency is not a list")
	}
	if theirs["failure"].Error.Code != 500 || ours["failure"].Error.Type != "connect" || ours["cancelled"].Error.Code != 499 {
		t.Errorf("errors are %+v, %+v, %+v", theirs["failure"].Error, ours["failure"].Error, ours["cancelled"].Error)
	}
	if ours["cancelled"].Metadata["was_cancelled"] != true || ours["warmup"].Metadata["benchmark_phase"] != "warmup" {
		t.Errorf("metadata is %+v, %+v", ours["cancelled"].Metadata, ours["warmup"].Metadata)
	}
}

// readRequests gives the last line of each kind.
func readRequests(t *testing.T, raw []byte) map[string]requestLine {
	t.Helper()
	lines := map[string]requestLine{}
	for line := range bytes.Lines(raw) {
		request := decode[requestLine](t, line)
		kind := "success"
		switch {
		case request.Metadata["benchmark_phase"] == "warmup":
			kind = "warmup"
		case request.Metadata["was_cancelled"] == true:
			kind = "cancelled"
		case request.Error != nil:
			kind = "failure"
		}
		lines[kind] = request
	}
	return lines
}
