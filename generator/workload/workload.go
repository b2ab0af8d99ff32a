package workload

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	mathrand "math/rand/v2"
	"sync"

	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
)

// Turn is one thing to ask.
type Turn struct {
	Prompt string
	// InputTokens is the nominal length of Prompt; what the server counts is learned from its usage.
	InputTokens int
	// OutputTokens is the wished length of the answer; 0 = no limit.
	OutputTokens int
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
func (w *Workload) Next() Turn {
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
	return Turn{Prompt: w.corpus.prompt(size, w.nonce(turn), random), InputTokens: input, OutputTokens: output}
}

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
