package workload_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
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
		"a cache that nobody knows": {
			func(c *workload.Config) { c.Cache = "burst" },
			[]string{`w.cache: unknown cache "burst", must be bust, shared_prefix or repeat`},
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
			func(c *workload.Config) {
				c.InputTokens, c.OutputTokens, c.Cache = length{}, length{}, "x"
				c.RangeRatio.Style, c.Turns, c.Corpus, c.Batch, c.Passages.Tokens = "x", length{}, "x", 0, 0
			},
			[]string{
				"w.input_tokens: mean must be between 1 and 10000000 tokens, got 0",
				"w.output_tokens: mean must be between 1 and 10000000 tokens, got 0",
				`w.range_ratio.style: unknown style "x", must be vllm or sglang`,
				"w.turns: mean must be between 1 and 10000000 turns, got 0",
				`w.cache: unknown cache "x", must be bust, shared_prefix or repeat`,
				`w.corpus: unknown corpus "x", must be words, text or code`,
				"w.batch: must be between 1 and 2048, got 0",
				"w.passages.tokens: must be between 1 and 10000000, got 0",
			},
		},
		"a lognormal is valid": {func(c *workload.Config) { c.InputTokens = length{Mean: 100, Median: 60, Min: 10, Max: 1000} }, nil},
		"a mixture is valid": {
			func(c *workload.Config) {
				c.InputTokens = length{Peaks: []workload.Peak{{Mean: 10}, {Mean: 1000, Median: 500, Weight: 3}}}
			},
			nil,
		},
		"single values are valid": {func(c *workload.Config) { c.InputTokens = length{Points: []workload.Point{{Value: 5}}} }, nil},
		"a median above the mean": {
			func(c *workload.Config) { c.InputTokens.Median = 129 },
			[]string{"w.input_tokens.median: must be above 0 and not above the mean (128), got 129"},
		},
		"a median beside a spread": {
			func(c *workload.Config) { c.InputTokens.Median, c.InputTokens.Stddev = 100, 5 },
			[]string{"w.input_tokens.median: excludes stddev"},
		},
		"peaks beside a mean": {
			func(c *workload.Config) { c.InputTokens.Peaks = []workload.Peak{{Mean: 10}, {Mean: 20}} },
			[]string{"w.input_tokens.peaks: excludes mean"},
		},
		"points beside a median": {
			func(c *workload.Config) { c.InputTokens = length{Median: 5, Points: []workload.Point{{Value: 5}}} },
			[]string{"w.input_tokens.points: excludes median"},
		},
		"points beside peaks": {
			func(c *workload.Config) {
				c.InputTokens = length{Peaks: []workload.Peak{{Mean: 10}, {Mean: 20}}, Points: []workload.Point{{Value: 5}}}
			},
			[]string{"w.input_tokens.points: excludes peaks"},
		},
		"a mixture of one": {
			func(c *workload.Config) { c.InputTokens = length{Peaks: []workload.Peak{{Mean: 10}}} },
			[]string{"w.input_tokens.peaks: must be 2 to 1000 distributions, got 1"},
		},
		"wrong peaks are told by their index": {
			func(c *workload.Config) {
				c.InputTokens = length{Peaks: []workload.Peak{{Mean: 10, Weight: -1}, {}, {Mean: 5, Median: 6}}}
			},
			[]string{
				"w.input_tokens.peaks[0].weight: must be above 0, got -1",
				"w.input_tokens.peaks[1]: mean must be between 1 and 10000000 tokens, got 0",
				"w.input_tokens.peaks[2].median: must be above 0 and not above the mean (5), got 6",
			},
		},
		"wrong points are told by their index": {
			func(c *workload.Config) {
				c.InputTokens = length{Max: 10, Points: []workload.Point{{Value: 0}, {Value: 11}, {Value: 3, Weight: math.NaN()}}}
			},
			[]string{
				"w.input_tokens.points[0].value: must be between 1 and 10000000 tokens, got 0",
				"w.input_tokens.points[1].value: must be within min and max, got 11",
				"w.input_tokens.points[2].weight: must be above 0, got NaN",
			},
		},
		"a sequence is valid": {
			func(c *workload.Config) {
				c.Sequence = workload.Sequence{{InputTokens: length{Mean: 1}, OutputTokens: length{Mean: 2, Median: 1}, Weight: 5}}
			},
			nil,
		},
		"a sequence beside lengths": {
			func(c *workload.Config) {
				c.OutputTokens.Mean = 5
				c.Sequence = workload.Sequence{{InputTokens: length{Mean: 1}, OutputTokens: length{Mean: 2}}}
			},
			[]string{"w.sequence: excludes input_tokens and output_tokens"},
		},
		"a wrong pair is told by its index": {
			func(c *workload.Config) { c.Sequence = workload.Sequence{{InputTokens: length{Mean: 1}}} },
			[]string{"w.sequence[0].output_tokens: mean must be between 1 and 10000000 tokens, got 0"},
		},
		"a range around a spread": {
			func(c *workload.Config) { c.RangeRatio.Input, c.InputTokens.Stddev = 0.5, 3 },
			[]string{"w.range_ratio: needs a plain number in input_tokens and output_tokens"},
		},
		"a ratio of one in the style of vLLM": {
			func(c *workload.Config) { c.RangeRatio.Output = 1 },
			[]string{"w.range_ratio.output: must be at least 0 and below 1, got 1"},
		},
		"two ratios in the style of SGLang": {
			func(c *workload.Config) { c.RangeRatio = workload.RangeRatio{Input: 1, Style: "sglang"} },
			[]string{"w.range_ratio.output: must be that of input, style sglang has one ratio for both"},
		},
		"a ratio above one in the style of SGLang": {
			func(c *workload.Config) { c.RangeRatio = workload.RangeRatio{Input: 1.1, Output: 1.1, Style: "sglang"} },
			[]string{"w.range_ratio.input: must be between 0 and 1, got 1.1"},
		},
		"a shared prefix without any": {
			func(c *workload.Config) { c.Cache = "shared_prefix" },
			[]string{"w.cache: shared_prefix needs prefix.shared_tokens, prefix.pool, system_prompt or system_prompt_file"},
		},
		"a pool without a size": {
			func(c *workload.Config) { c.Prefix.Pool.Tokens = 5 },
			[]string{"w.prefix.pool: needs both size and tokens"},
		},
		"a pool that does not fit into memory": {
			func(c *workload.Config) { c.Prefix.Pool = workload.Pool{Size: 10_000, Tokens: 1001} },
			[]string{"w.prefix.pool: must hold at most 10000000 tokens in all, got 10010000"},
		},
		"a pool beside another prefix": {
			func(c *workload.Config) {
				c.Prefix = workload.Prefix{SharedTokens: 1, Pool: workload.Pool{Size: 1, Tokens: 1}}
			},
			[]string{"w.prefix.pool: excludes shared_tokens and per_session_tokens"},
		},
		"a prefix below zero": {
			func(c *workload.Config) { c.Prefix.PerSessionTokens = -1 },
			[]string{"w.prefix.per_session_tokens: must be between 0 (none) and 10000000, got -1"},
		},
		"two system prompts": {
			func(c *workload.Config) { c.SystemPrompt, c.SystemPromptFile = "a", "b" },
			[]string{"w.system_prompt_file: excludes system_prompt"},
		},
		"conversations are valid": {
			func(c *workload.Config) {
				c.Turns, c.TurnDelay = length{Mean: 3, Stddev: 1}, workload.Delay{Mean: time.Second, Median: time.Second / 2}
			},
			nil,
		},
		"think time without turns": {
			func(c *workload.Config) { c.TurnDelay.Mean = time.Second },
			[]string{"w.turn_delay: needs turns"},
		},
		"a think time that does not go together": {
			func(c *workload.Config) { c.TurnDelay = workload.Delay{Mean: 1, Stddev: 1, Median: 1} },
			[]string{"w.turn_delay.median: excludes stddev"},
		},
		"a median of think times above the mean": {
			func(c *workload.Config) { c.TurnDelay.Median = time.Second },
			[]string{"w.turn_delay.median: must not be above the mean (0s), got 1s"},
		},
		"a bound of think times below the mean": {
			func(c *workload.Config) { c.TurnDelay = workload.Delay{Mean: 2, Max: 1} },
			[]string{"w.turn_delay.max: must not be below the mean (2ns), got 1ns"},
		},
		"a think time of days": {
			func(c *workload.Config) { c.TurnDelay.Mean = 48 * time.Hour },
			[]string{"w.turn_delay: must be between 0 and 24h0m0s, got 48h0m0s"},
		},
		"too many turns": {
			func(c *workload.Config) { c.Turns.Mean = 10_001 },
			[]string{"w.turns: mean must be at most 10000 turns, got 10001"},
		},
		"prompts with pictures are valid": {
			func(c *workload.Config) { c.Prompts, c.Cache, c.Images.Count = []string{"what is this?"}, "repeat", 1 },
			nil,
		},
		"an empty prompt": {
			func(c *workload.Config) { c.Prompts = []string{"a", ""} },
			[]string{"w.prompts[1]: must not be empty"},
		},
		"prompts in turns": {
			func(c *workload.Config) { c.Prompts, c.Turns.Mean = []string{"a"}, 2 },
			[]string{"w.turns: is for made-up prompts, without prompts and dataset"},
		},
		"prompts beside a dataset": {
			func(c *workload.Config) {
				c.Prompts, c.Dataset.Format, c.Dataset.File = []string{"a"}, dataset.SingleTurn, "a.jsonl"
			},
			[]string{"w.prompts: excludes dataset"},
		},
		"a dataset is checked": {
			func(c *workload.Config) { c.Dataset.Format = dataset.SingleTurn },
			[]string{"w.dataset.file: must be named"},
		},
		"media of a dataset": {
			func(c *workload.Config) {
				c.Audio.Count, c.Dataset.Format, c.Dataset.File = 1, dataset.SingleTurn, "a.jsonl"
			},
			[]string{"w.images: media are for made-up prompts and prompts, without dataset"},
		},
		"passages in batches": {
			func(c *workload.Config) { c.Passages.Count, c.Batch = 2, 2 },
			[]string{"w.passages: excludes batch"},
		},
		"passages without a count": {
			func(c *workload.Config) { c.Passages.Tokens = 5 },
			[]string{"w.passages: needs count"},
		},
		"a picture without a count": {
			func(c *workload.Config) { c.Images.Width = 64 },
			[]string{"w.images.count: must be at least 1"},
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
