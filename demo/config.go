package demo

import (
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/aiperf-exporter/aiperf-exporter/demo/engine"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Config is what the server offers.
type Config struct {
	// Profiles are the served models, in the order in which /v1/models lists them.
	Profiles []Profile
	// Seed makes texts, identifiers, faults and step times reproducible: the n-th request to a model always gets the same.
	Seed uint64
	// Logger hears about accept errors and panics; nil discards them.
	Logger *slog.Logger
}

// ReasoningField names the field of a chat answer that carries reasoning.
type ReasoningField string

// The names that servers use.
const (
	FieldReasoningContent ReasoningField = "reasoning_content"
	FieldReasoning        ReasoningField = "reasoning"
)

// Profile is one served model: how fast, how its answers look, how it misbehaves.
type Profile struct {
	// Name is the model's name in requests, answers and the label model_name.
	Name   string
	Engine engine.Config
	// AnswerTokens is how long the model talks before it stops by itself. A smaller limit in the request cuts it, ignore_eos and
	// min_tokens make it go on.
	AnswerTokens int
	// ReasoningShare is the part of a chat answer's tokens, from its start, that is reasoning; 0 to 1.
	ReasoningShare float64
	ReasoningField ReasoningField
	// RoleChunk begins a chat stream at once with a chunk that only names the role. Without it the stream begins with the first token.
	RoleChunk bool
	Faults    []Fault
}

// DefaultConfig serves the default profiles.
func DefaultConfig() Config {
	return Config{Profiles: DefaultProfiles(), Seed: 1}
}

// DefaultProfile is a healthy model without reasoning.
func DefaultProfile(name string) Profile {
	return Profile{
		Name:           name,
		Engine:         engine.DefaultConfig(),
		AnswerTokens:   256,
		ReasoningField: FieldReasoningContent,
		RoleChunk:      true,
	}
}

// The models of DefaultProfiles.
const (
	SteadyModel  = "demo-steady-8b"
	ThinkerModel = "demo-thinker-32b"
	FlakyModel   = "demo-flaky-8b"
)

// DefaultProfiles are the three models of the demo: one that is well, one that is larger, reasons first and shares its machine with
// other people whose day lasts ten minutes, and one that misbehaves now and then and recovers.
func DefaultProfiles() []Profile {
	thinker := DefaultProfile(ThinkerModel)
	thinker.ReasoningShare = 0.6
	thinker.AnswerTokens = 1024
	thinker.Engine.MaxRunning = 32
	thinker.Engine.CacheTokens = 24576
	thinker.Engine.StepTime = 13 * time.Millisecond
	thinker.Engine.DecodeTime = 450 * time.Microsecond
	thinker.Engine.PrefillTime = 400 * time.Microsecond
	thinker.Engine.Background = engine.Background{Trough: 4, Peak: 26, Period: 10 * time.Minute}

	flaky := DefaultProfile(FlakyModel)
	flaky.Faults = []Fault{
		{Kind: Slow, Factor: 3, Episode: Episode{Every: 2 * time.Minute, Lasts: 30 * time.Second, Offset: 30 * time.Second}},
		{
			Kind: RateLimit, Probability: 0.5, RetryAfter: 2 * time.Second,
			Episode: Episode{Every: 3 * time.Minute, Lasts: 20 * time.Second, Offset: 90 * time.Second},
		},
		{Kind: ServerError, Probability: 0.03},
		{Kind: CutStream, Probability: 0.03, AfterTokens: 8},
		{Kind: StreamError, Probability: 0.03, AfterTokens: 4},
		{Kind: Stall, Probability: 0.02, AfterTokens: 12},
		{Kind: HTML, Probability: 0.01},
		{Kind: Empty, Probability: 0.01},
	}
	return []Profile{DefaultProfile(SteadyModel), thinker, flaky}
}

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	var errs []error
	if len(c.Profiles) == 0 {
		errs = append(errs, invalid.Key(path+".Profiles", "must name at least one model"))
	}
	seen := make(map[string]bool)
	for i := range c.Profiles {
		at := fmt.Sprintf("%s.Profiles[%d]", path, i)
		errs = append(errs, c.Profiles[i].validate(at)...)
		if name := c.Profiles[i].Name; seen[name] {
			errs = append(errs, invalid.Key(at+".Name", "%q is given twice", name))
		} else {
			seen[name] = true
		}
	}
	return errs
}

func (p *Profile) validate(path string) []error {
	errs := p.Engine.Validate(path + ".Engine")
	if p.Name == "" || !utf8.ValidString(p.Name) {
		errs = append(errs, invalid.Key(path+".Name", "must be text in UTF-8, got %q", p.Name))
	}
	if p.AnswerTokens <= 0 {
		errs = append(errs, invalid.Key(path+".AnswerTokens", "must be > 0, got %d", p.AnswerTokens))
	}
	if !(p.ReasoningShare >= 0 && p.ReasoningShare <= 1) {
		errs = append(errs, invalid.Key(path+".ReasoningShare", "must be between 0 and 1, got %v", p.ReasoningShare))
	}
	switch p.ReasoningField {
	case FieldReasoningContent, FieldReasoning:
	default:
		errs = append(errs, invalid.Key(path+".ReasoningField", "must be one of %s, %s, got %q",
			FieldReasoningContent, FieldReasoning, p.ReasoningField))
	}
	for i := range p.Faults {
		errs = append(errs, p.Faults[i].validate(fmt.Sprintf("%s.Faults[%d]", path, i))...)
	}
	return errs
}
