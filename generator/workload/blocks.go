package workload

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

var errNoLength = errors.New("has neither messages nor a length")

// blocks is the text that the hash ids of a row name.
type blocks struct {
	text   string
	splits []int // where messages end, in bytes of text
	fresh  bool  // fresh words follow it
}

// cut makes messages of a text in which the blocks stand behind offset bytes. None is empty.
func (b *blocks) cut(text string, offset int) []string {
	var out []string
	from := 0
	for _, split := range append(b.splits, len(text)-offset) {
		part := text[from : split+offset]
		if from > 0 {
			part = strings.TrimPrefix(part, " ")
		}
		if part != "" || len(text) == 0 {
			out = append(out, part)
		}
		from = split + offset
	}
	return out
}

// blocks writes the text that the hash ids of a row name.
//
// An id names one block of words: the same text wherever the id stands in the file of this path, with any target of the same seed, and
// another text for any other id or file. Without a tokenizer a block is as many bytes as its tokens should have by what was learned so
// far, so that lengths are right on average but the borders of blocks do not fall on those of the server's cache; with one, each block has
// exactly its tokens. A last block that the prompt does not fill is the beginning of the whole one.
func (r *recorded) blocks(row *dataset.Row, d *draft) (blocks, error) {
	ids, size, length := len(row.HashIDs), row.BlockSize, row.InputTokens
	if ids == 0 {
		return blocks{fresh: true}, nil
	}
	if length <= (ids-1)*size {
		return blocks{}, fmt.Errorf("%d hash ids of %d tokens are more than the %d tokens of the prompt: wrong block_size or broken trace", ids, size, length)
	}
	file := fnv.New64a()
	_, _ = io.WriteString(file, filepath.ToSlash(row.File))
	name := file.Sum64()
	out := blocks{fresh: length > ids*size}
	splits := row.Splits
	var b strings.Builder
	b.Grow(int(float64(ids*size) / d.blockFit))
	for i, id := range row.HashIDs {
		if len(splits) > 0 && splits[0] == i {
			out.splits = append(out.splits, b.Len())
			splits = splits[1:]
		}
		block := r.block(name, id, size, d)
		if left := length - i*size; left < size {
			block = r.beginning(block, left, size, d)
		}
		b.WriteString(block)
	}
	if len(splits) > 0 && splits[0] == ids {
		out.splits = append(out.splits, b.Len())
	}
	out.text = b.String()
	return out, nil
}

// block is the text of an id.
func (r *recorded) block(file, id uint64, tokens int, d *draft) string {
	write := func() string {
		random := r.streams.at(streamBlock, file^mix(id), 0)
		ruler := d.ruler
		ruler.perByte = d.blockFit
		text, _ := ruler.sized(float64(tokens), 0, func(size int) string {
			var b strings.Builder
			b.Grow(size)
			r.corpus.fill(&b, size, random)
			return b.String()
		})
		return text
	}
	if d.ruler.tokenizer == nil {
		return write() // as quickly as it could be looked up
	}
	return r.written.get(blockKey{file, id, tokens, d.blockFit}, write)
}

// beginning is the first tokens of a block.
func (r *recorded) beginning(block string, tokens, of int, d *draft) string {
	if d.ruler.tokenizer == nil {
		return block[:len(block)*tokens/of]
	}
	text, _ := d.ruler.sized(float64(tokens), 0, func(size int) string { return block[:min(size, len(block))] })
	return text
}
