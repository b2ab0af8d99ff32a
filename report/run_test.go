package report

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const ms = int64(time.Millisecond)

func testSLO() metrics.SLO {
	return metrics.SLO{
		Name: "interactive", Objective: 0.9, CountDrops: true,
		Thresholds: []metrics.Threshold{
			{Metric: metrics.SLOTimeToFirstToken, Limit: float64(60 * ms)},
			{Metric: metrics.SLOInterTokenLatency, Limit: float64(12 * ms)},
		},
	}
}

func testMeta() Meta {
	return Meta{
		ID: "0123456789ab", Version: "1.0.0", Command: "aiperf-exporter run --target llama-prod --requests 40",
		Target: "llama-prod", URL: "http://127.0.0.1:8000/", Model: "meta-llama/Llama-3.1-8B-Instruct",
		Endpoint: "chat", Streaming: true, Seed: 7, Epoch: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
		Workload: Workload{Name: "short-chat", InputTokens: Length{Mean: 36, Stddev: 4}, OutputTokens: Length{Mean: 32}},
		Load:     Load{Mode: "constant", Rate: 10, MaxInFlight: 4, Requests: 40},
	}
}

// stream is a successful request that began at the given millisecond of the second second (instant 0 means that something did not happen),
// got content at the given offsets, and ended 2 ms after.
func stream(startMs int64, contentMs ...int64) *metrics.Record {
	start := (1000 + startMs) * ms
	r := &metrics.Record{
		RequestID: fmt.Sprintf("request-%d", startMs), Streaming: true, Outcome: metrics.Success, Status: 200, Finish: metrics.FinishLength,
		Usage:       metrics.Usage{Input: metrics.Tokens(36), Output: metrics.Tokens(int64(len(contentMs)))},
		InputSource: metrics.SourceUsage, OutputSource: metrics.SourceUsage,
		RequestedTokens: int64(len(contentMs)), ConnObtained: true, ConnReused: true, RequestBytes: 256, ResponseBytes: 4096,
		Time: metrics.Timeline{Sched: start, Issue: start, Start: start, ConnStart: start, ConnDone: start, Sent: start + ms/10},
	}
	for _, at := range contentMs {
		r.Content = append(r.Content, start+at*ms)
	}
	t := &r.Time
	t.FirstByte, t.Header, t.FirstEvent = start+ms, start+ms, start+ms
	t.FirstOutput = r.Content[0]
	t.End = r.Content[len(r.Content)-1] + 2*ms
	return r
}

// failure is a request that failed after 5 ms.
func failure(startMs int64, class metrics.ErrorClass, status int, detail string) *metrics.Record {
	start := (1000 + startMs) * ms
	return &metrics.Record{
		RequestID: fmt.Sprintf("request-%d", startMs), Streaming: true, Outcome: metrics.Failure, Class: class, Status: status, Detail: detail,
		InputSource: metrics.SourceNone, OutputSource: metrics.SourceNone,
		Time: metrics.Timeline{Sched: start, Issue: start, Start: start, End: start + 5*ms},
	}
}

// add hands records to a collector, as the generator does.
func add(c *Collector, records ...*metrics.Record) {
	for _, r := range records {
		m := metrics.Measure(r)
		verdicts := make([]metrics.Verdict, 0, len(c.slos))
		for i := range c.slos {
			verdicts = append(verdicts, c.slos[i].Evaluate(r, &m))
		}
		c.Add(r, &m, verdicts)
	}
}

// mixedRun is a run with something of everything: warm-up, successes, failures, a cancelled request, drops.
func mixedRun() *Report {
	c := NewCollector([]metrics.SLO{testSLO()})
	random := rand.New(rand.NewPCG(1, 2))
	for i := range int64(40) {
		start := i * 100
		content := make([]int64, 21+random.Int64N(20))
		content[0] = 50 + random.Int64N(12)
		for j := range content[1:] {
			content[j+1] = content[j] + 9 + random.Int64N(3)
		}
		r := stream(start, content...)
		r.Warmup = i < 2
		r.Time.Start += random.Int64N(ms)
		if i%4 == 0 {
			r.ConnReused = false
			r.Time.ConnDone += 3 * ms
			r.Time.ConnectStart, r.Time.ConnectDone = r.Time.ConnStart, r.Time.ConnDone
			r.Time.Sent = r.Time.ConnDone
		}
		add(c, r)
	}
	add(c, failure(4000, metrics.ErrHTTP5xx, 503, "worker\ncrashed\x1b[31m"),
		failure(4100, metrics.ErrHTTP5xx, 503, "another detail of the same class"),
		failure(4200, metrics.ErrConnect, 0, "dial tcp 127.0.0.1:8000: connect: connection refused"))
	cancelled := failure(4300, "", 0, "")
	cancelled.Outcome = metrics.Cancelled
	add(c, cancelled)
	c.AddDrop(metrics.DropInFlight, 3)
	c.AddDrop(metrics.DropBudget, 1)
	return c.Report(testMeta())
}
