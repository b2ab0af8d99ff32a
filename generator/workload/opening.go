package workload

import (
	"math"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/media"
)

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
	systemTokens float64
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
	out.systemTokens = d.ruler.tokens(out.system)
	return out, float64(out.tokens) - d.ruler.overhead - out.systemTokens
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

// blank separates texts of different origin in a message.
const blank = "\n\n"

// join puts a blank line between texts that are not empty.
func join(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(texts, blank)
}
