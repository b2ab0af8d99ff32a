package engine

import (
	"container/list"
	"slices"
)

// BlockTokens is the number of tokens in a block of the prefix cache; only whole blocks are kept and found.
const BlockTokens = 16

// prefixCache remembers blocks of prompts, the least recently used going first. A block's hash covers everything before it, so that
// finding a block means that the whole prompt up to its end was seen.
type prefixCache struct {
	capacity int // blocks
	recent   *list.List
	blocks   map[uint64]*list.Element
}

func newPrefixCache(capacity int) *prefixCache {
	return &prefixCache{capacity: capacity, recent: list.New(), blocks: make(map[uint64]*list.Element)}
}

// match is the number of leading blocks that are known.
func (c *prefixCache) match(prefix []uint64) int {
	for i, hash := range prefix {
		if _, ok := c.blocks[hash]; !ok {
			return i
		}
	}
	return len(prefix)
}

// insert remembers blocks. It goes from the last to the first, which makes the first the freshest: losing a prompt's tail keeps its head
// useful, not the other way round.
func (c *prefixCache) insert(prefix []uint64) {
	for _, hash := range slices.Backward(prefix) {
		if element, ok := c.blocks[hash]; ok {
			c.recent.MoveToFront(element)
			continue
		}
		c.blocks[hash] = c.recent.PushFront(hash)
		if c.recent.Len() > c.capacity {
			oldest := c.recent.Remove(c.recent.Back())
			delete(c.blocks, oldest.(uint64))
		}
	}
}
