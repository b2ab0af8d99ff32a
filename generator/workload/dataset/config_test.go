package dataset_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

func TestValidateNamesTheKeyThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		set  func(*dataset.Config)
		want []string
	}{
		{"nothing", func(*dataset.Config) {}, nil},
		{"everything that a replay needs", func(c *dataset.Config) {
			c.MaxInputTokens, c.MaxOutputTokens, c.MaxContextTokens, c.DelayCap, c.BlockSize, c.SessionSampleRatio = 1, 2, 3, 4, 5, .5
		}, nil},
		{"what must be named", func(c *dataset.Config) { c.Format, c.File = "", "" }, []string{
			"d.format: must be named, one of ", "d.file: must be named",
		}},
		{"a format that does not exist", func(c *dataset.Config) { c.Format = "mooncake" }, []string{`d.format: unknown format "mooncake", must be one of `}},
		{"an order that does not exist", func(c *dataset.Config) { c.Sampling = "sorted" }, []string{
			`d.sampling: must be one of sequential, shuffle, random, got "sorted"`,
		}},
		{"bounds", func(c *dataset.Config) { c.MaxInputTokens, c.MaxOutputTokens, c.MaxContextTokens = -1, 10_000_001, -2 }, []string{
			"d.max_input_tokens: must be between 0 (no bound) and 10000000 tokens, got -1",
			"d.max_output_tokens: must be between 0 (no bound) and 10000000 tokens, got 10000001",
			"d.max_context_tokens: must be between 0 (no bound) and 10000000 tokens, got -2",
		}},
		{"delays", func(c *dataset.Config) { c.DelayCap, c.IgnoreDelays = 1, true }, []string{"d.delay_cap: excludes ignore_delays"}},
		{"a negative delay", func(c *dataset.Config) { c.DelayCap = -1 }, []string{"d.delay_cap: must be >= 0, got -1ns"}},
		{"think times", func(c *dataset.Config) { c.ThinkTimeOnly = true }, []string{"d.think_time_only: is only known to the format weka_trace"}},
		{"a block size", func(c *dataset.Config) { c.BlockSize = -1 }, []string{"d.block_size: must be between 0 (as the format has it) and 65536 tokens, got -1"}},
		{"a block size of a format without blocks", func(c *dataset.Config) { c.Format, c.BlockSize = dataset.ShareGPT, 16 }, []string{
			"d.block_size: is not used by the format sharegpt",
		}},
		{"a share", func(c *dataset.Config) { c.SessionSampleRatio = 0 }, []string{"d.session_sample_ratio: must be > 0 and at most 1, got 0"}},
		{"a share that is no number", func(c *dataset.Config) { c.SessionSampleRatio = math.NaN() }, []string{"d.session_sample_ratio: must be > 0 and at most 1, got NaN"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := config(dataset.MooncakeTrace, "a.jsonl")
			test.set(c)
			var got []string
			for i, err := range c.Validate("d") {
				message := err.Error()
				if i < len(test.want) && strings.HasSuffix(test.want[i], "one of ") { // the list of formats grows
					message, _, _ = strings.Cut(message, "baseten_trace")
					message, _, _ = strings.Cut(message, "bailian_trace")
				}
				got = append(got, message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFormatIsDetectedOnlyWhereItIsCertain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file string
		want []dataset.Format
		err  string
	}{
		{"good/multi_turn.jsonl", []dataset.Format{dataset.MultiTurn}, ""},
		{"good/bailian_trace.jsonl", []dataset.Format{dataset.BailianTrace}, ""},
		{"good/burst_gpt_trace.csv", []dataset.Format{dataset.BurstGPTTrace}, ""},
		{"good/inputs_json.json", []dataset.Format{dataset.InputsJSON}, ""},
		{"good/sharegpt.json", []dataset.Format{dataset.ShareGPT}, ""},
		{"good/random_pool.jsonl", nil, "fits more than one format: name one of [random_pool single_turn]"},
		{"good/single_turn.jsonl", []dataset.Format{dataset.SingleTurn}, ""},
		{"good/media/dot.png", nil, "fits none of the formats "},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			got, err := dataset.Detect(filepath.Join("testdata", test.file))
			switch {
			case test.err == "" && (err != nil || !cmp.Equal(got, test.want)):
				t.Errorf("got %v, %v; want %v", got, err, test.want)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got %v, %v; want an error with %q", got, err, test.err)
			}
		})
	}
}
