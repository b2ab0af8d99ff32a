package workload

import "sync"

// blockCache keeps the texts of the blocks that were asked for last. The prompts of a recorded agent repeat nearly all blocks of the prompt
// before, and to make one of so many tokens costs a tokenizer a thousand times as long as to look it up. Safe for concurrent use.
type blockCache struct {
	mu       sync.Mutex
	now, old map[blockKey]string // what is not asked for while now fills up goes with old
	bytes    int                 // of now
}

// blockKey is all that the text of a block depends on.
type blockKey struct {
	file, id uint64
	tokens   int
	fit      float64 // tokens for a byte by which it was made
}

// A cache holds at most twice this much, in bytes; blockOverhead is what a text costs beside its bytes.
const (
	maxBlockBytes = 16 << 20
	blockOverhead = 128
)

// get gives the text of a block, and makes it if it is not there.
func (b *blockCache) get(key blockKey, write func() string) string {
	text, known := b.look(key)
	if known {
		return text
	}
	text = write() // it takes long: others may go on, or make the same
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep(key, text)
	return text
}

func (b *blockCache) look(key blockKey) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if text, known := b.now[key]; known {
		return text, true
	}
	text, known := b.old[key]
	if known {
		b.keep(key, text)
	}
	return text, known
}

func (b *blockCache) keep(key blockKey, text string) {
	if b.now == nil || b.bytes > maxBlockBytes {
		b.now, b.old, b.bytes = map[blockKey]string{}, b.now, 0
	}
	b.now[key] = text
	b.bytes += len(text) + blockOverhead
}
