package answer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// FingerprintConfig is `fingerprint:` of a target: whether its server still answers fixed questions as it did. The questions are the
// `prompts` of the workload, asked at temperature 0; with `logprobs` the first tokens tell much more than the text.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type FingerprintConfig struct {
	// compare the answers to the fixed prompts of the workload with a baseline
	Enabled bool `koanf:"enabled" yaml:"enabled"`
	// file that keeps the baseline over restarts, of one target only. It is written as soon as all questions are learned, and holds hashes
	// instead of text. Without it each start learns anew. Remove it and reload to accept a change
	BaselineFile string `koanf:"baseline_file" yaml:"baseline_file,omitempty"`
	// answers to each question that are learned from before the first comparison. How they differ from each other tells what the server's
	// batching does to them: a question whose answers differ too much is no longer judged by its text
	Answers int `koanf:"answers" yaml:"answers"`
	// share of an answer, from its start, that must be as in the baseline; 1 for a server whose answers do not depend on its batches. A
	// question is judged by its text only if its learned answers agreed in twice that share, as those of most questions did. Without
	// log-probabilities, one in eight questions may deviate
	MinPrefix float64 `koanf:"min_prefix" yaml:"min_prefix"`
	// mean difference of log-probabilities that is always allowed, in nats. More is allowed where the learned answers differ among
	// themselves, and where the server's numbers are coarse
	Tolerance float64 `koanf:"tolerance" yaml:"tolerance"`
}

// DefaultFingerprintConfig is what an absent block means: off.
//
// The numbers were measured with a small model of random weights. A llama.cpp that computes with 32 bits differs from itself by up to
// 0.0004 nats, alone or with six other clients; the same weights with 16 (bfloat16), 8, 5 and 4 bits differ from it by 0.013, 0.04, 0.2
// and 0.4, other weights and chat templates by 0.1 to 0.7. A vLLM in bfloat16 differs from itself by nothing when it is alone and by
// 0.013 with eight other clients, which is below what its numbers, multiples of 1/16, let one tell; the text of one of eight answers is then
// another one after a fifth. With 8 bits or less, and other weights and templates, at least four of eight are another text by then.
func DefaultFingerprintConfig() FingerprintConfig {
	return FingerprintConfig{Answers: 5, MinPrefix: 0.25, Tolerance: 0.005}
}

// IsZero tells that answers are not compared, for printing.
func (c FingerprintConfig) IsZero() bool { return !c.Enabled }

// Validate finds what is wrong, by key below path.
func (c *FingerprintConfig) Validate(path string) []error {
	var errs []error
	if c.Answers < 2 || c.Answers > maxLearned {
		errs = append(errs, invalid.Key(path+".answers", "must be between 2 and %d, got %d", maxLearned, c.Answers))
	}
	if !(c.MinPrefix > 0 && c.MinPrefix <= 1) { // so written, NaN is wrong too
		errs = append(errs, invalid.Key(path+".min_prefix", "must be > 0 and <= 1, got %v", c.MinPrefix))
	}
	if !(c.Tolerance > 0 && c.Tolerance <= maxThreshold) {
		errs = append(errs, invalid.Key(path+".tolerance", "must be > 0 and <= %v nats, got %v", maxThreshold, c.Tolerance))
	}
	return errs
}

// Result is what a comparison says.
type Result string

// The results.
const (
	Same    Result = "same"
	Changed Result = "changed"
	Unknown Result = "unknown" // not learned yet, or nothing about the question's answers is stable
)

const (
	maxLearned   = 1000
	maxQuestions = 1000

	// noiseFactor is how much more than the learned answers later ones may differ.
	noiseFactor = 4
	// oddQuestions: one in so many questions may have an early token that is as likely as another one, so that the text of its answer depends
	// on whether others share the batch. Where only texts can be compared, more must deviate at the same time.
	oddQuestions = 8
	// maxThreshold is the distance in nats beyond which nothing could be told: other weights have 0.5.
	maxThreshold = 0.4
)

// Drift is what one answer says about the server.
type Drift struct {
	Result Result
	// Matched is the share of the answer, from its start, that is as in the baseline; NaN = there was nothing to compare with.
	Matched float64
	// Distance is the mean difference of the log-probabilities in nats, as far as the answer is that of the baseline; NaN = not known.
	Distance float64
}

// Fingerprint compares the answers to fixed questions with those that a server gave before. It is safe for concurrent use.
type Fingerprint struct {
	config FingerprintConfig
	keys   []string // of the questions, for the file

	mu        sync.Mutex
	baselines []baseline
	unsaved   bool
}

