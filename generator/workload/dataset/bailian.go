package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// bailian reads lines of JSON with one request each, chained to the one before it in its conversation. Instants are in seconds. Each
// request has the whole conversation in its length.
type bailian struct {
	blockSize int
	roots     *recent[uint64, uint64] // of the chats, by their ids
}

// rememberedChats is how many chats are known as parents of later ones: about a day of one a second.
const rememberedChats = 1 << 17

func openBailian(c *settings) (reader, error) {
	return openLines(c, &bailian{blockSize: c.BlockSize, roots: newRecent[uint64, uint64](rememberedChats)})
}

// bailianKeys are those that a row must have.
var bailianKeys = []string{"chat_id", "timestamp", "input_length", "output_length"}

func (b *bailian) reset() { b.roots.clear() }

func (b *bailian) decode(r *record) (entry, error) {
	row := Row{SelfContained: true, BlockSize: b.blockSize}
	var id, parent uint64
	missing := slices.Clone(bailianKeys)
	hasParent, turn := false, 1
	err := object(r.data, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "chat_id":
			id, err = identifier(value)
		case "parent_chat_id":
			hasParent = string(value) != "-1"
			parent, err = identifier(value)
		case "timestamp":
			row.HasAt = true
			row.At, err = span(value, time.Second)
		case "input_length":
			row.InputTokens, err = length(value, 1)
		case "output_length":
			row.OutputTokens, err = length(value, 0)
		case "turn":
			turn, err = whole(value, 0)
		case "hash_ids":
			row.HashIDs, err = identifiers(value)
		}
		missing = slices.DeleteFunc(missing, func(k string) bool { return k == string(key) })
		return err
	})
	switch {
	case err != nil:
		return entry{}, err
	case len(missing) > 0:
		return entry{}, fmt.Errorf("%s is missing", missing[0])
	}
	root := id
	if known, ok := b.roots.get(parent); ok && hasParent {
		root = known
	}
	b.roots.put(id, root)
	row.Session = strconv.FormatUint(root, 10)
	return entry{rows: []Row{row}, order: turn}, row.blocks()
}
