package workload

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
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

	// nonceSize is the size of the hexadecimal number that starts each prompt, in bytes.
	nonceSize = 16
	// instruction ends each prompt that has room for it, so that a model which can stop by itself answers at length.
	instruction = "\n\nContinue this text with many more sentences."
	// minText is how much text a prompt must have before it gets the instruction, and how much is left when the end is fitted, in bytes:
	// two of the longest words, their spaces and a full stop.
	minText = 2*(maxWord+1) + 1
)

// corpus is a list of words that are shuffled into sentences.
type corpus struct {
	words       []string              // ascending by length
	byLength    [maxWord + 1][]string // parts of words
	short, long []string              // parts of words: below and above the mean cost
	cost        int                   // sum over words of what a word costs in bytes: its letters and a space
}

// english is the embedded corpus, read once for all targets.
//
//nolint:gochecknoglobals // never changes
var english = sync.OnceValue(func() *corpus { return newCorpus(strings.Fields(wordList)) })

// newCorpus makes a corpus of words of every length from minWord to maxWord.
func newCorpus(words []string) *corpus {
	slices.SortStableFunc(words, func(a, b string) int { return len(a) - len(b) })
	c := &corpus{words: words}
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

// prompt is nonce, sentences and instruction of exactly size bytes, or the nonce alone if size has no room for a word. The words depend
// only on random; a longer prompt begins like a shorter one.
func (c *corpus) prompt(size int, nonce uint64, random rand.PCG) string {
	t := text{corpus: c, random: random}
	t.b.Grow(max(size, nonceSize))
	t.nonce(nonce)
	left := size - nonceSize
	end := ""
	if left >= minText+len(instruction) {
		end = instruction
		left -= len(end)
	}
	t.fill(left)
	t.b.WriteString(end)
	return t.b.String()
}

// text is a prompt being written.
type text struct {
	*corpus
	b      strings.Builder
	random rand.PCG

	sentence int // words left in the sentence; 0 = the next word starts one
	words    int // written so far
	bytes    int // of these words, with their spaces
}

// nonce comes first, because prefix caches compare from the first token on.
func (t *text) nonce(n uint64) {
	var raw [8]byte
	var digits [nonceSize]byte
	binary.BigEndian.PutUint64(raw[:], n)
	hex.Encode(digits[:], raw[:])
	t.b.Write(digits[:])
}

// fill writes sentences of exactly size bytes, or nothing if that is too little for a word and a full stop.
func (t *text) fill(size int) {
	if size < minWord+2 {
		return
	}
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
	ahead := t.bytes*len(t.corpus.words) - t.words*t.cost
	switch {
	case ahead > slack*len(t.corpus.words):
		return t.short
	case ahead < -slack*len(t.corpus.words):
		return t.long
	}
	return t.corpus.words
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
func (t *text) below(n int) int {
	hi, _ := bits.Mul64(t.random.Uint64(), uint64(n))
	return int(hi)
}