// NewFingerprint makes the fingerprint of a target that is asked these questions; each must name all that shapes its answer, such as the
// model, the prompt and the parameters of sampling. A question that is not in the baseline file is learned, and what the file knows of
// others is dropped: they are not asked. A file that exists and is no baseline is an error.
func NewFingerprint(c *FingerprintConfig, questions []string) (*Fingerprint, error) {
	if len(questions) == 0 || len(questions) > maxQuestions {
		return nil, fmt.Errorf("fingerprint: needs 1 to %d fixed prompts, got %d", maxQuestions, len(questions))
	}
	f := &Fingerprint{config: *c, keys: make([]string, len(questions)), baselines: make([]baseline, len(questions))}
	for i, question := range questions {
		f.keys[i] = questionKey(question)
	}
	if c.BaselineFile == "" {
		return f, nil
	}
	if err := f.load(); err != nil {
		return nil, fmt.Errorf("fingerprint: %w", err)
	}
	return f, nil
}

// Note compares the answer to a question, counted from 1, with its baseline, or learns from it. An error says that the baseline could not
// be written; what Note gives is right nevertheless, and the next answer tries again.
func (f *Fingerprint) Note(question int, t *Transcript) (Drift, error) {
	nothing := Drift{Unknown, math.NaN(), math.NaN()}
	if question < 1 || question > len(f.baselines) {
		return nothing, nil
	}
	s := sketchOf(t)
	if len(s.text) == 0 {
		return nothing, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	b := &f.baselines[question-1]
	if b.answers == 0 {
		b.start(&s)
		return nothing, nil
	}
	compared := b.sketch.compare(&s)
	drift := Drift{Unknown, compared.share, compared.distance}
	if b.answers < f.config.Answers {
		b.learn(compared)
		f.unsaved = f.config.BaselineFile != "" && f.learned()
	} else {
		drift.Result = f.judge(b, compared)
	}
	return drift, f.save()
}

func (f *Fingerprint) learned() bool {
	for i := range f.baselines {
		if f.baselines[i].answers < f.config.Answers {
			return false
		}
	}
	return true
}

// textual tells whether a question can be judged by the text of its answers: they agreed, and those of most others did too. The answers of a
// server that samples agree by chance only.
func (f *Fingerprint) textual(b *baseline) bool {
	least := min(1, 2*f.config.MinPrefix)
	learned, agreed := 0, 0
	for i := range f.baselines {
		if o := &f.baselines[i]; o.answers >= f.config.Answers {
			learned++
			if o.agreed >= least {
				agreed++
			}
		}
	}
	return b.agreed >= least && 2*agreed > learned
}

// probabilistic tells whether a question can be judged by log-probabilities.
func (f *Fingerprint) probabilistic(b *baseline) bool {
	return b.measured && f.threshold() <= maxThreshold
}

// threshold is the distance up to which an answer is the same: noise is of the server, hence the greatest of all questions.
func (f *Fingerprint) threshold() float64 {
	limit := f.config.Tolerance
	for i := range f.baselines {
		b := &f.baselines[i]
		limit = max(limit, noiseFactor*b.noise, b.sketch.grain/2)
	}
	return limit
}

// judge compares by the log-probabilities where both answers have them, else by text.
func (f *Fingerprint) judge(b *baseline, c comparison) Result {
	textual, probabilistic := f.textual(b), f.probabilistic(b) && c.positions > 0
	threshold := f.threshold()
	b.deviates = textual && c.share < f.config.MinPrefix
	switch {
	case probabilistic && c.distance > threshold*spread(c.positions):
		return Changed
	case probabilistic && b.deviates && c.gap > noiseFactor*threshold:
		return Changed // where two tokens are as likely as each other, the batch decides, but here they were not
	case !probabilistic && b.deviates && f.deviating() > len(f.baselines)/oddQuestions:
		return Changed
	case textual || probabilistic:
		return Same
	}
	return Unknown
}

// deviating counts the questions whose last answer has another text.
func (f *Fingerprint) deviating() int {
	n := 0
	for i := range f.baselines {
		if f.baselines[i].deviates {
			n++
		}
	}
	return n
}

// spread is how much more the mean over few positions varies than that over many.
func spread(positions int) float64 { return 1 + 2/float64(positions) }

// questionKey names a question in the file.
func questionKey(question string) string {
	sum := sha256.Sum256([]byte(question))
	return fmt.Sprintf("%x", sum[:16])
}

var errOtherBaseline = errors.New("is no baseline of a version that is known here")
