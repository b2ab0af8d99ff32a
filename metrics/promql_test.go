package metrics

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files again")

// The expressions of docs/throughput.md are evaluated by a real Prometheus, over the series that the worked example gives when it is
// scraped each second: `make check` has promtool run the file that is compared here.
const promqlFile = "../alerts/tests/throughput.yml"

func TestThePromQLOfThroughputIsTestedOnWhatIsExposed(t *testing.T) {
	t.Parallel()
	got := promqlTest()
	if *update {
		if err := os.WriteFile(promqlFile, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(promqlFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, go test ./metrics -update writes it (-want +got):\n%s", promqlFile, diff)
	}
}

// scrapes are the samples of series by name and labels, in the order of their first appearance.
type scrapes struct {
	names   []string
	samples map[string][]string
}

func (s *scrapes) add(name string, value float64) {
	if _, ok := s.samples[name]; !ok {
		s.names = append(s.names, name)
	}
	s.samples[name] = append(s.samples[name], strconv.FormatFloat(value, 'g', -1, 64))
}

// scrape adds one sample of what the expressions need.
func (s *scrapes) scrape(sweep *sweep, now int64) {
	const base = `target="t", model="m", workload="w"`
	f := read(sweep, now)
	s.add("aiperf_sweep_settled_seconds_total{"+base+"}", f.settled)
	for i, phase := range SweepPhases {
		labels := fmt.Sprintf(`%s, phase=%q`, base, phase)
		s.add("aiperf_phase_tokens_total{"+labels+"}", f.tokens[i])
		s.add("aiperf_phase_active_seconds_total{"+labels+"}", f.active[i])
		s.add("aiperf_phase_request_seconds_total{"+labels+"}", f.requests[i])
	}
	for j, state := range sweepStates {
		const name = "aiperf_phase_throughput_tokens_per_second"
		labels := fmt.Sprintf(`%s, phase="prefill", state=%q`, base, state)
		h := sweep.phases[phasePrefill].throughput[j].exposition(HistogramsClassic)
		for _, b := range h.GetBucket() {
			s.add(fmt.Sprintf(`%s_bucket{%s, le="%v"}`, name, labels, b.GetUpperBound()), float64(b.GetCumulativeCount()))
		}
		s.add(name+"_bucket{"+labels+`, le="+Inf"}`, float64(h.GetSampleCount()))
		s.add(name+"_sum{"+labels+"}", h.GetSampleSum())
		s.add(name+"_count{"+labels+"}", float64(h.GetSampleCount()))
	}
}

// promqlTest is the file for promtool.
func promqlTest() string {
	s := newSweep(0, Estimated)
	all := scrapes{samples: map[string][]string{}}
	calls := inOrder(threeRequests()...)
	for now := int64(0); now <= 10*second; now += second {
		for len(calls) > 0 && calls[0].at <= now {
			calls[0].call(&s)
			calls = calls[1:]
		}
		all.scrape(&s, now)
	}
	const (
		tokens   = `rate(aiperf_phase_tokens_total{phase=%q}[11s])`
		active   = `rate(aiperf_phase_active_seconds_total{phase=%q}[11s])`
		requests = `rate(aiperf_phase_request_seconds_total{phase=%q}[11s])`
		settled  = ` / ignoring (phase) rate(aiperf_sweep_settled_seconds_total[11s])`
		buckets  = `rate(aiperf_phase_throughput_tokens_per_second_bucket{phase="prefill"%s}[11s])`
		mean     = `rate(aiperf_phase_throughput_tokens_per_second_sum{phase="prefill", state="active"}[11s]) / rate(aiperf_phase_throughput_tokens_per_second_count{phase="prefill", state="active"}[11s])`
	)
	share := func(part, whole, phase string) string { return fmt.Sprintf("sum("+part+" / "+whole+")", phase, phase) }
	quantile := func(q, state string) string {
		return "histogram_quantile(" + q + ", sum by (le) (" + fmt.Sprintf(buckets, state) + "))"
	}
	const inUse = `, state="active"`
	var out strings.Builder
	out.WriteString("# Written by go test ./metrics -update: the expressions of docs/throughput.md over the example of three requests.\n")
	out.WriteString("evaluation_interval: 1s\ntests:\n  - interval: 1s\n    input_series:\n")
	for _, name := range all.names {
		fmt.Fprintf(&out, "      - {series: '%s', values: %s}\n", name, strings.Join(all.samples[name], " "))
	}
	out.WriteString("    promql_expr_test:\n")
	for _, test := range []struct {
		expr string
		want float64
	}{
		{fmt.Sprintf("sum("+tokens+settled+")", "prefill"), 42.5},
		{fmt.Sprintf("sum("+tokens+settled+")", "decode"), 3.7},
		{fmt.Sprintf("sum("+tokens+settled+")", "total"), 46.2},
		{share(tokens, active, "prefill"), 425 / 3.1},
		{share(tokens, active, "decode"), 37 / 8.5},
		{fmt.Sprintf("sum("+active+settled+")", "prefill"), .31},
		{fmt.Sprintf("sum("+requests+settled+")", "total"), 1.22},
		{share(tokens, requests, "decode"), 37 / 9.1},
		{"sum(" + mean + ")", 425 / 3.1},
		{quantile("0.5", ""), 0},
		{quantile("0.9", ""), 130},
		{quantile("0.95", ""), 100 + 140./3},
		{quantile("0.99", ""), 187.5},
		{quantile("0.5", inUse), 335. / 3},
		{quantile("0.9", inUse), 161.25},
	} {
		want := strconv.FormatFloat(math.Round(test.want*1e6)/1e6, 'g', -1, 64)
		fmt.Fprintf(&out, "      - {eval_time: 10s, expr: 'round(%s, 1e-6)', exp_samples: [{labels: '{}', value: %s}]}\n", test.expr, want)
	}
	return out.String()
}
