package mapping

import (
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

func TestFactorsLeaveRoundNumbersRound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ factor, value, want float64 }{
		{0, 3, 3},
		{1, 3, 3},
		{0.001, 300, 0.3},
		{0.001, 7, 0.007},
		{0.000001, 4215500000, 4215.5},
		{0.01, 29, 0.29},
		{2, 1, 2},
		{1024, 2, 2048},
		{0.3, 10, 3},
	} {
		if got := factor(tt.factor).of(tt.value); got != tt.want {
			t.Errorf("%v times %v = %v, want %v", tt.value, tt.factor, got, tt.want)
		}
	}
}

func TestLongLabelsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, tt := range []struct{ name, value, want string }{
		{"short", "short", "short"},
		{"as long as may be", long[:200], long[:200]},
		{"one byte more", long[:201], long[:191] + "~ce0b7927"},
		{"not in the middle of a letter", strings.Repeat("ä", 101), strings.Repeat("ä", 95) + "~9ee2c602"},
		{"not UTF-8", "a\xffb", "a\uFFFDb"},
	} {
		if got := exposition.Clip(tt.value); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if exposition.Clip(long) == exposition.Clip(long+"x") {
		t.Error("two values became one")
	}
}

func TestAdaptersAreBounded(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 80 {
		many = append(many, string(rune('a'+i%26))+strings.Repeat("x", i/26))
	}
	page := family("gauge", "vllm:lora_requests_info", `{running_lora_adapters="`+strings.Join(many, ",")+`",waiting_lora_adapters="w"} 1`)
	got := map[string]int{}
	for _, f := range mapText(t, &Options{Kind: VLLM}, page).Normalised {
		got[f.GetName()] = len(f.Metric)
		if f.GetName() == "aiperf_server_lora_running_adapters" && f.Metric[0].Gauge.GetValue() != 80 {
			t.Errorf("counted %v adapters, want 80", f.Metric[0].Gauge.GetValue())
		}
	}
	if got["aiperf_server_lora_info"] != 50 {
		t.Errorf("%d adapters by name, want 50", got["aiperf_server_lora_info"])
	}
}
