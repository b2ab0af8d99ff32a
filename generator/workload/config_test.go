package workload_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	type length = workload.Length
	tests := map[string]struct {
		change func(*workload.Config)
		want   []string // nil = valid
	}{
		"the default is valid":      {func(*workload.Config) {}, nil},
		"a plain number is valid":   {func(c *workload.Config) { c.InputTokens = length{Mean: 1} }, nil},
		"a bounded normal is valid": {func(c *workload.Config) { c.InputTokens = length{Mean: 10, Stddev: 5, Min: 10, Max: 10} }, nil},
		"an answer without a limit": {
			func(c *workload.Config) { c.OutputTokens.Mean = 0 },
			[]string{"w.output_tokens: mean must be between 1 and 10000000 tokens, got 0"},
		},
		"a length that is not a number": {
			func(c *workload.Config) { c.InputTokens.Mean = math.NaN() },
			[]string{"w.input_tokens: mean must be between 1 and 10000000 tokens, got NaN"},
		},
		"an absurd length": {
			func(c *workload.Config) { c.InputTokens.Mean = math.Inf(1) },
			[]string{"w.input_tokens: mean must be between 1 and 10000000 tokens, got +Inf"},
		},
		"a negative spread": {
			func(c *workload.Config) { c.InputTokens.Stddev = -1 },
			[]string{"w.input_tokens.stddev: must be between 0 and 10000000 tokens, got -1"},
		},
		"bounds below zero are told before anything that follows from them": {
			func(c *workload.Config) { c.InputTokens.Min, c.InputTokens.Max = -1, -2 },
			[]string{
				"w.input_tokens.min: must be between 0 and 10000000 tokens, got -1",
				"w.input_tokens.max: must be between 0 (no bound) and 10000000 tokens, got -2",
			},
		},
		"crossed bounds": {
			func(c *workload.Config) { c.InputTokens = length{Mean: 50, Stddev: 1, Min: 60, Max: 40} },
			[]string{"w.input_tokens.max: must not be below min (60), got 40"},
		},
		"a mean below min": {
			func(c *workload.Config) { c.InputTokens.Min = 129 },
			[]string{"w.input_tokens.min: must not be above the mean (128), got 129"},
		},
		"a mean above max": {
			func(c *workload.Config) { c.OutputTokens.Max = 63 },
			[]string{"w.output_tokens.max: must not be below the mean (64), got 63"},
		},
		"a cache of a later version is told as such": {
			func(c *workload.Config) { c.Cache = "shared_prefix" },
			[]string{`w.cache: cache "shared_prefix" is not available in this version, use bust`},
		},
		"another cache of a later version": {
			func(c *workload.Config) { c.Cache = "repeat" },
			[]string{`w.cache: cache "repeat" is not available in this version, use bust`},
		},
		"a cache that nobody knows": {
			func(c *workload.Config) { c.Cache = "burst" },
			[]string{`w.cache: unknown cache "burst", must be bust`},
		},
		"extra that is JSON is valid": {
			func(c *workload.Config) { c.Extra = map[string]any{"temperature": 0, "stop": []any{"a"}} },
			nil,
		},
		"extra that is no JSON": {
			func(c *workload.Config) { c.Extra = map[string]any{"temperature": math.NaN()} },
			[]string{"w.extra: cannot be written as JSON: json: unsupported value: NaN"},
		},
		"every mistake is told at once": {
			func(c *workload.Config) { *c = workload.Config{Cache: "x"} },
			[]string{
				"w.input_tokens: mean must be between 1 and 10000000 tokens, got 0",
				"w.output_tokens: mean must be between 1 and 10000000 tokens, got 0",
				`w.cache: unknown cache "x", must be bust`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := workload.DefaultConfig()
			test.change(&c)
			got := ""
			if err := errors.Join(c.Validate("w")...); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(strings.Join(test.want, "\n"), got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
