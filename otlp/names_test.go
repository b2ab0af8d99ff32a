package otlp

import (
	"slices"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// wholeTable is every series of the program.
func wholeTable() []metrics.Series {
	return slices.Concat(metrics.Table(), server.Table(), gpu.Table(), collector.Table(), Table())
}

// prometheusName is what a Prometheus that receives OTLP makes of a name, by the rules of the OpenTelemetry specification (compatibility with
// Prometheus): dots become underscores, then come the unit unless it is there, "ratio" behind gauges of unit 1, and "total" behind counters.
func prometheusName(n naming, kind metrics.Kind) string {
	words := strings.FieldsFunc(n.name, func(r rune) bool { return r == '.' || r == '_' })
	without := func(word string) []string { return slices.DeleteFunc(words, func(w string) bool { return w == word }) }
	unit, per, _ := strings.Cut(n.unit, "/")
	written := map[string]string{"s": "seconds", "By": "bytes", "J": "joules", "W": "watts", "Cel": "celsius", "Hz": "hertz", "1": ""}
	if strings.ContainsAny(unit, "{}") {
		unit = ""
	} else if name, ok := written[unit]; ok {
		unit = name
	}
	if unit != "" && !slices.Contains(words, unit) {
		words = append(words, unit)
	}
	if per != "" && !strings.ContainsAny(per, "{}") {
		words = append(words, "per", per)
	}
	if kind == metrics.Counter {
		words = append(without("total"), "total")
	}
	if n.unit == "1" && kind == metrics.Gauge {
		words = append(without("ratio"), "ratio")
	}
	return strings.Join(words, "_")
}

func TestAPrometheusThatReceivesOurNamesHasThoseOfAScrape(t *testing.T) {
	t.Parallel()
	table := wholeTable()
	names := newNamer(table)
	for _, s := range table {
		got := names.of(s.Name, s.Kind == metrics.Counter)
		if back := prometheusName(got, s.Kind); back != s.Name {
			t.Errorf("%s (%s) is sent as %q with unit %q, which becomes %s", s.Name, s.Unit, got.name, got.unit, back)
		}
	}
}

func TestNoTwoSeriesHaveTheSameName(t *testing.T) {
	t.Parallel()
	table := wholeTable()
	names, owner := newNamer(table), map[string]string{}
	for _, s := range table {
		name := names[s.Name].name
		if other, taken := owner[name]; taken && other != s.Name {
			t.Errorf("%s and %s are both sent as %s", other, s.Name, name)
		}
		owner[name] = s.Name
	}
}

func TestNamesSayNeitherTotalNorUnit(t *testing.T) {
	t.Parallel()
	table := []metrics.Series{
		{Name: "aiperf_server_kv_cache_usage_ratio", Kind: metrics.Gauge, Unit: "ratio"},
		{Name: "aiperf_time_to_first_token_seconds", Kind: metrics.Histogram, Unit: "seconds"},
		{Name: "aiperf_gpu_energy_joules_total", Kind: metrics.Counter, Unit: "joules"},
		{Name: "aiperf_gpu_sm_clock_hertz", Kind: metrics.Gauge, Unit: "hertz"},
		{Name: "aiperf_tokens_total", Kind: metrics.Counter, Unit: "tokens"},
		{Name: "aiperf_load_target_rate", Kind: metrics.Gauge, Unit: "requests per second"},
		{Name: "aiperf_gpu_pcie_transmit_bytes_per_second", Kind: metrics.Gauge, Unit: "bytes per second"},
		{Name: "aiperf_target_up", Kind: metrics.Gauge},
		{Name: "aiperf_server_kv_transfer_bytes_total", Kind: metrics.Counter, Unit: "bytes"},
		{Name: "aiperf_server_kv_transfer_seconds", Kind: metrics.Histogram, Unit: "seconds"},
		{Name: "aiperf_server_wait_seconds", Kind: metrics.Histogram, Unit: "seconds"},
		{Name: "aiperf_server_wait_seconds_total", Kind: metrics.Counter, Unit: "seconds"},
	}
	names := newNamer(table)
	for family, want := range map[string][2]string{
		"aiperf_server_kv_cache_usage_ratio":        {"aiperf.server.kv_cache.usage", "1"},
		"aiperf_time_to_first_token_seconds":        {"aiperf.time_to_first_token", "s"},
		"aiperf_gpu_energy_joules_total":            {"aiperf.gpu.energy", "J"},
		"aiperf_gpu_sm_clock_hertz":                 {"aiperf.gpu.sm_clock", "Hz"},
		"aiperf_tokens_total":                       {"aiperf.tokens", "{token}"},
		"aiperf_load_target_rate":                   {"aiperf.load.target_rate", "{request/s}"},
		"aiperf_gpu_pcie_transmit_bytes_per_second": {"aiperf.gpu.pcie.transmit_bytes_per_second", "{By/s}"},
		"aiperf_target_up":                          {"aiperf.target.up", ""},
		// Without their units, both would be the same.
		"aiperf_server_kv_transfer_bytes_total": {"aiperf.server.kv_transfer.bytes", "By"},
		"aiperf_server_kv_transfer_seconds":     {"aiperf.server.kv_transfer.seconds", "s"},
		// Without _total, they would be the same even with them.
		"aiperf_server_wait_seconds":       {"aiperf.server.wait_seconds", "s"},
		"aiperf_server_wait_seconds_total": {"aiperf.server.wait_seconds_total", "s"},
		// Not in the table.
		"aiperf_exporter_build_info": {"aiperf.exporter.build_info", ""},
		"go_goroutines":              {"go_goroutines", ""},
		"vllm:num_requests_running":  {"vllm:num_requests_running", ""},
	} {
		if got := names.of(family, strings.HasSuffix(family, "_total")); got.name != want[0] || got.unit != want[1] {
			t.Errorf("%s: got %+v, want %q", family, got, want)
		}
	}
}
