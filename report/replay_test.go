package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// measuredRequest is a line of requests.jsonl.
type measuredRequest struct {
	Metadata struct {
		Issue int64 `json:"credit_issued_ns"`
		Start int64 `json:"request_start_ns"`
		End   int64 `json:"request_end_ns"`
	}
	Metrics struct {
		TTFT   struct{ Value float64 }   `json:"time_to_first_token"`
		Gaps   struct{ Value []float64 } `json:"inter_chunk_latency"`
		Output struct{ Value int64 }     `json:"output_sequence_length"`
		Input  struct{ Value int64 }     `json:"input_sequence_length"`
	}
}

// record is what we would have recorded of the request. base is a wall-clock time in nanoseconds.
func (m *measuredRequest) record(base int64) *metrics.Record {
	at := m.Metadata.Start - base + int64(math.Round(m.Metrics.TTFT.Value*1e6))
	r := &metrics.Record{
		Streaming: true, Outcome: metrics.Success, InputSource: metrics.SourceUsage, OutputSource: metrics.SourceUsage,
		Usage:           metrics.Usage{Input: metrics.Tokens(m.Metrics.Input.Value), Output: metrics.Tokens(m.Metrics.Output.Value)},
		RequestedTokens: m.Metrics.Output.Value, Content: []int64{at},
		Time: metrics.Timeline{
			Sched: m.Metadata.Issue - base, Issue: m.Metadata.Issue - base, Start: m.Metadata.Start - base, FirstOutput: at,
			End: m.Metadata.End - base,
		},
	}
	for _, gap := range m.Metrics.Gaps.Value {
		at += int64(math.Round(gap * 1e6))
		r.Content = append(r.Content, at)
	}
	return r
}

// replay gives our collector the 40 requests that AIPerf measured, so that both reports are of the same run.
func replay(t *testing.T) *Report {
	t.Helper()
	c := NewCollector([]metrics.SLO{testSLO()})
	meta := testMeta()
	for line := range bytes.Lines(aiperfFile(t, "requests.jsonl")) {
		in := decode[measuredRequest](t, line)
		if len(c.samples) == 0 {
			meta.Epoch = time.Unix(0, in.Metadata.Start).Add(-time.Minute)
		}
		add(c, in.record(meta.Epoch.UnixNano()))
	}
	return c.Report(meta)
}

func TestTheSameRequestsGiveTheFiguresOfAIPerf(t *testing.T) {
	t.Parallel()
	theirs, ours := readProfile(t, aiperfFile(t, "profile_export_aiperf.json")), written(t, replay(t))
	// AIPerf begins when its phase does, we when the first request is wanted, some milliseconds later.
	windows := window(t, &ours) / window(t, &theirs)
	compared := 0
	for tag, want := range known(theirs.figures) {
		if strings.HasPrefix(tag, "http_req_") || tag == "effective_latency" {
			continue // not in the replayed data; defined otherwise
		}
		got := ours.figures[tag]
		if unit := want["unit"]; unit == "tokens/sec" || unit == "requests/sec" {
			got = map[string]any{"unit": got["unit"], "avg": got["avg"].(float64) * windows}
		}
		compared++
		margin := 1e-6
		if tag == "credit_to_start_latency" {
			margin = 1e-3 // AIPerf keeps wall-clock times as float64, in steps of 256 ns
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-6, margin)); diff != "" {
			t.Errorf("%s: -theirs +ours:\n%s", tag, diff)
		}
	}
	if compared < 35 {
		t.Errorf("only %d figures were compared", compared)
	}
}

// window is the length of a run, from the times in its file.
func window(t *testing.T, p *profile) float64 {
	t.Helper()
	var at [2]time.Time
	for i, text := range []string{p.StartTime, p.EndTime} {
		// AIPerf's times have no zone.
		parsed, err := time.Parse(time.RFC3339, strings.TrimSuffix(text, "Z")+"Z")
		if err != nil {
			t.Fatal(err)
		}
		at[i] = parsed
	}
	return at[1].Sub(at[0]).Seconds()
}

func TestAIPerfDividesByTheTimesOfItsFile(t *testing.T) {
	t.Parallel()
	theirs := readProfile(t, aiperfFile(t, "profile_export_aiperf.json"))
	got := theirs.figures["request_count"]["avg"].(float64) / theirs.figures["request_throughput"]["avg"].(float64)
	if want := window(t, &theirs); math.Abs(got-want) > 2e-6 {
		t.Errorf("count divided by throughput is %v s, end minus start is %v s", got, want)
	}
}
