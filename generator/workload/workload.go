package workload

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
)

// Workload makes the turns of one target. Safe for concurrent use.
//
// Lengths and words follow from the seed, and the words of a turn do not depend on what was learned before: a longer prompt begins with
// the words of a shorter one. Only the nonce differs from process to process, so that a restart never meets its own prompts in a cache.
type Workload struct {
	config     *Config
	asker      asker
	streams    streams
	firstNonce uint64
	tokenizer  Tokenizer // nil = there is none
	onSkip     func(error)

	mu          sync.Mutex // guards everything below, and the texts and files of asker
	begun       uint64     // conversations
	draws       *mathrand.Rand
	source      mathrand.PCG // of draws, seeded anew for each use
	calibration calibration
	template    template
	sessions    sessions
	users       map[uint64]bool       // whose first conversation has begun
	turnsLeft   func(user uint64) int // of that conversation; nil = all
	recording   *Recording
}

// asker makes the turns of one kind of workload.
type asker interface {
	// begin is told of a new conversation, and gives it its turns. Called under the lock.
	begin(w *Workload, c *conversation) error
	// draft decides what the next turn needs that may change from turn to turn. Called under the lock.
	draft(c *conversation, d *draft)
	// ask writes the next turn. The conversation is the caller's.
	ask(c *conversation, d *draft) (*Turn, error)
	// close gives back what begin uses.
	close() error
}

// draft is what is decided of a turn before its text is written.
type draft struct {
	input, output int // lengths as drawn
	ruler         ruler
	shared, pool  string  // texts that conversations share, as they are now
	blockFit      float64 // tokens for a byte by which the blocks of a recording are made
	repeated      string  // text that each conversation repeats in this turn; "" = none
}

