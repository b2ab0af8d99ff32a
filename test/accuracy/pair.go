package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// listening is what the truth server writes first.
var listening = regexp.MustCompile(`(?m)^(127\.0\.0\.1:\d+)$`)

// configuration of the target: output tokens, source of arrival instants, rate, URL. A connection is opened once, so that TCP is no part of the latencies.
const configuration = `
workloads:
  fixed: {input_tokens: 50, output_tokens: %d}
http_clients:
  kept: {reuse: keepalive, timestamps: %s}
loads:
  steady: {mode: constant, rate: %g, max_in_flight: 500, warmup_requests: %d}
targets:
  - {name: truth, url: %q, model: truth, endpoint: {type: chat}, workload: fixed, load: steady, client: kept}
`

// warmupRequests open the connections that the measured ones use.
const warmupRequests = 40

// latencies of one request in milliseconds.
type latencies struct{ ttft, itl, latency float64 }

// pair is one request as the server knows it and as the exporter measured it.
type pair struct {
	truth, ours latencies
	// there and back are the two parts of the error of TTFT in milliseconds: from the start of our clock until the request is at the
	// server's socket, and from the server's handing out the first token until the instant that we took for its arrival.
	there, back float64
}

// truthRow is the server's line about a request; in seconds.
type truthRow struct {
	ID           string  `json:"id"`
	Arrived      int64   `json:"arrived_ns"`
	TTFT         float64 `json:"ttft"`
	ITL          float64 `json:"itl"`
	Latency      float64 `json:"latency"`
	OutputTokens int     `json:"output_tokens"`
}

// ourRow is the exporter's line about a request; in milliseconds.
type ourRow struct {
	Metadata struct {
		ID    string `json:"x_request_id"`
		Start int64  `json:"request_start_ns"`
		Phase string `json:"benchmark_phase"`
	} `json:"metadata"`
	Metrics struct {
		TTFT         value `json:"time_to_first_token"`
		ITL          value `json:"inter_token_latency"`
		Latency      value `json:"request_latency"`
		OutputTokens value `json:"output_sequence_length"`
	} `json:"metrics"`
}

type value struct {
	Value float64 `json:"value"`
}

// join reads both sides and puts them together by request. Beside the warm-up, a request that only one side knows, or whose tokens they count differently,
// is an error.
func join(ctx context.Context, url, file string, warmup int) ([]pair, error) {
	theirs, err := scrape.Bytes(ctx, url, "application/jsonl")
	if err != nil {
		return nil, err
	}
	truths, err := lines[truthRow](theirs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	records, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	ours, err := lines[ourRow](records)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	ours = slices.DeleteFunc(ours, func(r ourRow) bool { return r.Metadata.Phase == "warmup" })
	if known := len(truths) - warmup; known != len(ours) || len(ours) == 0 {
		return nil, fmt.Errorf("the server knows %d requests, the exporter recorded %d", known, len(ours))
	}
	byID := make(map[string]truthRow, len(truths))
	for _, t := range truths {
		byID[t.ID] = t
	}
	pairs := make([]pair, 0, len(ours))
	for i := range ours {
		id, m := ours[i].Metadata.ID, &ours[i].Metrics
		truth, ok := byID[id]
		if !ok {
			return nil, fmt.Errorf("the server had no request %q", id)
		}
		if m.OutputTokens.Value != float64(truth.OutputTokens) {
			return nil, fmt.Errorf("request %q: %v output tokens recorded, %d sent", id, m.OutputTokens.Value, truth.OutputTokens)
		}
		p := pair{
			truth: latencies{truth.TTFT * 1e3, truth.ITL * 1e3, truth.Latency * 1e3},
			ours:  latencies{m.TTFT.Value, m.ITL.Value, m.Latency.Value},
			there: float64(truth.Arrived-ours[i].Metadata.Start) / 1e6,
		}
		p.back = p.ours.ttft - p.truth.ttft - p.there
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// lines decodes JSON lines.
func lines[T any](b []byte) ([]T, error) {
	var rows []T
	decoder := json.NewDecoder(bytes.NewReader(b))
	for {
		var row T
		err := decoder.Decode(&row)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}
