package workload

import (
	"math/rand/v2"
	"strings"
)

// Corpus says what prompts are made of.
type Corpus string

// The choices of corpus.
const (
	CorpusWords Corpus = "words" // common English words in random order
	CorpusText  Corpus = "text"  // passages of a novel, from a random place on
	CorpusCode  Corpus = "code"  // program code, log lines and JSON, made by a grammar
)

// corpora are the texts by name.
var corpora = map[Corpus]func() corpus{
	CorpusWords: func() corpus { return english() },
	CorpusText:  func() corpus { return novel() },
	CorpusCode:  func() corpus { return grammar{} },
}

// Valid tells whether the choice is one of the list.
func (c Corpus) Valid() bool { return corpora[c] != nil }

// corpus makes text. It is safe for concurrent use.
type corpus interface {
	// fill appends text of exactly size bytes, or nothing if that is too little. It begins with a space or a line end, follows from random
	// only, and but for its last words a longer text begins like a shorter one. All of it is ASCII.
	fill(b *strings.Builder, size int, random rand.PCG)
	// perByte is about how many tokens there are for a byte, before anything is learned.
	perByte() float64
}

// write is text of size bytes that stands at the beginning of something, without the space in front.
func write(c corpus, size int, random rand.PCG) string {
	if size <= 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(size + 1)
	c.fill(&b, size+1, random)
	if b.Len() == 0 {
		return ""
	}
	return b.String()[1:]
}
