package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// distribution sums up one measure of all requests, in seconds.
type distribution struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

// truth is what the server knows of a run; see its own documentation.
type truth struct {
	Requests  int          `json:"requests"`
	Completed int          `json:"completed"`
	PeakOpen  int          `json:"peak_open"`
	TTFT      distribution `json:"ttft"`
	ITL       distribution `json:"itl"`
	First     int64        `json:"first_arrival_ns"`
	Last      int64        `json:"last_arrival_ns"`
	Timeline  struct {
		Start  int64   `json:"start_ns"`
		Step   int64   `json:"step_ns"`
		Chunks []int64 `json:"chunks"`
	} `json:"timeline"`
}

func askTruth(ctx context.Context, host string) (truth, error) {
	var t truth
	body, err := scrape.Bytes(ctx, "http://"+host+"/truth", "application/json")
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(body, &t); err != nil {
		return t, fmt.Errorf("the server's truth: %w", err)
	}
	return t, nil
}

// chunks is the number of all that were sent.
func (t *truth) chunks() int64 {
	sum := int64(0)
	for _, n := range t.Timeline.Chunks {
		sum += n
	}
	return sum
}

// reached is the rate of chunks per second while the load was meant to be whole: from one answer's length after the first arrival, by
// when streams that begin evenly spread have all begun, until the last arrival, after which streams only end. It is 0 where that is
// less than one step of the timeline.
func (t *truth) reached(answer time.Duration) float64 {
	if t.Timeline.Step <= 0 {
		return 0
	}
	first := (t.First + answer.Nanoseconds() - t.Timeline.Start + t.Timeline.Step - 1) / t.Timeline.Step
	last := min((t.Last-t.Timeline.Start)/t.Timeline.Step, int64(len(t.Timeline.Chunks)))
	if first < 0 || first >= last {
		return 0
	}
	sum := int64(0)
	for _, n := range t.Timeline.Chunks[first:last] {
		sum += n
	}
	return float64(sum) / time.Duration((last-first)*t.Timeline.Step).Seconds()
}