// New makes the turns of a validated c for a target. It opens the files that c names; tokenizers are taken from the shelf, nil = none.
func New(c *Config, tokenizers *tokenizer.Shelf, rootSeed uint64, target string) (*Workload, error) {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails: without entropy the program ends
	w := &Workload{
		config:     c,
		streams:    newStreams(seed.Derive(rootSeed, "workload", target)),
		firstNonce: binary.BigEndian.Uint64(nonce[:]),
		sessions:   newSessions(),
		users:      map[uint64]bool{},
	}
	w.draws = mathrand.New(&w.source)
	if err := w.measure(corpora[c.Corpus](), tokenizers); err != nil {
		return nil, err
	}
	var err error
	switch {
	case c.Dataset.Enabled():
		w.asker, err = newRecorded(w, seed.Derive(rootSeed, "workload.dataset", target))
	case len(c.Prompts) > 0:
		w.asker, err = newQuestions(w)
	default:
		w.asker, err = newSynthetic(w)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// sample is how much text of a corpus a tokenizer counts to know about how many tokens there are for a byte.
const sample = 4096

// measure makes the first guess of how many tokens a text has.
func (w *Workload) measure(c corpus, tokenizers *tokenizer.Shelf) error {
	perByte := c.perByte()
	if path := w.config.Tokenizer.File; path != "" {
		t, err := tokenizers.Load(path)
		if err != nil {
			return err
		}
		w.tokenizer = t
		perByte = max(minPerByte, float64(t.Count(write(c, sample, w.streams.at(streamPrompt, 0, 0))))/sample)
	}
	w.calibration = newCalibration(perByte)
	return nil
}

// Counts tells whether Count does.
func (w *Workload) Counts() bool { return w.tokenizer != nil }

// Count is the number of tokens of a text, such as an answer of which the server did not tell it; false without a tokenizer.
func (w *Workload) Count(text string) (int, bool) {
	if w.tokenizer == nil {
		return 0, false
	}
	return w.tokenizer.Count(text), true
}

// Close closes the files of the workload.
func (w *Workload) Close() error { return w.asker.close() }

// StartUsers tells how many turns the first conversation of each user still has, as if the users had been there for ever and were in the
// middle of one; 0 = all. Call it before Next.
func (w *Workload) StartUsers(turnsLeft func(user uint64) int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turnsLeft = turnsLeft
}

// Next makes the next turn. Tell Done how it ended.
//
// A prompt is never shorter than its nonce; if the wished length is, InputTokens says what is expected instead.
func (w *Workload) Next(p Pick) (*Turn, error) {
	c, d, err := w.prepare(p)
	if err != nil {
		return nil, err
	}
	turn, err := w.asker.ask(c, &d)
	if err != nil {
		w.mu.Lock()
		w.sessions.end(c, &w.sessions.stats.failed)
		w.mu.Unlock()
		return nil, err
	}
	turn.Session, turn.Parent, turn.Index, turn.conversation = c.id, c.parentID, c.asked, c
	if c.rows == nil && c.row != nil { // replayed
		turn.Index = c.row.Index
	}
	if turn.OutputTokens == 0 {
		turn.OutputTokens = d.output
	}
	c.asked++
	return turn, nil
}

// maxEnded bounds how many conversations in a row may turn out to be at their end.
const maxEnded = 1000

var errNothingFits = errors.New("no conversation fits into max_context_tokens")

// prepare finds the conversation whose turn it is, and what the turn needs.
func (w *Workload) prepare(p Pick) (*conversation, draft, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions.now = p.Now
	if p.Entry != 0 {
		return w.prepareRecorded(p.Entry)
	}
	for range maxEnded {
		c := w.sessions.take(p.Now, p.User)
		if c == nil {
			var err error
			if c, err = w.begin(p.User); err != nil {
				return nil, draft{}, err
			}
		}
		if d := w.draw(c); w.fits(c, &d) {
			return c, d, nil
		}
		w.sessions.end(c, &w.sessions.stats.truncated)
	}
	return nil, draft{}, errNothingFits
}

// fits tells whether the next turn of a conversation stays within the context. A made-up first turn is asked in any case.
func (w *Workload) fits(c *conversation, d *draft) bool {
	limit := w.config.MaxContextTokens
	return limit == 0 || (c.asked == 0 && !w.config.Dataset.Enabled()) || c.tokens+d.input+d.output <= limit
}

// begin makes a new conversation.
func (w *Workload) begin(user uint64) (*conversation, error) {
	c := w.sessions.begin(w.begun, user)
	w.begun++
	if w.config.Cache != CacheRepeat {
		c.nonce = w.nonce(c.number)
	}
	if err := w.asker.begin(w, c); err != nil {
		w.sessions.end(c, new(atomic.Int64))
		return nil, err
	}
	if user != 0 && !w.users[user] {
		w.users[user] = true
		if w.turnsLeft != nil && w.turnsLeft(user) > 0 {
			c.turns = min(c.turns, w.turnsLeft(user))
		}
	}
	if c.several() {
		w.sessions.stats.active.Add(1)
	}
	return c, nil
}

// draw decides the lengths of the next turn of a conversation.
func (w *Workload) draw(c *conversation) draft {
	number := c.number
	if w.config.Cache == CacheRepeat {
		number = 0
	}
	w.source = w.streams.at(streamLengths, number, c.asked)
	d := draft{ruler: ruler{overhead: w.calibration.overhead, perByte: w.calibration.perByte, tokenizer: w.tokenizer}}
	if w.tokenizer != nil {
		d.ruler.overhead = w.template.overhead()
	}
	switch cfg := w.config; {
	case len(cfg.Sequence) > 0:
		d.input, d.output = cfg.Sequence.draw(w.draws)
	case cfg.RangeRatio.on():
		d.input = cfg.RangeRatio.draw(w.draws, cfg.InputTokens.Mean, cfg.RangeRatio.Input)
		d.output = cfg.RangeRatio.draw(w.draws, cfg.OutputTokens.Mean, cfg.RangeRatio.Output)
	default:
		d.input, d.output = cfg.InputTokens.draw(w.draws), cfg.OutputTokens.draw(w.draws)
	}
	w.asker.draft(c, &d)
	return d
}

// Done tells how a turn ended. Call it once for each turn of Next.
func (w *Workload) Done(turn *Turn, end End) {
	c := turn.conversation
	if c == nil {
		return
	}
	turn.conversation = nil
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions.now = end.Now
	switch {
	case end.Unsent && c.row != nil && c.rows == nil && c.replay == sessionKey{}:
		w.sessions.end(c, new(atomic.Int64)) // a recorded turn that stands alone
		return
	case end.Unsent:
		c.asked--
		c.asking = nil
		c.due = end.Now
		if c.replay != (sessionKey{}) {
			c.due = math.MaxInt64
		}
		w.sessions.put(c)
		return
	case !end.OK:
		w.sessions.end(c, &w.sessions.stats.failed)
		return
	}
	if c.rows != nil {
		row := c.drop()
		w.spawn(c, &row, end.Now)
	}
	if c.asked >= c.turns {
		w.sessions.end(c, &w.sessions.stats.completed)
		return
	}
	c.answered(turn, &end, w.calibration.perByte)
	c.due = w.due(c, end.Now)
	w.sessions.put(c)
}

// due is when the next turn of a conversation may be asked whose answer came now.
func (w *Workload) due(c *conversation, now int64) int64 {
	switch {
	case c.replay != sessionKey{}:
		return math.MaxInt64 // never by itself: the load asks for it by its entry
	case len(c.rows) > 0:
		return now + int64(c.rows[c.asked].Delay)
	}
	w.source = w.streams.at(streamDelays, c.number, c.asked)
	return now + int64(w.config.TurnDelay.draw(w.draws))
}

// nonce gives each conversation another number: a bijection of first nonce + conversation in which all bits depend on all bits, as 16
// hexadecimal digits.
func (w *Workload) nonce(number uint64) string {
	return hexadecimal(mix(w.firstNonce + number))
}

// Learn takes in how many tokens the server counted for the prompt of a turn, its chat template included. Later prompts then have the
// wished length by the server's own count. Impossible counts are ignored.
func (w *Workload) Learn(turn *Turn, promptTokens int64) {
	if turn.PromptBytes <= 0 || promptTokens <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calibration.observe(turn.PromptBytes, promptTokens)
	if w.tokenizer != nil {
		w.template.observe(float64(promptTokens) - turn.textTokens)
	}
}

// OnSkip has each row of the dataset that is passed over told, with its place. Call it before Next; tell must not wait.
func (w *Workload) OnSkip(tell func(error)) { w.onSkip = tell }

func (w *Workload) skipped(err error) {
	if w.onSkip != nil {
		w.onSkip(err)
	}
}

// Sessions counts the conversations of several turns.
func (w *Workload) Sessions() Sessions {
	return w.sessions.stats.now()
}

// Questions are the texts that Turn.Fixed numbers from 1; none if there are none, or if they are not asked as they stand.
func (w *Workload) Questions() []string {
	if w.config.Cache != CacheRepeat {
		return nil
	}
	return w.config.Prompts
}
