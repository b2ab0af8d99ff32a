package workload

import (
	"strconv"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// findings collects what is wrong below one path.
type findings struct {
	path string
	errs []error
}

func (f *findings) wrongf(key, format string, args ...any) {
	f.errs = append(f.errs, invalid.Key(f.path+key, format, args...))
}

// excludes tells of keys that cannot stand beside one that replaces them.
func (f *findings) excludes(key string, mean, stddev, median float64) {
	switch {
	case mean != 0:
		f.wrongf("."+key, "excludes mean")
	case stddev != 0:
		f.wrongf("."+key, "excludes stddev")
	case median != 0:
		f.wrongf("."+key, "excludes median")
	}
}

// bell checks a normal or lognormal distribution. So written, NaN is wrong too.
func (f *findings) bell(key string, b bell, unit string) {
	if !(b.mean >= 1 && b.mean <= maxTokens) {
		f.wrongf(key, "mean must be between 1 and %d %s, got %v", maxTokens, unit, b.mean)
		return
	}
	switch {
	case !(b.stddev >= 0 && b.stddev <= maxTokens):
		f.wrongf(key+".stddev", "must be between 0 and %d %s, got %v", maxTokens, unit, b.stddev)
	case !(b.median >= 0 && b.median <= b.mean):
		f.wrongf(key+".median", "must be above 0 and not above the mean (%v), got %v", b.mean, b.median)
	case b.median > 0 && b.stddev > 0:
		f.wrongf(key+".median", "excludes stddev")
	}
}

func (f *findings) weight(key string, w float64) {
	if !(w >= 0 && w <= maxWeight) {
		f.wrongf(key+".weight", "must be above 0, got %v", w)
	}
}

// at is the path of an item of a list.
func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
