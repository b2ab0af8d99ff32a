package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// figures are what a tool says about the requests that succeeded.
type figures struct {
	requests  int
	ttft, itl distribution
}

// aiperfExport is the part of AIPerf's profile_export_aiperf.json, and of the exporter's file in its shape, that is compared.
type aiperfExport struct {
	Requests struct {
		Count float64 `json:"avg"`
	} `json:"request_count"`
	TTFT aiperfMetric `json:"time_to_first_token"`
	ITL  aiperfMetric `json:"inter_token_latency"`
}

// aiperfMetric is in milliseconds.
type aiperfMetric struct {
	Unit string  `json:"unit"`
	Mean float64 `json:"avg"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

var errUnit = errors.New("not in milliseconds")

func readAIPerf(file string) (figures, error) {
	var export aiperfExport
	if err := readJSON(file, &export); err != nil {
		return figures{}, err
	}
	if export.TTFT.Unit != "ms" || export.ITL.Unit != "ms" {
		return figures{}, fmt.Errorf("%s: %w", file, errUnit)
	}
	return figures{
		requests: int(export.Requests.Count),
		ttft:     milliseconds(export.TTFT.Mean, export.TTFT.P50, export.TTFT.P99),
		itl:      milliseconds(export.ITL.Mean, export.ITL.P50, export.ITL.P99),
	}, nil
}

// guidellmExport is the part of guidellm's JSON that is compared.
type guidellmExport struct {
	Benchmarks []struct {
		Metrics struct {
			Totals struct {
				Successful int `json:"successful"`
			} `json:"request_totals"`
			TTFT guidellmMetric `json:"time_to_first_token_ms"`
			ITL  guidellmMetric `json:"inter_token_latency_ms"`
		} `json:"metrics"`
	} `json:"benchmarks"`
}

type guidellmMetric struct {
	Successful struct {
		Mean        float64 `json:"mean"`
		Percentiles struct {
			P50 float64 `json:"p50"`
			P99 float64 `json:"p99"`
		} `json:"percentiles"`
	} `json:"successful"`
}

var errBenchmarks = errors.New("not exactly one benchmark")

func readGuidellm(file string) (figures, error) {
	var export guidellmExport
	if err := readJSON(file, &export); err != nil {
		return figures{}, err
	}
	if len(export.Benchmarks) != 1 {
		return figures{}, fmt.Errorf("%s: %w", file, errBenchmarks)
	}
	m := &export.Benchmarks[0].Metrics
	of := func(m guidellmMetric) distribution {
		return milliseconds(m.Successful.Mean, m.Successful.Percentiles.P50, m.Successful.Percentiles.P99)
	}
	return figures{requests: m.Totals.Successful, ttft: of(m.TTFT), itl: of(m.ITL)}, nil
}

// milliseconds gives a distribution of values in milliseconds.
func milliseconds(mean, p50, p99 float64) distribution {
	const second = float64(time.Second / time.Millisecond)
	return distribution{Mean: mean / second, P50: p50 / second, P99: p99 / second}
}

func readJSON(file string, v any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
