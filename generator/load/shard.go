package load

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is the part of the load that one of several exporters with the same configuration carries. Together they make the load of a single
// one, not a multiple of it. The zero value is the whole.
type Shard struct {
	Index int // from 0
	Count int // 0 or 1 = the whole
}

// ParseShard reads "1/4", the second of four shards.
func ParseShard(s string) (Shard, error) {
	index, count, ok := strings.Cut(s, "/")
	if !ok {
		return Shard{}, fmt.Errorf(`shard %q: must be INDEX/COUNT, such as 0/4 for the first of four`, s)
	}
	i, errIndex := strconv.Atoi(index)
	n, errCount := strconv.Atoi(count)
	switch {
	case errIndex != nil || errCount != nil:
		return Shard{}, fmt.Errorf(`shard %q: index and count must be whole numbers, such as 0/4 for the first of four`, s)
	case n < 1 || n > maxShards:
		return Shard{}, fmt.Errorf("shard %q: the count must be between 1 and %d", s, maxShards)
	case i < 0 || i >= n:
		return Shard{}, fmt.Errorf("shard %q: the index must be between 0 and %d", s, n-1)
	}
	return Shard{Index: i, Count: n}, nil
}

const maxShards = 10_000

// String is the form that ParseShard reads.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.count()) }

func (s Shard) count() int { return max(s.Count, 1) }

// Share is this shard's part of n things that are counted: the shares of all shards sum up to n, and none has more than one more than
// another.
func (s Shard) Share(n int) int {
	share := n / s.count()
	if s.Index < n%s.count() {
		share++
	}
	return share
}

// has tells whether what is numbered or hashed to n belongs to this shard.
func (s Shard) has(n uint64) bool { return n%uint64(s.count()) == uint64(s.Index) }

// Divisible tells whether shards share the load. Intervals of gamma cannot be shared, so that one of the shards has the whole load then.
func (c *Config) Divisible() bool { return !c.draws(Gamma) }

// evenShare is the part of a rate that each shard asks for.
func evenShare(c *Config, o *Origin) float64 {
	switch {
	case c.Divisible():
		return 1 / float64(o.Shard.count())
	case o.Shard.has(hash64("", o.Target)):
		return 1
	}
	return 0
}
