package columnar

import (
	"fmt"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// Int is the whole number of a row; false = there is none.
func (c *Column) Int(row int64) (int64, bool, error) {
	v, ok, err := c.one(row)
	if err != nil || !ok {
		return 0, false, err
	}
	n, err := c.whole(v)
	if err == nil && c.unsigned && n > math.MaxInt64 {
		err = fmt.Errorf("column %q: %d is too big", c.name, n)
	}
	return int64(n), err == nil, err
}

// Text is the text of a row, or its number in digits; false = there is none.
func (c *Column) Text(row int64) (string, bool, error) {
	v, ok, err := c.one(row)
	if err != nil || !ok {
		return "", false, err
	}
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return string(v.ByteArray()), true, nil
	default:
		n, err := c.whole(v)
		if c.unsigned {
			return strconv.FormatUint(n, 10), err == nil, err
		}
		return strconv.FormatInt(int64(n), 10), err == nil, err
	}
}

// Ints appends the numbers of a row's list, none of them negative, to out.
func (c *Column) Ints(row int64, out []uint64) ([]uint64, error) {
	err := c.at(row, func(v parquet.Value) error {
		if v.IsNull() {
			return nil
		}
		n, err := c.whole(v)
		if err == nil && !c.unsigned && int64(n) < 0 {
			err = fmt.Errorf("column %q: %d is negative", c.name, int64(n))
		}
		out = append(out, n)
		return err
	})
	return out, err
}

// one is the single value of a row.
func (c *Column) one(row int64) (parquet.Value, bool, error) {
	if c.list {
		return parquet.Value{}, false, fmt.Errorf("column %q is a list", c.name)
	}
	var out parquet.Value
	err := c.at(row, func(v parquet.Value) error {
		out = v
		return nil
	})
	return out, err == nil && !out.IsNull(), err
}

// whole is a number without a fraction; negative ones are in two's complement.
func (c *Column) whole(v parquet.Value) (uint64, error) {
	switch v.Kind() {
	case parquet.Int32:
		if c.unsigned {
			return uint64(v.Uint32()), nil
		}
		return uint64(int64(v.Int32())), nil
	case parquet.Int64:
		return v.Uint64(), nil
	case parquet.Float, parquet.Double: // a column of whole numbers in which some are missing, as pandas writes it
		f := v.Double()
		if v.Kind() == parquet.Float {
			f = float64(v.Float())
		}
		if f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
			return 0, fmt.Errorf("column %q: %v is not a whole number", c.name, f)
		}
		return uint64(int64(f)), nil
	default:
		return 0, fmt.Errorf("column %q holds %s, not numbers", c.name, v.Kind())
	}
}
