// Package engine imitates a continuous-batching inference engine: which sequences are computed together, how long a step takes, which
// tokens it gives. It is pure: no goroutines, no timers, and every instant is handed in; whoever drives it waits for the steps to pass.
//
// The model is small but it is that of the real thing. The engine works in steps. Each step decodes one token for every sequence that
// has its prompt behind it, and fills what is left of its token budget with prompt tokens, first those of prompts already begun, then
// those of waiting requests, as long as there is a place in the batch and room in the key-value cache. The step's time grows with what it
// computes. So the first token comes later behind a queue and after a longer prompt; tokens come slower in a larger batch and while
// somebody else's prompt is computed; and when the cache is full, the youngest sequence is preempted and computed again.
package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// backgroundContext is the assumed length of a background sequence, in tokens of the key-value cache.
const backgroundContext = 512

// Sequence is one request inside the engine. The exported fields above the stamps are its caller's and do not change once added; all
// others are the engine's, and stable while no method of the engine runs.
type Sequence struct {
	PromptTokens int
	// Limit is how many tokens the answer has. PromptTokens + Limit must not exceed MaxContext.
	Limit int
	// Emit is called at the end of each step that gave the sequence a token; it must not call the engine.
	Emit func(now time.Time)

	Arrived    time.Time // added
	Scheduled  time.Time // first put into a batch
	FirstToken time.Time
	LastToken  time.Time
	// Generated counts the tokens given so far.
	Generated int

	computed int // tokens of the context whose keys and values are in the cache
	chunk    int // tokens that the step in progress computes
}

// Done tells that the answer is whole.
func (s *Sequence) Done() bool { return s.Generated == s.Limit }

// context is the number of tokens that must be computed before the next one can be given.
func (s *Sequence) context() int { return s.PromptTokens + s.Generated }

// decoding tells that the sequence only needs its newest token computed.
func (s *Sequence) decoding() bool { return s.Generated > 0 && s.context()-s.computed == 1 }

// Load is what the engine is busy with, background included.
type Load struct {
	Running, Waiting int
	CacheUsage       float64 // 0 to 1
}

// Engine holds the batch and the queue. It is not safe for concurrent use.
type Engine struct {
	cfg     Config
	epoch   time.Time
	rng     *rand.Rand
	running []*Sequence // in the order of admission
	waiting []*Sequence // in the order of arrival, preempted ones in front

	preemptions uint64
}

// New makes an idle engine whose background load starts at epoch. The same seed gives the same times for the same calls.
func New(cfg Config, seed uint64, epoch time.Time) *Engine {
	return &Engine{cfg: cfg, epoch: epoch, rng: rand.New(rand.NewPCG(seed, 0))}
}

// Add puts a sequence into the queue.
func (e *Engine) Add(s *Sequence, now time.Time) {
	s.Arrived = now
	e.waiting = append(e.waiting, s)
}

// Cancel forgets a sequence; false if it is not there, because it is done or was cancelled before.
func (e *Engine) Cancel(s *Sequence) bool {
	for _, list := range []*[]*Sequence{&e.running, &e.waiting} {
		if i := slices.Index(*list, s); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
			return true
		}
	}
	return false
}

// Idle tells that there is nothing to compute.
func (e *Engine) Idle() bool { return len(e.running)+len(e.waiting) == 0 }

// Begin forms the batch of the next step and tells how long the step takes, multiplied by slowdown; false if the engine is idle.
func (e *Engine) Begin(now time.Time, slowdown float64) (took time.Duration, busy bool) {
	if e.Idle() {
		return 0, false
	}
	others := e.others(now)
	preempted := e.makeRoom(others)
	budget := e.cfg.MaxStepTokens
	decodes, prompts := 0, 0
	for _, s := range e.running {
		s.chunk = min(s.context()-s.computed, budget)
		budget -= s.chunk
		if s.decoding() {
			decodes++
		} else {
			prompts += s.chunk
		}
	}
	if !preempted {
		prompts += e.admit(now, budget, others)
	}
	step := float64(e.cfg.StepTime) + float64(e.cfg.DecodeTime)*(float64(decodes)+others) +
		float64(e.cfg.PrefillTime)*float64(prompts)
	return time.Duration(step * slowdown * e.jitter()), true
}

// makeRoom preempts the youngest sequences until each of the others can have its next tokens in the cache.
func (e *Engine) makeRoom(others float64) (preempted bool) {
	used, capacity := e.used(), e.capacity(others)
	for len(e.running) > 1 && used > capacity {
		youngest := len(e.running) - 1
		last := e.running[youngest]
		e.running = slices.Delete(e.running, youngest, youngest+1)
		used -= last.need()
		last.computed, last.chunk = 0, 0
		e.waiting = slices.Insert(e.waiting, 0, last)
		e.preemptions++
		preempted = true
	}
	return preempted
}

// admit moves waiting sequences into the batch while there are places, tokens in the budget and room in the cache, and gives the number
// of prompt tokens that the step computes for them. An empty batch takes one whatever the background leaves.
func (e *Engine) admit(now time.Time, budget int, others float64) (prompts int) {
	places := max(1, e.cfg.MaxRunning-int(math.Round(others)))
	used, capacity := e.used(), e.capacity(others)
	for len(e.waiting) > 0 && len(e.running) < places && budget > 0 {
		s := e.waiting[0]
		used += s.need()
		if used > capacity && len(e.running) > 0 {
			break
		}
		e.waiting = slices.Delete(e.waiting, 0, 1)
		e.running = append(e.running, s)
		if s.Scheduled.IsZero() {
			s.Scheduled = now
		}
		s.chunk = min(s.context()-s.computed, budget)
		budget -= s.chunk
		prompts += s.chunk
	}
	return prompts
}

// End completes the step that Begin began: it gives a token to the sequences whose context is computed, and lets the done ones go.
func (e *Engine) End(now time.Time) {
	for _, s := range e.running {
		s.computed += s.chunk
		s.chunk = 0
		if s.computed < s.context() {
			continue
		}
		if s.FirstToken.IsZero() {
			s.FirstToken = now
		}
		s.Generated++
		s.LastToken = now
		s.Emit(now)
	}
	e.running = slices.DeleteFunc(e.running, (*Sequence).Done)
}

// jitter draws a factor with mean 1.
func (e *Engine) jitter() float64 {
	if e.cfg.Jitter == 0 {
		return 1
	}
	sigma := e.cfg.Jitter
	return math.Exp(sigma*e.rng.NormFloat64() - sigma*sigma/2)
}

// others is the number of background sequences.
func (e *Engine) others(now time.Time) float64 { return e.cfg.Background.at(now.Sub(e.epoch)) }

// capacity is the part of the cache that the background leaves, never less than one sequence needs.
func (e *Engine) capacity(others float64) int {
	return max(e.cfg.MaxContext, e.cfg.CacheTokens-int(others*backgroundContext))
}

// need is the room in the cache for the sequence's context and its next token.
func (s *Sequence) need() int { return s.context() + 1 }

func (e *Engine) used() int {
	used := 0
	for _, s := range e.running {
		used += s.need()
	}
	return used
}

// Load is what the engine is busy with at now.
func (e *Engine) Load(now time.Time) Load {
	others := e.others(now)
	usage := (float64(e.used()) + others*backgroundContext) / float64(e.cfg.CacheTokens)
	return Load{
		Running:    len(e.running) + int(math.Round(others)),
		Waiting:    len(e.waiting),
		CacheUsage: min(1, usage),
	}
}

// Preemptions counts the sequences that were put back into the queue because the cache was full.
func (e *Engine) Preemptions() uint64 { return e.preemptions }
