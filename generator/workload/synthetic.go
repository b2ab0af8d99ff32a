package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/media"
)

const (
	// instruction ends each prompt that has room for it, so that a model which can stop by itself answers at length.
	instruction = "\n\nContinue this text with many more sentences."
	// blank separates texts of different origin in a message.
	blank = "\n\n"
)

// synthetic makes prompts up.
type synthetic struct {
	opener
	turns    Length
	batch    int
	passages Passages
	repeats  bool
	repeated []pinned // by turn, with cache: repeat
}

func newSynthetic(w *Workload) (*synthetic, error) {
	c := w.config
	o, err := newOpener(w)
	if err != nil {
		return nil, err
	}
	return &synthetic{opener: *o, turns: c.Turns, batch: c.Batch, passages: c.Passages, repeats: c.Cache == CacheRepeat}, nil
}

func (s *synthetic) close() error { return nil }

// begin implements asker.
func (s *synthetic) begin(w *Workload, c *conversation) error {
	w.source = w.streams.at(streamDelays, c.number, 0)
	c.turns = min(s.turns.draw(w.draws), maxTurns)
	return nil
}

// draft implements asker.
func (s *synthetic) draft(_ *Workload, c *conversation, d *draft) {
	s.pin(c, d)
	if !s.repeats || s.batch > 1 || s.passages.Count > 0 {
		return
	}
	for len(s.repeated) <= c.asked {
		s.repeated = append(s.repeated, pinned{})
	}
	wish, head := float64(d.input), ""
	if c.asked == 0 {
		var o opening
		o, wish = s.open(c, d, "")
		head = o.head
	}
	d.repeated = s.repeated[c.asked].at(&d.ruler, wish, func(size int) string { return s.message(head, size, s.words(c, 0)) })
}

// ask implements asker.
func (s *synthetic) ask(c *conversation, d *draft) (*Turn, error) {
	switch {
	case s.passages.Count > 0:
		return s.ranking(c, d), nil
	case s.batch > 1:
		return s.texts(c, d), nil
	case c.asked > 0:
		return s.further(c, d)
	}
	o, wish := s.open(c, d, "")
	text, tokens := d.repeated, d.ruler.tokens(d.repeated)
	if text == "" {
		text, tokens = d.ruler.sized(wish, least(o.head), func(size int) string { return s.message(o.head, size, s.words(c, 0)) })
	}
	c.system = o.system
	turn, err := s.say(c, text, d)
	if err != nil {
		return nil, err
	}
	system := d.ruler.tokens(o.system)
	turn.textTokens = system + tokens
	turn.InputTokens = o.tokens
	if expected := int(math.Round(d.ruler.overhead + system + tokens)); len(text) <= least(o.head) && expected > turn.InputTokens {
		turn.InputTokens = expected // there was no room for the nonce
	}
	turn.PromptBytes = len(o.system) + len(text)
	if !s.media.Empty() {
		turn.PromptBytes = 0 // the server counts the media, too
	}
	c.tokens = turn.InputTokens
	return turn, nil
}

// further makes a turn behind the first. Its message is as long as wished, and the server counts the whole conversation.
func (s *synthetic) further(c *conversation, d *draft) (*Turn, error) {
	text := d.repeated
	if text == "" {
		text, _ = d.ruler.sized(float64(d.input), least(""), func(size int) string { return s.message("", size, s.words(c, c.asked)) })
	}
	turn, err := s.say(c, text, d)
	if err != nil {
		return nil, err
	}
	c.tokens += d.input
	turn.InputTokens = c.tokens
	return turn, nil
}

// words is the generator of the words of a turn.
func (s *synthetic) words(c *conversation, turn int) rand.PCG {
	return s.streams.at(streamPrompt, s.numberOf(c), turn)
}

// texts makes a turn of several texts, each of input_tokens tokens.
func (s *synthetic) texts(c *conversation, d *draft) *Turn {
	turn := &Turn{InputTokens: s.batch * d.input}
	parts := make([]prompt.Part, s.batch)
	for i := range parts {
		head := ""
		if c.nonce != "" {
			head = hexadecimal(mix(s.firstNonce + c.number*uint64(s.batch) + uint64(i)))
		}
		wish := float64(d.input) - d.ruler.overhead/float64(s.batch)
		random := s.streams.at(streamPassage, s.numberOf(c), i)
		var tokens float64
		parts[i].Text, tokens = d.ruler.sized(wish, least(head), func(size int) string { return s.plain(head, size, random) })
		turn.PromptBytes += len(parts[i].Text)
		turn.textTokens += tokens
	}
	turn.Prompt.Messages = []prompt.Message{{Role: prompt.User, Parts: parts}}
	return turn
}

// ranking makes a turn of a query and its passages. Servers count such turns in ways of their own, so nothing is learned from them.
func (s *synthetic) ranking(c *conversation, d *draft) *Turn {
	parts := make([]prompt.Part, 1+s.passages.Count)
	for i := range parts {
		head, tokens := "", s.passages.Tokens
		parts[i].Name = prompt.Passages
		if i == 0 {
			parts[i].Name, head, tokens = prompt.Query, c.nonce, d.input
		}
		random := s.streams.at(streamPassage, s.numberOf(c), i)
		parts[i].Text, _ = d.ruler.sized(float64(tokens), least(head), func(size int) string { return s.plain(head, size, random) })
	}
	return &Turn{
		InputTokens: d.input + s.passages.Count*s.passages.Tokens,
		Prompt:      prompt.Prompt{Messages: []prompt.Message{{Role: prompt.User, Parts: parts}}},
	}
}

