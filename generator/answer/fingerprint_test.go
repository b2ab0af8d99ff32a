package answer

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newTestFingerprint has the defaults, except for what change does.
func newTestFingerprint(tb testing.TB, change func(*FingerprintConfig)) *Fingerprint {
	tb.Helper()
	c := DefaultFingerprintConfig()
	c.Enabled = true
	if change != nil {
		change(&c)
	}
	f, err := NewFingerprint(&c, modelQuestions())
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// probe asks each question rounds times and counts the results.
func probe(tb testing.TB, f *Fingerprint, m model, rounds int, random *rand.Rand) map[Result]int {
	tb.Helper()
	out := map[Result]int{}
	for range rounds {
		for i, question := range modelQuestions() {
			drift, err := f.Note(i+1, m.answer(question, random))
			if err != nil {
				tb.Fatal(err)
			}
			out[drift.Result]++
		}
	}
	return out
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

const learning = 5 // rounds, the default

func TestChangesShowWithinOneProbeAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	exact := model{weights: 1, noise: 1e-6, length: 40}
	coarse := model{weights: 1, grain: 1.0 / 16, noise: 0.2, length: 40}
	with := func(m model, change func(*model)) model { change(&m); return m }
	logprobs := func(m *model) { m.logprobs = true }
	for name, c := range map[string]struct{ healthy, changed model }{
		"other weights":                       {exact, with(exact, func(m *model) { m.weights = 2 })},
		"other weights, by log-probabilities": {with(exact, logprobs), with(exact, func(m *model) { m.weights = 2; m.logprobs = true })},
		"another chat template":               {exact, with(exact, func(m *model) { m.template = "<|user|>" })},
		"a template, by log-probabilities":    {with(exact, logprobs), with(exact, func(m *model) { m.template = "<|user|>"; m.logprobs = true })},
		"quantisation to 4 bits":              {exact, with(exact, func(m *model) { m.error = 0.5 })},
		"quantisation to 8 bits":              {with(exact, logprobs), with(exact, func(m *model) { m.error = 0.05; m.logprobs = true })},
		"quantisation to 16 bits":             {with(exact, logprobs), with(exact, func(m *model) { m.error = 0.013; m.logprobs = true })},
		"4 bits where 16 bits flip tokens":    {with(coarse, logprobs), with(coarse, func(m *model) { m.error = 0.5; m.logprobs = true })},
		"other weights where 16 bits flip":    {with(coarse, logprobs), with(coarse, func(m *model) { m.weights = 2; m.logprobs = true })},
		"other weights of a server that samples": {
			with(exact, func(m *model) { m.temperature = 1; m.logprobs = true }),
			with(exact, func(m *model) { m.temperature = 1; m.logprobs = true; m.weights = 2 }),
		},
		"the server has no log-probabilities any more, and other weights": {
			with(exact, logprobs), with(exact, func(m *model) { m.weights = 2 }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := newRandom(1)
			c.healthy.known = map[string][]float64{}
			f := newTestFingerprint(t, nil)
			n := len(modelQuestions())
			if diff := cmp.Diff(map[Result]int{Unknown: learning * n}, probe(t, f, c.healthy, learning, random)); diff != "" {
				t.Fatalf("while it learns (-want +got):\n%s", diff)
			}
			if got := probe(t, f, c.healthy, 100, random); got[Changed] > 0 {
				t.Errorf("unchanged server: %v", got)
			}
			if got := probe(t, f, c.changed, 1, random); got[Changed] == 0 {
				t.Errorf("changed server: %v", got)
			}
		})
	}
}

func TestNoiseThatWasNotThereWhenLearning(t *testing.T) {
	t.Parallel()
	idle := model{weights: 1, grain: 1.0 / 16, length: 40, logprobs: true}
	busy := idle
	busy.noise = 0.2
	random := newRandom(2)
	f := newTestFingerprint(t, nil)
	probe(t, f, idle, learning, random)
	if got := probe(t, f, busy, 100, random); got[Changed] > 0 {
		t.Errorf("a busy server in 16 bits: %v", got)
	}
}

func TestServerWithoutAnythingStableNeverChanges(t *testing.T) {
	t.Parallel()
	random := newRandom(3)
	m := model{weights: 1, temperature: 1, length: 40}
	f := newTestFingerprint(t, nil)
	probe(t, f, m, learning, random)
	n := len(modelQuestions())
	m.weights = 2
	if diff := cmp.Diff(map[Result]int{Unknown: 50 * n}, probe(t, f, m, 50, random)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMatchedShareIsThatOfTheStart(t *testing.T) {
	t.Parallel()
	c := DefaultFingerprintConfig()
	c.Answers = 2
	f, err := NewFingerprint(&c, []string{"the only question"})
	if err != nil {
		t.Fatal(err)
	}
	note := func(text string) Drift {
		t.Helper()
		drift, err := f.Note(1, &Transcript{Text: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return drift
	}
	if got := note("abcdefghij"); !math.IsNaN(got.Matched) || got.Result != Unknown {
		t.Errorf("first answer: got %v", got)
	}
	note("abcdefghij")
	for text, want := range map[string]Drift{
		"abcdefghij":            {Same, 1, 0},
		"abcdeXXXXX":            {Same, 0.5, 0},
		"abXXXXXXXX":            {Changed, 0.2, 0},
		"XbcdefghijabcdefghijX": {Changed, 0, 0},
		"abcde":                 {Same, 0.5, 0},
		"abcdefghijabcdefghij":  {Same, 0.5, 0},
		"árvíztűrő":             {Changed, 0, 0},
	} {
		got := note(text)
		if !math.IsNaN(got.Distance) {
			t.Errorf("%q: got a distance of %v without log-probabilities", text, got.Distance)
		}
		got.Distance = 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for name, transcript := range map[string]*Transcript{
		"the same as reasoning": {Reasoning: []byte("abcdefghij")},
		"the same as a call":    {Tools: []ToolCall{{Name: "abcdefghij"}}},
		"NaN":                   {Text: []byte(strings.Repeat("!", 10))},
	} {
		if got, _ := f.Note(1, transcript); got.Result != Changed {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if got, _ := f.Note(1, &Transcript{}); got.Result != Unknown {
		t.Errorf("an empty answer: got %v", got)
	}
	for _, question := range []int{-1, 0, 2} {
		if got, _ := f.Note(question, &Transcript{Text: []byte("a")}); got.Result != Unknown {
			t.Errorf("question %d: got %v", question, got)
		}
	}
}

func TestOneInEightTextsMayDeviate(t *testing.T) {
	t.Parallel()
	f := newTestFingerprint(t, nil)
	note := func(question int, text string) Result {
		t.Helper()
		drift, err := f.Note(question, &Transcript{Text: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return drift.Result
	}
	for question := range modelQuestions() {
		for range learning {
			note(question+1, "an answer")
		}
	}
	for _, c := range []struct {
		question int
		text     string
		want     Result
	}{
		{3, "no answer", Same},
		{3, "no answer", Same},
		{4, "an answer", Same},
		{4, "no answer", Changed},
		{3, "no answer", Changed},
		{5, "an answer", Same},
		{3, "an answer", Same},
		{4, "no answer", Same},
	} {
		if got := note(c.question, c.text); got != c.want {
			t.Errorf("question %d, %q: got %v, want %v", c.question, c.text, got, c.want)
		}
	}
}

func TestTextsThatAgreeByChanceAreNotJudged(t *testing.T) {
	t.Parallel()
	for agreeing, want := range map[int]Result{4: Unknown, 5: Changed} {
		f := newTestFingerprint(t, nil)
		var drift Drift
		note := func(question int, text string) {
			t.Helper()
			var err error
			if drift, err = f.Note(question, &Transcript{Text: []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
		for question := range modelQuestions() {
			for round := range learning {
				if question < agreeing {
					round = 0
				}
				note(question+1, strings.Repeat("abcde"[round:round+1], 10))
			}
		}
		note(1, "other")
		note(2, "other")
		if drift.Result != want {
			t.Errorf("%d of 8 questions agree: got %v, want %v", agreeing, drift.Result, want)
		}
	}
}

func TestBaselineSurvivesARestart(t *testing.T) {
	t.Parallel()
	for _, logprobs := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "baseline.json")
		here := func(c *FingerprintConfig) { c.BaselineFile = path }
		m := model{weights: 1, noise: 1e-6, length: 40, logprobs: logprobs}
		random := newRandom(4)
		f := newTestFingerprint(t, here)
		probe(t, f, m, learning-1, random)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("written before all is learned: %v", err)
		}
		probe(t, f, m, 1, random)

		again := newTestFingerprint(t, here)
		n := len(modelQuestions())
		if diff := cmp.Diff(map[Result]int{Same: 20 * n}, probe(t, again, m, 20, random)); diff != "" {
			t.Errorf("same server (-want +got):\n%s", diff)
		}
		m.weights = 2
		if got := probe(t, again, m, 1, random); got[Changed] == 0 {
			t.Errorf("other server: %v", got)
		}
		raw := read(t, path)
		for _, secret := range []string{"capital", " w"} {
			if strings.Contains(string(raw), secret) {
				t.Errorf("the file has text: %q", secret)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestOnlyNewQuestionsAreLearned(t *testing.T) {
	t.Parallel()
	c := DefaultFingerprintConfig()
	c.BaselineFile, c.Answers = filepath.Join(t.TempDir(), "baseline.json"), 2
	note := func(questions []string, question int) Result {
		t.Helper()
		f, err := NewFingerprint(&c, questions)
		if err != nil {
			t.Fatal(err)
		}
		var drift Drift
		for range 2 {
			if drift, err = f.Note(question, &Transcript{Text: []byte("an answer")}); err != nil {
				t.Fatal(err)
			}
		}
		return drift.Result
	}
	if got := note([]string{"a"}, 1); got != Unknown {
		t.Errorf("the first time: got %v", got)
	}
	if got := note([]string{"b", "a"}, 2); got != Same {
		t.Errorf("a known question: got %v", got)
	}
	if got := note([]string{"b", "a"}, 1); got != Unknown {
		t.Errorf("a new question: got %v", got)
	}
	if got := note([]string{"b", "a"}, 1); got != Same {
		t.Errorf("after a restart: got %v", got)
	}
}

func TestBaselineThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "later")
	c := DefaultFingerprintConfig()
	c.BaselineFile, c.Answers = filepath.Join(folder, "baseline.json"), 2
	f, err := NewFingerprint(&c, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	answer := &Transcript{Text: []byte("an answer")}
	if _, err := f.Note(1, answer); err != nil {
		t.Errorf("nothing to write yet: %v", err)
	}
	for range 2 {
		if _, err := f.Note(1, answer); err == nil || !strings.Contains(err.Error(), folder) {
			t.Errorf("got error %v", err)
		}
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if drift, err := f.Note(1, answer); err != nil || drift.Result != Same {
		t.Errorf("got %v, %v", drift, err)
	}
	if _, err := os.Stat(c.BaselineFile); err != nil {
		t.Errorf("not written when it could be: %v", err)
	}
}

func TestFingerprintIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	f := newTestFingerprint(t, func(c *FingerprintConfig) { c.BaselineFile = filepath.Join(t.TempDir(), "baseline.json") })
	m := model{weights: 1, noise: 1e-6, length: 20, logprobs: true}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			random := newRandom(uint64(worker))
			for range 5 {
				for i, question := range modelQuestions() {
					drift, err := f.Note(i+1, m.answer(question, random))
					if err != nil || drift.Result == Changed {
						t.Errorf("got %v, %v", drift, err)
					}
				}
			}
		})
	}
	all.Wait()
}

func TestFingerprintConfigErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*FingerprintConfig)
		want   []string
	}{
		"the defaults": {func(*FingerprintConfig) {}, nil},
		"one answer":   {func(c *FingerprintConfig) { c.Answers = 1 }, []string{"f.answers: must be between 2 and 1000, got 1"}},
		"no prefix":    {func(c *FingerprintConfig) { c.MinPrefix = 0 }, []string{"f.min_prefix: must be > 0 and <= 1, got 0"}},
		"NaN": {
			func(c *FingerprintConfig) { c.MinPrefix, c.Tolerance = math.NaN(), math.NaN() },
			[]string{"f.min_prefix: must be > 0 and <= 1, got NaN", "f.tolerance: must be > 0 and <= 0.4 nats, got NaN"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := DefaultFingerprintConfig()
			c.change(&config)
			if diff := cmp.Diff(c.want, messages(config.Validate("f"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := NewFingerprint(&FingerprintConfig{}, nil); err == nil {
		t.Error("no error for a fingerprint without questions")
	}
}

func messages(errs []error) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}
