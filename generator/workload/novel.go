package workload

import (
	_ "embed"
	"math/rand/v2"
	"strings"
	"sync"
)

// holmes is the first three stories of Arthur Conan Doyle, The Adventures of Sherlock Holmes (1892), which is in the public domain, after
// the transcription of Project Gutenberg, number 1661: a paragraph a line, accents and headings left out.
//
//go:embed holmes.txt
var holmes string

// novel is the embedded book.
//
//nolint:gochecknoglobals // never changes
var novel = sync.OnceValue(func() *bookCorpus {
	b := &bookCorpus{text: holmes}
	for i := 1; i < len(holmes); i++ {
		if holmes[i-1] == ' ' {
			b.starts = append(b.starts, int32(i))
		}
	}
	return b
})

// bookCorpus is running text, of which each prompt is another window.
type bookCorpus struct {
	text   string
	starts []int32 // of words
}

// perByte implements corpus (0.229 to 0.230 were measured with Llama 3, DeepSeek V4 and Qwen).
func (b *bookCorpus) perByte() float64 { return 0.23 }

// fill implements corpus: the window begins with a word and goes on from the beginning of the book after its end.
func (b *bookCorpus) fill(out *strings.Builder, size int, random rand.PCG) {
	if size < 2 {
		return
	}
	out.WriteByte(' ')
	size--
	for from := int(b.starts[below(&random, len(b.starts))]); size > 0; from = 0 {
		part := b.text[from:min(len(b.text), from+size)]
		out.WriteString(part)
		size -= len(part)
	}
}
