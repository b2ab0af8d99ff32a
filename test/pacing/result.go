package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// result is what a run gave.
type result struct {
	arrivals []int64   // at the server's socket, ascending, in nanoseconds
	lags     []float64 // from the wished instant to the start, ascending, in milliseconds
	dropped  int       // arrivals that were not sent
}

// read takes the arrivals from the server, lags and drops from the folder of the exporter's report.
func read(ctx context.Context, url, folder string) (*result, error) {
	theirs, err := scrape.Bytes(ctx, url, "application/jsonl")
	if err != nil {
		return nil, err
	}
	r := &result{}
	err = each(theirs, func(row struct {
		Arrived int64 `json:"arrived_ns"`
	},
	) {
		r.arrivals = append(r.arrivals, row.Arrived)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	file := filepath.Join(folder, "profile_export.jsonl")
	ours, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	err = each(ours, func(row struct {
		Metadata struct {
			Start int64 `json:"request_start_ns"`
		} `json:"metadata"`
		Exporter struct {
			Scheduled int64 `json:"scheduled_ns"`
		} `json:"exporter"`
	},
	) {
		r.lags = append(r.lags, float64(row.Metadata.Start-row.Exporter.Scheduled)/1e6)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	slices.Sort(r.arrivals)
	slices.Sort(r.lags)
	if len(r.arrivals) < 2 || len(r.lags) != len(r.arrivals) {
		return nil, fmt.Errorf("the server knows %d requests, the exporter recorded %d", len(r.arrivals), len(r.lags))
	}
	return r, r.readDrops(filepath.Join(folder, "profile_export_aiperf.json"))
}

func (r *result) readDrops(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var report struct {
		Exporter struct {
			Dropped map[string]int `json:"dropped"`
		} `json:"exporter"`
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, n := range report.Exporter.Dropped {
		r.dropped += n
	}
	return nil
}

// each decodes JSON lines.
func each[T any](b []byte, take func(T)) error {
	decoder := json.NewDecoder(bytes.NewReader(b))
	for {
		var row T
		switch err := decoder.Decode(&row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		take(row)
	}
}

// lag is a quantile of the lags in milliseconds.
func (r *result) lag(q float64) float64 {
	return r.lags[int(q*float64(len(r.lags)-1))]
}

// gaps are the times between arrivals, in seconds.
type gaps []float64

func (r *result) gaps() gaps {
	out := make(gaps, len(r.arrivals)-1)
	for i := range out {
		out[i] = float64(r.arrivals[i+1]-r.arrivals[i]) / 1e9
	}
	return out
}

func (g gaps) mean() float64 {
	sum := 0.0
	for _, gap := range g {
		sum += gap
	}
	return sum / float64(len(g))
}

// cv is the coefficient of variation.
func (g gaps) cv() float64 {
	mean, sum := g.mean(), 0.0
	for _, gap := range g {
		sum += (gap - mean) * (gap - mean)
	}
	return math.Sqrt(sum/float64(len(g))) / mean
}
