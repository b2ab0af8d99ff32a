package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPresetsHoldThePublishedLimits(t *testing.T) {
	t.Parallel()
	type limits struct{ TTFT, ITL, Latency time.Duration }
	got := map[SLOPreset]limits{}
	for _, preset := range SLOPresets() {
		var l limits
		for _, threshold := range preset.Thresholds() {
			switch limit := time.Duration(threshold.Limit); threshold.Metric {
			case SLOTimeToFirstToken:
				l.TTFT = limit
			case SLOInterTokenLatency:
				l.ITL = limit
			case SLORequestLatency:
				l.Latency = limit
			default:
				t.Errorf("%s limits %s", preset, threshold.Metric)
			}
		}
		got[preset] = l
	}
	const ms = time.Millisecond
	want := map[SLOPreset]limits{
		"mlperf-llama2-70b-server": {2000 * ms, 200 * ms, 0}, "mlperf-llama2-70b-interactive": {450 * ms, 40 * ms, 0},
		"mlperf-llama3.1-8b-server": {2000 * ms, 100 * ms, 0}, "mlperf-llama3.1-8b-interactive": {500 * ms, 30 * ms, 0},
		"mlperf-llama3.1-405b-server": {6000 * ms, 175 * ms, 0}, "mlperf-llama3.1-405b-interactive": {4500 * ms, 80 * ms, 0},
		"mlperf-mixtral-8x7b-server": {2000 * ms, 200 * ms, 0},
		"mlperf-deepseek-r1-server":  {2000 * ms, 80 * ms, 0}, "mlperf-deepseek-r1-interactive": {1500 * ms, 15 * ms, 0},
		"mlperf-gpt-oss-120b-server": {3000 * ms, 80 * ms, 0}, "mlperf-gpt-oss-120b-interactive": {2000 * ms, 15 * ms, 0},
		"mlperf-qwen3-vl-235b-a22b-server": {0, 0, 12 * time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPresetThatDoesNotExistIsAnsweredWithThoseThatDo(t *testing.T) {
	t.Parallel()
	c := DefaultSLOConfig()
	c.Preset = "mlperf-llama3.1-8b"
	errs := c.Validate("slos.x")
	if len(errs) != 1 {
		t.Fatalf("got %v, want one error", errs)
	}
	for _, preset := range append(words(SLOPresets()), "slos.x.preset") {
		if !strings.Contains(errs[0].Error(), preset) {
			t.Errorf("%v does not name %s", errs[0], preset)
		}
	}
	for _, preset := range SLOPresets() {
		c.Preset = preset
		if errs := c.Validate("slos.x"); len(errs) > 0 {
			t.Error(errs)
		}
	}
}
