package workload

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"math"
	mathrand "math/rand/v2"
	"sync"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
)

// Turn is one thing to ask.
type Turn struct {
	Prompt prompt.Prompt
	// PromptBytes is the size of the texts that the server counts the tokens of; 0 = its count teaches nothing.
	PromptBytes int
	// InputTokens is the nominal length of the prompt; what the server counts is learned from its usage.
	InputTokens int
	// OutputTokens is the wished length of the answer; 0 = no limit.
	OutputTokens int
	Model        string          // as the recording has it; "" = the target's
	Extra        map[string]any  // for the top level of the body, beyond that of the configuration
	Expect       json.RawMessage // checks of this answer, in the form of the configuration's `expect`; nil = none
	// Session is the same for all turns of a conversation, and no other's.
	Session string
	// PreviousID is the server's name of the answer to the turn before.
	PreviousID string
	// KeepAnswer: a later turn repeats the answer, so Done needs its text.
	KeepAnswer bool
	// Fixed tells which of the fixed questions this is, counted from 1; 0 = it is none.
	Fixed int
}

// Pick says which turn an arrival wants.
type Pick struct {
	// Now is the instant of the arrival, in nanoseconds of the caller's clock.
	Now int64
	// User is the number of the user whose conversation goes on, from 1; 0 = whichever is due.
	User uint64
	// Entry is the key of the recorded turn, from Recording.Next; 0 = none.
	Entry uint64
}

// End is what became of a turn.
type End struct {
	Now int64 // in nanoseconds of the caller's clock
	OK  bool  // it was answered, and rightly: the conversation can go on
	// Answer is what was said, where KeepAnswer asked for it.
	Answer *answer.Transcript
}

// Workload makes the turns of one target. Safe for concurrent use: one goroutine asks, the requests teach.
//
// Lengths and words follow from the seed, and the words of a turn do not depend on what was learned before: a longer prompt begins with
// the words of a shorter one. Only the nonce differs from process to process, so that a restart never meets its own prompts in a cache.
type Workload struct {
	input, output Length
	corpus        *corpus
	promptSeed    uint64
	firstNonce    uint64

	mu          sync.Mutex
	turns       uint64
	lengths     *mathrand.Rand
	calibration calibration
}

// New makes the turns of a validated c for a target.
func New(c *Config, rootSeed uint64, target string) *Workload {
	prompts := seed.Derive(rootSeed, "workload.prompt", target)
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails: without entropy the program ends
	return &Workload{
		input:       c.InputTokens,
		output:      c.OutputTokens,
		corpus:      english(),
		promptSeed:  binary.BigEndian.Uint64(prompts[:]),
		firstNonce:  binary.BigEndian.Uint64(nonce[:]),
		lengths:     mathrand.New(mathrand.NewChaCha8(seed.Derive(rootSeed, "workload.length", target))),
		calibration: newCalibration(),
	}
}

// Next makes the next turn. A prompt is never shorter than its nonce; if the wished length is, InputTokens says what is expected instead.
func (w *Workload) Next(Pick) (*Turn, error) {
	w.mu.Lock()
	turn := w.turns
	w.turns++
	input, output := w.input.draw(w.lengths), w.output.draw(w.lengths)
	size := w.calibration.bytes(input)
	if size < nonceSize {
		size = nonceSize
		input = max(input, int(math.Round(w.calibration.tokens(size))))
	}
	w.mu.Unlock()

	var random mathrand.PCG
	random.Seed(w.promptSeed, turn)
	text := w.corpus.prompt(size, w.nonce(turn), random)
	return &Turn{Prompt: prompt.OfText(text), PromptBytes: len(text), InputTokens: input, OutputTokens: output}, nil
}

// Done tells how a turn ended. Call it once for each turn of Next.
func (w *Workload) Done(*Turn, End) {}

// nonce gives each turn another number: a bijection of first nonce + turn in which all bits depend on all bits (the finalizer of
// SplitMix64).
func (w *Workload) nonce(turn uint64) uint64 {
	n := w.firstNonce + turn
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// Learn takes in how many tokens the server counted for a prompt of so many bytes, its chat template included. Later prompts then have the
// wished length by the server's own count. Impossible counts are ignored.
func (w *Workload) Learn(promptBytes int, promptTokens int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calibration.observe(promptBytes, promptTokens)
}
