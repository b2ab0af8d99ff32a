package generator_test

import (
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// long is a question that no server takes, nor this program sends.
func long(c *generator.TargetConfig) { c.Workload.Prompts = []string{strings.Repeat("word ", 7<<20)} }

func TestARequestThatIsTooLargeIsFoundBeforeItIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, "http://127.0.0.1:1", long)
	c := generator.Config{Targets: []generator.TargetConfig{r.config}}
	if err := c.Rehearse(); err == nil || !strings.Contains(err.Error(), "at most 33554432 are sent") {
		t.Errorf("rehearsal: %v", err)
	}
	got := r.once(t.Context(), t).record
	if got.Outcome != metrics.Failure || got.Class != metrics.ErrClientInternal {
		t.Errorf("outcome %q, class %q, want error client_internal", got.Outcome, got.Class)
	}
}
