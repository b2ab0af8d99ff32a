package main

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"
)

// row is the truth about one request. Durations are in seconds, on the server's side of the socket.
type row struct {
	ID           string  `json:"id,omitempty"`
	Arrived      int64   `json:"arrived_ns"` // wall clock
	TTFT         float64 `json:"ttft"`
	ITL          float64 `json:"itl,omitempty"`
	Latency      float64 `json:"latency"` // arrived → last chunk with a token
	OutputTokens int     `json:"output_tokens"`
}

// newRow derives the truth from the instants at which the first and the last chunk were handed to the kernel.
func newRow(g *generation, first, last time.Time) row {
	r := row{
		ID: g.id, Arrived: g.arrived.UnixNano(), TTFT: first.Sub(g.arrived).Seconds(), Latency: last.Sub(g.arrived).Seconds(),
		OutputTokens: g.output,
	}
	if g.output > 1 {
		r.ITL = last.Sub(first).Seconds() / float64(g.output-1)
	}
	return r
}

// The timeline of chunks has so many steps of a fixed width; what is sent after its end counts in the last one.
const (
	timelineStep  = 100 * time.Millisecond
	timelineSteps = 6000
)

// truth collects what is known of all requests.
type truth struct {
	start    time.Time                   // of the timeline
	timeline [timelineSteps]atomic.Int64 // chunks handed to the kernel
	tokens   atomic.Int64                // in them
	shared   atomic.Bool                 // a connection carried both generation requests and looks at the page of metrics

	mu                sync.Mutex
	rows              []row
	requests, aborted int
	prompts           int // tokens of all requests
	open, peak        int
	first, last       time.Time // arrivals
}

// begin notes a generation request.
func (t *truth) begin(g *generation) {
	arrived := g.arrived
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	t.prompts += g.input
	t.open++
	t.peak = max(t.peak, t.open)
	if t.first.IsZero() || arrived.Before(t.first) {
		t.first = arrived
	}
	if arrived.After(t.last) {
		t.last = arrived
	}
}

// sent notes chunks and the tokens in them.
func (t *truth) sent(at time.Time, chunks, tokens int) {
	t.tokens.Add(int64(tokens))
	step := min(int(at.Sub(t.start)/timelineStep), timelineSteps-1)
	t.timeline[step].Add(int64(chunks))
}

// abort notes that the client went away.
func (t *truth) abort() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	t.aborted++
}

// add notes a stream that was written to its end.
func (t *truth) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	t.rows = append(t.rows, r)
}

// lines gives one JSON line per row.
func (t *truth) lines() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	for i := range t.rows {
		// A row holds only finite numbers and a string, and a buffer takes every write.
		_ = encoder.Encode(&t.rows[i])
	}
	return b.Bytes()
}

// report is what GET /truth answers. Durations are in seconds and, as output tokens, of completed streams.
type report struct {
	Requests     int          `json:"requests"`
	Completed    int          `json:"completed"`
	Aborted      int          `json:"aborted"`
	PeakOpen     int          `json:"peak_open"` // most requests at a time
	OutputTokens int          `json:"output_tokens"`
	TTFT         distribution `json:"ttft"`
	ITL          distribution `json:"itl"`
	Latency      distribution `json:"latency"`
	First        int64        `json:"first_arrival_ns"` // wall clock
	Last         int64        `json:"last_arrival_ns"`
	Timeline     timeline     `json:"timeline"`
	Shared       bool         `json:"shared_connection"` // one carried both generation requests and looks at the page of metrics
}

// timeline counts chunks by the step in which they were handed to the kernel, up to the last one with any.
type timeline struct {
	Start  int64   `json:"start_ns"` // wall clock
	Step   int64   `json:"step_ns"`
	Chunks []int64 `json:"chunks"`
}

func (t *truth) report() report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := report{
		Requests: t.requests, Completed: len(t.rows), Aborted: t.aborted, PeakOpen: t.peak,
		Timeline: timeline{Start: t.start.UnixNano(), Step: timelineStep.Nanoseconds(), Chunks: t.chunks()}, Shared: t.shared.Load(),
	}
	if t.requests > 0 {
		r.First, r.Last = t.first.UnixNano(), t.last.UnixNano()
	}
	ttft, itl, latency := make([]float64, 0, len(t.rows)), make([]float64, 0, len(t.rows)), make([]float64, 0, len(t.rows))
	for i := range t.rows {
		known := &t.rows[i]
		r.OutputTokens += known.OutputTokens
		ttft = append(ttft, known.TTFT)
		latency = append(latency, known.Latency)
		if known.OutputTokens > 1 {
			itl = append(itl, known.ITL)
		}
	}
	r.TTFT, r.ITL, r.Latency = newDistribution(ttft), newDistribution(itl), newDistribution(latency)
	return r
}

func (t *truth) chunks() []int64 {
	var chunks []int64
	for i := range t.timeline {
		if n := t.timeline[i].Load(); n > 0 {
			chunks = append(append(chunks, make([]int64, i-len(chunks))...), n)
		}
	}
	return chunks
}
