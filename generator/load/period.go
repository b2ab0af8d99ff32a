package load

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"math/bits"
	"strconv"
	"time"
)

// period is the time between two arrivals as the fraction num/den of nanoseconds: a third of a second is 1e9/3, exactly. Products with it
// are computed in 128 bits.
type period struct{ num, den uint64 }

// period gives 1/rate as a user meant it: 0.1 is a tenth, not the binary fraction next to it.
func (c *Config) period() period {
	switch {
	case c.Rate != 0:
		return periodOf(c.Rate)
	case c.Interval != 0:
		return period{uint64(c.Interval), 1}
	}
	return period{uint64(defaultInterval), 1}
}

func periodOf(rateHz float64) period {
	rate, ok := new(big.Rat).SetString(strconv.FormatFloat(rateHz, 'g', -1, 64))
	if !ok || rate.Sign() <= 0 {
		panic("load: rate " + strconv.FormatFloat(rateHz, 'g', -1, 64) + " was not validated")
	}
	exact := new(big.Rat).Quo(big.NewRat(int64(time.Second), 1), rate)
	if exact.Num().IsUint64() && exact.Denom().IsUint64() {
		return period{exact.Num().Uint64(), exact.Denom().Uint64()}
	}
	// More digits than anybody writes: the nearest fraction with a power of two below, good to 2^-62, which is less than a nanosecond in
	// a century.
	whole := new(big.Int).Quo(exact.Num(), exact.Denom())
	shift := uint(63 - whole.BitLen())
	num := new(big.Int).Lsh(exact.Num(), shift)
	return period{num.Quo(num, exact.Denom()).Uint64(), 1 << shift}
}

// times is floor(n*period).
func (p period) times(n uint64) uint64 {
	hi, lo := bits.Mul64(n, p.num)
	q, _ := bits.Div64(hi, lo, p.den)
	return q
}

// count is the number of multiples of the period, from 0 on, that lie below d when rounded down: ceil(d/period).
func (p period) count(d uint64) uint64 {
	hi, lo := bits.Mul64(d, p.den)
	q, rem := bits.Div64(hi, lo, p.num)
	if rem > 0 {
		q++
	}
	return q
}

// grid is the instants base + n*period, each rounded down to a nanosecond.
type grid struct {
	period
	base int64 // from the anchor
}

// grid is that of a target, and the number of its first point that is not before the anchor. It is fixed to the wall clock and shifted by
// a hash, hence it survives restarts, and all shards have the same one.
func (c *Config) grid(o *Origin) (g grid, first uint64) {
	p := c.period()
	if !o.hasPhase() {
		return grid{period: p}, 0
	}
	shift := o.hash() % p.times(1)
	wall := uint64(max(o.Wall, 0))
	if wall > shift {
		first = p.count(wall - shift)
	}
	return grid{p, int64(shift) - int64(wall)}, first
}

// at is the n-th point.
func (g grid) at(n uint64) int64 { return g.base + int64(g.times(n)) }

// before is the number of points below an instant that is not below base.
func (g grid) before(at int64) uint64 { return g.count(uint64(at - g.base)) }

func (o *Origin) hasPhase() bool { return o.Instance != "" || o.Shard.Count > 1 }

// hash tells targets apart, and exporters with the same targets unless they are shards of one load. It is the same in every process and on
// every machine.
func (o *Origin) hash() uint64 {
	instance := o.Instance
	if o.Shard.Count > 1 {
		instance = ""
	}
	return hash64(instance, o.Target)
}

func hash64(instance, target string) uint64 {
	sum := sha256.Sum256([]byte(instance + "\x00" + target))
	return binary.BigEndian.Uint64(sum[:])
}
