package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

var update = flag.Bool("update", false, "write the golden files again")

// runs are what the writers are shown with.
func runs() map[string]func() *Report {
	return map[string]func() *Report{"mixed": mixedRun, "failed": failedRun, "plain": plainRun, "reasoning": reasoningRun, "powered": poweredRun}
}

// poweredRun has GPUs, of one of which the energy is not known, and a server.
func poweredRun() *Report {
	unknown := gpu(1, "GPU-b")
	unknown.Energy = metrics.Value{}
	r := measuredRun(gpu(0, "GPU-a"), unknown)
	meta := r.Meta
	meta.Servers = NewServerWindow(5 * time.Second)
	for _, second := range []int64{1, 5} {
		meta.Servers.Observe(meta.Target, "10.0.0.1:8000", second*1e9, page(1000+100*float64(second)))
	}
	c := NewCollector(nil)
	for _, s := range r.samples {
		record := s.record
		for i := range int64(20) {
			record.Content = append(record.Content, record.Time.Start+(50+10*i)*ms)
		}
		add(c, &record)
	}
	return c.Report(meta)
}

// failedRun has no success, hence no figure of one.
func failedRun() *Report {
	c := NewCollector([]metrics.SLO{testSLO()})
	for i := range int64(5) {
		add(c, failure(i*1000, metrics.ErrConnect, 0, "dial tcp 127.0.0.1:8000: connect: connection refused"))
	}
	return c.Report(testMeta())
}

// plainRun has one request that was not streamed, and no SLO.
func plainRun() *Report {
	c := NewCollector(nil)
	r := stream(0, 500)
	r.Streaming = false
	r.Usage.Output, r.RequestedTokens = metrics.Tokens(20), 0
	add(c, r)
	meta := testMeta()
	meta.Streaming, meta.Workload.OutputTokens = false, Length{}
	meta.Load = Load{Mode: "poisson", Rate: 0.5, Duration: 2e9}
	return c.Report(meta)
}

// reasoningRun has everything that makes a note: reasoning, estimates, bundled and coalesced tokens, late sending, an interruption.
func reasoningRun() *Report {
	c := NewCollector([]metrics.SLO{{
		Name: "fast", Objective: 0.999,
		Thresholds: []metrics.Threshold{{Metric: metrics.SLOPerUserThroughput, Limit: 20}},
	}})
	for i := range int64(120) {
		r := stream(i*50, 120, 140, 160, 160, 230, 260)
		r.Time.FirstOutput = r.Content[4]
		r.Usage = metrics.Usage{
			Input: metrics.Tokens(1500 + i), Output: metrics.Tokens(12), Reasoning: metrics.Tokens(8), CachedInput: metrics.Tokens(1024),
		}
		r.RequestedTokens, r.Coalesced = 64, 1
		r.Time.Sched -= 40 * ms * (i % 3)
		r.Time.Issue -= 20 * ms
		switch {
		case i < 3:
			r.OutputSource = metrics.SourceEvents
		case i < 4:
			r.OutputSource, r.Usage.Output = metrics.SourceNone, metrics.Count{}
		case i < 6:
			r.InputSource = metrics.SourceDataset
		case i < 8:
			r.InputSource, r.OutputSource = metrics.SourceTokenizer, metrics.SourceTokenizer
		}
		add(c, r)
	}
	meta := testMeta()
	meta.Interrupted = true
	return c.Report(meta)
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	writers := map[string]func(*Report, io.Writer) error{
		"80.txt":  func(r *Report, w io.Writer) error { return r.WriteTable(w, 80) },
		"120.txt": func(r *Report, w io.Writer) error { return r.WriteTable(w, 120) },
		"json":    func(r *Report, w io.Writer) error { return WriteJSON(w, r) },
		"csv":     (*Report).WriteCSV,
		"jsonl":   (*Report).WriteRecords,
	}
	for run, make := range runs() {
		r := make()
		for kind, write := range writers {
			if kind == "jsonl" && run != "plain" && run != "failed" {
				continue // many lines of one kind
			}
			name := run + "." + kind
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var got bytes.Buffer
				if err := write(r, &got); err != nil {
					t.Fatal(err)
				}
				golden(t, name, got.Bytes())
			})
		}
	}
}

// golden compares got with a file, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: -want +got:\n%s", path, diff)
	}
}

func TestOneReportIsAnObjectAndSeveralAreAnArray(t *testing.T) {
	t.Parallel()
	var one, two bytes.Buffer
	if err := WriteJSON(&one, plainRun()); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&two, plainRun(), plainRun()); err != nil {
		t.Fatal(err)
	}
	single := decode[map[string]any](t, one.Bytes())
	if diff := cmp.Diff([]map[string]any{single, single}, decode[[]map[string]any](t, two.Bytes())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
