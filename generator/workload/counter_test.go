package workload_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

// server counts by the tokenizer of the tests.
type server struct {
	count    func(string) int
	template int
	whole    bool
	calls    int
	fails    error
}

func (s *server) Count(_ context.Context, text string) (int, bool, error) {
	s.calls++
	if s.whole {
		return s.count(text) + s.template, true, s.fails
	}
	return s.count(text), false, s.fails
}

func TestPromptsHaveTheWishedLengthOnceTheServerHasCountedSamples(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change   func(*workload.Config)
		template int
		whole    bool
	}{
		"words":                       {func(*workload.Config) {}, 11, true},
		"text":                        {func(c *workload.Config) { c.Corpus = "text" }, 11, true},
		"code":                        {func(c *workload.Config) { c.Corpus = "code" }, 11, true},
		"short":                       {func(c *workload.Config) { c.InputTokens.Mean = 60 }, 11, true},
		"long":                        {func(c *workload.Config) { c.InputTokens.Mean = 6000 }, 11, true},
		"the same prompt always":      {func(c *workload.Config) { c.Cache = "repeat" }, 11, true},
		"a template that is not told": {func(*workload.Config) {}, 6, false},
		"several texts":               {func(c *workload.Config) { c.Batch = 4 }, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := workload.DefaultConfig()
			c.InputTokens.Mean = 400
			test.change(&c)
			s := server{count: exactly(t), template: test.template, whole: test.whole}
			w := newWorkload(t, &c, 1)
			if err := w.Calibrate(t.Context(), &s); err != nil || s.calls > 8 {
				t.Fatalf("%d calls, %v", s.calls, err)
			}
			var counted, wished float64
			for range 50 { // each has a few tokens more or less
				turn := next(t, w)
				wished += float64(turn.InputTokens)
				for _, text := range turn.Prompt.Messages[0].Texts() {
					counted += float64(s.count(text) + s.template)
				}
			}
			if off := counted/wished - 1; max(off, -off) > .05 {
				t.Errorf("%v tokens, want %v: %.1f %% off", counted, wished, 100*off)
			}
			t.Logf("%v tokens, wished %v", counted, wished)
		})
	}
}

func TestAServerThatDoesNotCountTeachesNothing(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	w, untaught := newWorkload(t, &c, 1), newWorkload(t, &c, 1)
	s := server{count: exactly(t), fails: errors.New("no such path")}
	if err := w.Calibrate(t.Context(), &s); err == nil || s.calls != 1 {
		t.Errorf("%d calls, %v", s.calls, err)
	}
	if a, b := textOf(next(t, w)), textOf(next(t, untaught)); len(a) != len(b) {
		t.Errorf("a prompt of %d bytes, want %d", len(a), len(b))
	}
}
