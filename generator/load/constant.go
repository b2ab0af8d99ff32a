package load

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"math/bits"
	"strconv"
	"time"
)

// constant has one arrival every period: the n-th is at phase + n*period, rounded down to a nanosecond. Each offset is computed from n, so
// that no error adds up.
type constant struct {
	period period
	phase  int64 // in [0, period)
	n      uint64
}

func newConstant(c *Config, o *Origin) Process {
	p := c.period()
	return &constant{period: p, phase: p.phase(o)}
}

// Next implements Process.
func (c *constant) Next() int64 {
	at := c.phase + int64(c.period.times(c.n))
	c.n++
	return at
}

// skip implements skipper by arithmetic.
func (c *constant) skip(before int64) int64 {
	n := c.period.count(uint64(before - c.phase))
	skipped := n - c.n
	c.n = n
	return int64(skipped)
}

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

// phase is the time from the anchor to the first instant of the target's own grid. The grid is fixed to the wall clock and shifted by a
// hash of instance and target, hence it survives restarts.
func (p period) phase(o *Origin) int64 {
	if o.Instance == "" {
		return 0
	}
	shift := hash64(o.Instance, o.Target) % p.times(1)
	wall := uint64(max(o.Wall, 0))
	if wall <= shift {
		return int64(shift - wall)
	}
	return int64(shift + p.times(p.count(wall-shift)) - wall)
}

// hash64 is the same in every process and on every machine.
func hash64(instance, target string) uint64 {
	sum := sha256.Sum256([]byte(instance + "\x00" + target))
	return binary.BigEndian.Uint64(sum[:])
}
