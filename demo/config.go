package demo

import (
	"log/slog"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/demo/engine"
)

// Config is what the server offers.
type Config struct {
	// Profiles are the served models, in the order in which /v1/models lists them: one at least, each of another name.
	Profiles []Profile
	// Seed makes texts, identifiers, faults and step times reproducible: the n-th request to a model always gets the same.
	Seed uint64
	// Logger hears about accept errors and panics; nil discards them.
	Logger *slog.Logger
}

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
	Faults         []Fault
}

// DefaultConfig serves the default profiles.
func DefaultConfig() Config {
	return Config{Profiles: DefaultProfiles(), Seed: 1}
}

// DefaultProfile is a healthy model without reasoning.
func DefaultProfile(name string) Profile {
	return Profile{Name: name, Engine: engine.DefaultConfig(), AnswerTokens: 256}
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
