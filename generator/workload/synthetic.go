package workload

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// instruction ends each prompt that has room for it, so that a model which can stop by itself answers at length.
const instruction = "\n\nContinue this text with many more sentences."

// synthetic makes prompts up.
type synthetic struct {
	opener
	turns    Length
	batch    int
	passages Passages
	repeated []pinned // by turn, with cache: repeat
}

func newSynthetic(w *Workload) (*synthetic, error) {
	c := w.config
	o, err := newOpener(w)
	if err != nil {
		return nil, err
	}
	return &synthetic{opener: *o, turns: c.Turns, batch: c.Batch, passages: c.Passages}, nil
}

func (s *synthetic) close() error { return nil }

// begin implements asker.
func (s *synthetic) begin(w *Workload, c *conversation) error {
	w.source = w.streams.at(streamDelays, c.number, 0)
	c.turns = min(s.turns.draw(w.draws), maxTurns)
	return nil
}

// draft implements asker.
func (s *synthetic) draft(c *conversation, d *draft) {
	s.pin(c, d)
	if s.cache != CacheRepeat || s.batch > 1 || s.passages.Count > 0 {
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
	turn.textTokens = o.systemTokens + tokens
	turn.InputTokens = o.tokens
	if expected := int(math.Round(d.ruler.overhead + o.systemTokens + tokens)); len(text) <= least(o.head) && expected > turn.InputTokens {
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
