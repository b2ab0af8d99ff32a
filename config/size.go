package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Size is a number of bytes. In the file it has a unit: "512KiB", "16MiB".
type Size int64

var sizePattern = regexp.MustCompile(`^([0-9]+)(B|KiB|MiB|GiB)$`)

// sizeUnits in falling order, so that String finds the largest that divides.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// parseSize reads a size with its unit.
func parseSize(s string) (Size, error) {
	m := sizePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("must be a size such as 512KiB or 16MiB, got %q", s)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	for _, unit := range sizeUnits {
		if unit.name == m[2] && (err != nil || n > math.MaxInt64/unit.bytes) {
			return 0, fmt.Errorf("size %s is too large", s)
		} else if unit.name == m[2] {
			n *= unit.bytes
			break
		}
	}
	return Size(n), nil
}

// String writes the size with the largest unit that leaves a whole number.
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if s != 0 && int64(s)%unit.bytes == 0 {
			return strconv.FormatInt(int64(s)/unit.bytes, 10) + unit.name
		}
	}
	return "0B"
}
