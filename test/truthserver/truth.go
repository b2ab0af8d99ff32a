package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
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

// newRow derives the truth from the instants at which chunks were handed to the kernel.
func newRow(g *generation, chunks []time.Time) row {
	first, last := chunks[0], chunks[len(chunks)-1]
	r := row{
		ID: g.id, Arrived: g.arrived.UnixNano(), TTFT: first.Sub(g.arrived).Seconds(), Latency: last.Sub(g.arrived).Seconds(),
		OutputTokens: g.output,
	}
	if g.output > 1 {
		r.ITL = last.Sub(first).Seconds() / float64(g.output-1)
	}
	return r
}

// truth collects rows.
type truth struct {
	mu                sync.Mutex
	rows              []row
	requests, aborted int
}

// begin notes a generation request.
func (t *truth) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
}

// abort notes that the client went away.
func (t *truth) abort() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.aborted++
}

// add notes a stream that was written to its end.
func (t *truth) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
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

// report is what GET /truth answers.
type report struct {
	Requests     int `json:"requests"`
	Completed    int `json:"completed"`
	Aborted      int `json:"aborted"`
	OutputTokens int `json:"output_tokens"` // of completed streams
	TTFT         struct {
		P50 float64 `json:"p50"`
	} `json:"ttft"`
}

func (t *truth) report() report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := report{Requests: t.requests, Completed: len(t.rows), Aborted: t.aborted}
	ttft := make([]float64, 0, len(t.rows))
	for i := range t.rows {
		r.OutputTokens += t.rows[i].OutputTokens
		ttft = append(ttft, t.rows[i].TTFT)
	}
	r.TTFT.P50 = median(ttft)
	return r
}

// median sorts values; that of an even number is between the two in the middle, that of none is 0.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
