package workload

import (
	_ "embed"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// wordList is common English words of minWord to maxWord lower-case letters, one a line. Most tokenizers have a token for each of them.
//
//go:embed words.txt
var wordList string

const (
	minWord, maxWord = 2, 10
	// minText is how much is left when the end of a text is fitted, in bytes: two of the longest words, their spaces and a full stop.
	minText = 2*(maxWord+1) + 1
)

// wordCorpus is a list of words that are shuffled into sentences.
type wordCorpus struct {
	words       []string              // ascending by length
	byLength    [maxWord + 1][]string // parts of words
	short, long []string              // parts of words: below and above the mean cost
	cost        int                   // sum over words of what a word costs in bytes: its letters and a space
}

// english is the embedded corpus, read once for all targets.
//
//nolint:gochecknoglobals // never changes
var english = sync.OnceValue(func() *wordCorpus { return newWordCorpus(strings.Fields(wordList)) })

// newWordCorpus makes a corpus of words of every length from minWord to maxWord.
func newWordCorpus(words []string) *wordCorpus {
	slices.SortStableFunc(words, func(a, b string) int { return len(a) - len(b) })
	c := &wordCorpus{words: words}
	for start, end := 0, 0; start < len(words); start = end {
		for end < len(words) && len(words[end]) == len(words[start]) {
			end++
		}
		c.byLength[len(words[start])] = words[start:end]
		c.cost += (end - start) * (len(words[start]) + 1)
	}
	split := slices.IndexFunc(words, func(w string) bool { return (len(w)+1)*len(words) > c.cost })
	c.short, c.long = words[:split], words[split:]
	return c
}

// perByte implements corpus: what byte-pair tokenizers of 50,000 to 200,000 tokens make of it (0.171 to 0.172 were measured).
func (c *wordCorpus) perByte() float64 { return 0.175 }

// fill implements corpus. It writes nothing if size is too little for a word and a full stop.
func (c *wordCorpus) fill(b *strings.Builder, size int, random rand.PCG) {
	if size < minWord+2 {
		return
	}
	t := text{wordCorpus: c, b: b, random: random}
	t.fill(size)
}

// text is sentences being written.
type text struct {
	*wordCorpus
	b      *strings.Builder
	random rand.PCG

	sentence int // words left in the sentence; 0 = the next word starts one
	words    int // written so far
	bytes    int // of these words, with their spaces
}

// fill writes sentences of exactly size bytes, which are enough for a word and a full stop.
func (t *text) fill(size int) {
	for size > minText {
		size -= t.word(t.list())
		if t.sentence == 0 {
			t.b.WriteByte('.')
			size--
		}
	}
	if t.sentence > 0 {
		t.sentence += 2 // the last words belong to it
	}
	for size--; size > 0; { // the last byte is the full stop
		cost := size
		if cost > maxWord+1 {
			cost = min(maxWord+1, size/2)
		}
		size -= t.word(t.byLength[cost-1])
	}
	t.b.WriteByte('.')
}

// list chooses the words to draw from so that the number of words stays in step with the number of bytes. Tokenizers that count words
// and tokenizers that count bytes then both see a length that is proportional to size.
func (t *text) list() []string {
	const slack = 4 // bytes
	ahead := t.bytes*len(t.wordCorpus.words) - t.words*t.cost
	switch {
	case ahead > slack*len(t.wordCorpus.words):
		return t.short
	case ahead < -slack*len(t.wordCorpus.words):
		return t.long
	}
	return t.wordCorpus.words
}

// word writes a space and a word of list, with a capital at the start of a sentence, and returns their size.
func (t *text) word(list []string) int {
	w := list[t.below(len(list))]
	size := len(w) + 1
	t.b.WriteByte(' ')
	if t.sentence == 0 {
		t.sentence = 6 + t.below(9)
		t.b.WriteByte(w[0] - 'a' + 'A')
		w = w[1:]
	}
	t.b.WriteString(w)
	t.sentence--
	t.words++
	t.bytes += size
	return size
}

// below is a random number in [0, n).
func (t *text) below(n int) int { return below(&t.random, n) }

// below is a random number in [0, n), without the allocation of a rand.Rand.
func below(random *rand.PCG, n int) int {
	hi, _ := bits.Mul64(random.Uint64(), uint64(n))
	return int(hi)
}
