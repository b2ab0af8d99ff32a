package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

func TestASingleValueStandsForABlockOfAWorkload(t *testing.T) {
	t.Parallel()
	type length = workload.Length
	for name, test := range map[string]struct {
		files []string // what stands under the workload, by file
		want  func(*workload.Config)
	}{
		"a number is a mean": {[]string{"input_tokens: 5"}, func(c *workload.Config) { c.InputTokens = length{Mean: 5} }},
		"a spread goes with the mean of the defaults": {
			[]string{"input_tokens: {stddev: 5}"}, func(c *workload.Config) { c.InputTokens.Stddev = 5 },
		},
		"peaks replace the mean of the defaults": {
			[]string{"input_tokens: {peaks: [{mean: 5}, {mean: 9, weight: 2}], max: 8}"},
			func(c *workload.Config) {
				c.InputTokens = length{Peaks: []workload.Peak{{Mean: 5}, {Mean: 9, Weight: 2}}, Max: 8}
			},
		},
		"points replace what an earlier file has": {
			[]string{"input_tokens: {mean: 100, median: 50}", "input_tokens: {points: [{value: 3}]}"},
			func(c *workload.Config) { c.InputTokens = length{Points: []workload.Point{{Value: 3}}} },
		},
		"a mean replaces the points of an earlier file": {
			[]string{"input_tokens: {points: [{value: 3}]}", "input_tokens: {mean: 7, stddev: 2}"},
			func(c *workload.Config) { c.InputTokens = length{Mean: 7, Stddev: 2} },
		},
		"a median replaces the spread of an earlier file": {
			[]string{"input_tokens: {mean: 9, stddev: 2}", "input_tokens: {median: 7}"},
			func(c *workload.Config) { c.InputTokens = length{Mean: 9, Median: 7} },
		},
		"a number replaces all that an earlier file has": {
			[]string{"input_tokens: {peaks: [{mean: 5}, {mean: 9}], min: 3}", "input_tokens: 4"},
			func(c *workload.Config) { c.InputTokens = length{Mean: 4} },
		},
		"a text is a sequence": {
			[]string{`sequence: "128|10,64|5:40;512,128:60"`},
			func(c *workload.Config) {
				c.Sequence = workload.Sequence{
					{InputTokens: length{Mean: 128, Stddev: 10}, OutputTokens: length{Mean: 64, Stddev: 5}, Weight: 40},
					{InputTokens: length{Mean: 512}, OutputTokens: length{Mean: 128}, Weight: 60},
				}
			},
		},
		"a list is a sequence, too": {
			[]string{`sequence: [{input_tokens: 5, output_tokens: {mean: 6, median: 3}}]`},
			func(c *workload.Config) {
				c.Sequence = workload.Sequence{{InputTokens: length{Mean: 5}, OutputTokens: length{Mean: 6, Median: 3}}}
			},
		},
		"a number is both ratios": {
			[]string{"range_ratio: 0.5"}, func(c *workload.Config) { c.RangeRatio.Input, c.RangeRatio.Output = 0.5, 0.5 },
		},
		"ratios may differ": {
			[]string{"range_ratio: {input: 0.5}"}, func(c *workload.Config) { c.RangeRatio.Input = 0.5 },
		},
		"a duration is a mean": {
			[]string{"turns: 3\n    turn_delay: {mean: 5s, stddev: 1s}", "turn_delay: 2s"},
			func(c *workload.Config) { c.Turns.Mean, c.TurnDelay = 3, workload.Delay{Mean: 2 * time.Second} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var texts []string
			for _, text := range test.files {
				texts = append(texts, "workloads:\n  w:\n    "+text+"\n")
			}
			texts = append(texts, fiveLines)
			config, problems := loadTexts(t, nil, texts...)
			if problems != "" {
				t.Fatal(problems)
			}
			want := workload.DefaultConfig()
			test.want(&want)
			if diff := cmp.Diff(want, config.Workloads["w"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
