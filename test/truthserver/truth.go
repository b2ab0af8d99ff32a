package main

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"
)

// row is the truth about one request. Durations are in seconds, on the server's side of the socket.
type row struct {
	ID           string    `json:"id,omitempty"`
	Arrived      int64     `json:"arrived_ns"` // wall clock
	TTFT         float64   `json:"ttft"`
	ITL          float64   `json:"itl,omitempty"`
	Gaps         []float64 `json:"-"`
	Latency      float64   `json:"latency"` // arrived → last chunk with a token
	InputTokens  int       `json:"input_tokens"`
	OutputTokens int       `json:"output_tokens"`
}

// newRow derives the truth from the instants at which chunks were handed to the kernel.
func newRow(g *generation, chunks []time.Time) row {
	first, last := chunks[0], chunks[len(chunks)-1]
	r := row{
		ID: g.id, Arrived: g.arrived.UnixNano(), TTFT: first.Sub(g.arrived).Seconds(), Latency: last.Sub(g.arrived).Seconds(),
		InputTokens: g.input, OutputTokens: g.output,
	}
	if g.output > 1 {
		r.ITL = last.Sub(first).Seconds() / float64(g.output-1)
	}
	for i := 1; i < len(chunks); i++ {
		r.Gaps = append(r.Gaps, chunks[i].Sub(chunks[i-1]).Seconds())
	}
	return r
}

// truth collects rows.
type truth struct {
	mu                              sync.Mutex
	rows                            []row
	requests, aborted, open, opened int
}

// begin notes a generation request; the function it gives is called when the request has ended.
func (t *truth) begin() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	t.open++
	t.opened = max(t.opened, t.open)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.open--
	}
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

func (t *truth) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.requests, t.aborted, t.opened = nil, 0, 0, t.open
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
	Requests     int          `json:"requests"`
	Completed    int          `json:"completed"` // streams only
	Aborted      int          `json:"aborted"`
	PeakInFlight int          `json:"peak_in_flight"`
	InputTokens  int          `json:"input_tokens"` // of completed streams
	OutputTokens int          `json:"output_tokens"`
	TTFT         distribution `json:"ttft"`
	ITL          distribution `json:"itl"`
	Gap          distribution `json:"gap"`
	Latency      distribution `json:"latency"`
	Interarrival distribution `json:"interarrival"`
}

func (t *truth) report() report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := report{Requests: t.requests, Completed: len(t.rows), Aborted: t.aborted, PeakInFlight: t.opened}
	column := func() []float64 { return make([]float64, 0, len(t.rows)) }
	ttft, itl, gap, latency, interarrival, arrived := column(), column(), column(), column(), column(), column()
	for i := range t.rows {
		row := &t.rows[i]
		r.InputTokens += row.InputTokens
		r.OutputTokens += row.OutputTokens
		ttft = append(ttft, row.TTFT)
		if row.OutputTokens > 1 {
			itl = append(itl, row.ITL)
		}
		gap = append(gap, row.Gaps...)
		latency = append(latency, row.Latency)
		arrived = append(arrived, float64(row.Arrived-t.rows[0].Arrived)/1e9)
	}
	slices.Sort(arrived)
	for i := 1; i < len(arrived); i++ {
		interarrival = append(interarrival, arrived[i]-arrived[i-1])
	}
	r.TTFT, r.ITL, r.Gap = distributionOf(ttft), distributionOf(itl), distributionOf(gap)
	r.Latency, r.Interarrival = distributionOf(latency), distributionOf(interarrival)
	return r
}

// distribution summarises values in seconds.
type distribution struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// distributionOf sorts values. Quantiles are interpolated at rank q·(n−1).
func distributionOf(values []float64) distribution {
	if len(values) == 0 {
		return distribution{}
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	quantile := func(q float64) float64 {
		whole, part := math.Modf(q * float64(len(values)-1))
		i := int(whole)
		return values[i] + part*(values[min(i+1, len(values)-1)]-values[i])
	}
	return distribution{
		Count: len(values), Mean: sum / float64(len(values)),
		P50: quantile(.5), P90: quantile(.9), P99: quantile(.99), Max: values[len(values)-1],
	}
}