// least is the size of the shortest message with this head: a word and a full stop if there is none, because servers refuse empty texts.
func least(head string) int { return max(len(head), minWord+1) }

// plain is head and text of size bytes in all, or of the head alone.
func (s *synthetic) plain(head string, size int, random rand.PCG) string {
	if head == "" {
		return write(s.corpus, size, random)
	}
	var b strings.Builder
	b.Grow(max(size, len(head)))
	b.WriteString(head)
	s.corpus.fill(&b, size-len(head), random)
	return b.String()
}

// message is head, text and instruction of size bytes in all, or the head alone if there is no room for a word. The words depend only on
// random; a longer message begins like a shorter one.
func (s *synthetic) message(head string, size int, random rand.PCG) string {
	return message(s.corpus, head, size, random)
}

func message(c corpus, head string, size int, random rand.PCG) string {
	left := size - len(head)
	end := ""
	if left >= minText+len(instruction) {
		end = instruction
		left -= len(end)
	}
	if head == "" {
		return write(c, left, random) + end
	}
	var b strings.Builder
	b.Grow(max(size, len(head)))
	b.WriteString(head)
	c.fill(&b, left, random)
	b.WriteString(end)
	return b.String()
}

// say makes the turn in which the user says a text, with the media that stand beside it.
func (o *opener) say(c *conversation, text string, d *draft) (*Turn, error) {
	m := prompt.TextMessage(prompt.User, text)
	if !o.media.Empty() {
		parts, err := o.media.Parts(o.streams.seeds(streamMedia, o.numberOf(c), c.asked))
		if err != nil {
			return nil, err
		}
		m.Parts = append(m.Parts, parts...)
	}
	return c.say(&Turn{OutputTokens: d.output}, m), nil
}

// opener makes what conversations begin with.
type opener struct {
	corpus     corpus
	streams    streams
	firstNonce uint64
	cache      Cache
	prefix     Prefix
	verbatim   string // the system prompt of the configuration
	media      *media.Maker

	shared pinned
	pool   []pinned
}

func newOpener(w *Workload) (*opener, error) {
	c := w.config
	verbatim, err := c.systemPrompt()
	if err != nil {
		return nil, err
	}
	m, err := media.New(&c.Images, &c.Audio, &c.Video)
	if err != nil {
		return nil, err
	}
	return &opener{
		corpus: corpora[c.Corpus](), streams: w.streams, firstNonce: w.firstNonce, cache: c.Cache, prefix: c.Prefix, verbatim: verbatim, media: m,
		pool: make([]pinned, c.Prefix.Pool.Size),
	}, nil
}

// numberOf is the number of a conversation by which its words are chosen.
func (o *opener) numberOf(c *conversation) uint64 {
	if o.cache == CacheRepeat {
		return 0
	}
	return c.number
}

// pin makes the texts that conversations share as long as they should be by what is known now.
func (o *opener) pin(c *conversation, d *draft) {
	if c.asked > 0 {
		return
	}
	if n := o.prefix.SharedTokens; n > 0 {
		d.shared = o.shared.at(&d.ruler, float64(n), func(size int) string { return write(o.corpus, size, o.streams.at(streamShared, 0, 0)) })
	}
	if len(o.pool) > 0 {
		choice := o.streams.at(streamPoolChoice, o.numberOf(c), 0)
		i := below(&choice, len(o.pool))
		d.pool = o.pool[i].at(&d.ruler, float64(o.prefix.Pool.Tokens), func(size int) string {
			return write(o.corpus, size, o.streams.at(streamPool, uint64(i), 0))
		})
	}
}

// opening is the beginning of a conversation.
type opening struct {
	system, head string // head opens the first message
	tokens       int    // of the whole prompt
}

// open makes the beginning of a conversation whose recording has a system prompt of its own or none, and tells how many tokens the first
// message has with its head.
func (o *opener) open(c *conversation, d *draft, system string) (out opening, message float64) {
	out.system = join(o.verbatim, d.shared, system)
	out.tokens = d.input + o.prefix.SharedTokens + o.prefix.PerSessionTokens
	if d.pool != "" {
		out.tokens += o.prefix.Pool.Tokens
	}
	if given := o.verbatim + system; given != "" {
		out.tokens += int(math.Round(d.ruler.tokens(given)))
	}
	var own string
	if n := o.prefix.PerSessionTokens; n > 0 {
		random := o.streams.at(streamSession, o.numberOf(c), 0)
		own, _ = d.ruler.sized(float64(n), 0, func(size int) string { return write(o.corpus, size, random) })
	}
	switch {
	case o.cache == CacheSharedPrefix:
		out.head = join(d.pool, c.nonce, own)
	case out.system != "":
		out.system = join(c.nonce, out.system)
		out.head = join(d.pool, own)
	default:
		out.head = join(c.nonce, d.pool, own)
	}
	return out, float64(out.tokens) - d.ruler.overhead - d.ruler.tokens(out.system)
}

// join puts a blank line between texts that are not empty.
func join(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(texts, blank)
}
