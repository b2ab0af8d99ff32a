package gpu

import (
	"maps"
	"slices"
	"strconv"
)

// watchedXIDs are the codes that alerts ask for. They are at zero from the start: a counter that begins at 1 has no increase.
var watchedXIDs = []uint64{13, 31, 43, 45, 48, 63, 64, 74, 79, 92, 94, 95, 119, 120}

// highestXID bounds the codes that are counted: NVIDIA's list ends far below, and each code is a series.
const highestXID = 999

// XIDCounts counts the XID errors of one GPU. The zero value is ready. Not safe for concurrent use.
type XIDCounts struct {
	counts map[uint64]float64
}

// Add counts n errors of a code; code 0 is none, and one beyond 999 no code.
func (x *XIDCounts) Add(code uint64, n float64) {
	if x.counts == nil {
		x.counts = make(map[uint64]float64, len(watchedXIDs))
		for _, watched := range watchedXIDs {
			x.counts[watched] = 0
		}
	}
	if code != 0 && code <= highestXID {
		x.counts[code] += n
	}
}

// Samples are the counters, by code.
func (x *XIDCounts) Samples() []Sample {
	x.Add(0, 0)
	samples := make([]Sample, 0, len(x.counts))
	for _, code := range slices.Sorted(maps.Keys(x.counts)) {
		samples = append(samples, Sample{Name: seriesXIDErrors, Value: x.counts[code], Labels: []string{strconv.FormatUint(code, 10)}})
	}
	return samples
}
