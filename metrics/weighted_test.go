package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
)

// nativeBuckets reads spans and deltas back: weights by index.
func nativeBuckets(h *dto.Histogram) map[int]int64 {
	out := map[int]int64{}
	index, weight, n := 0, int64(0), 0
	for _, span := range h.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			weight += h.GetPositiveDelta()[n]
			if weight > 0 {
				out[index] = weight
			}
			index++
			n++
		}
	}
	return out
}

func TestTheHistogramsOfTheWorkedExample(t *testing.T) {
	t.Parallel()
	s := newSweep(0, Estimated)
	play(&s, inOrder(threeRequests()...), 10*second)
	active := s.phases[phasePrefill].throughput[1].exposition(HistogramsBoth)
	checkBuckets(t, active, map[float64]uint64{0: 0, 10: 0, 50: 0, 100: 1_200_000, 150: 2_700_000, 200: 3_100_000, 250: 3_100_000, 1e7: 3_100_000})
	if active.GetSampleCount() != 3_100_000 || active.GetSampleSum() != 425_000_000 {
		t.Errorf("active: count %d, sum %v", active.GetSampleCount(), active.GetSampleSum())
	}
	if diff := cmp.Diff(map[int]int64{54: 1_200_000, 58: 1_500_000, 62: 400_000}, nativeBuckets(active)); diff != "" {
		t.Errorf("native buckets (-want +got):\n%s", diff)
	}
	if active.GetSchema() != 3 || active.GetZeroCount() != 0 {
		t.Errorf("active: schema %d, zero count %d", active.GetSchema(), active.GetZeroCount())
	}
	idle := s.phases[phasePrefill].throughput[0].exposition(HistogramsBoth)
	checkBuckets(t, idle, map[float64]uint64{0: 6_900_000, 10: 6_900_000, 1e7: 6_900_000})
	if idle.GetSampleCount() != 6_900_000 || idle.GetSampleSum() != 0 || idle.GetZeroCount() != 6_900_000 || len(idle.GetPositiveSpan()) != 0 {
		t.Errorf("idle: %v", idle)
	}
	concurrent := s.phases[phaseTotal].concurrency.exposition(HistogramsBoth)
	checkBuckets(t, concurrent, map[float64]uint64{0: 0, 1: 7_800_000, 2: 10_000_000, 1024: 10_000_000})
	if diff := cmp.Diff(map[int]int64{0: 7_800_000, 8: 2_200_000}, nativeBuckets(concurrent)); diff != "" {
		t.Errorf("native buckets of the concurrency (-want +got):\n%s", diff)
	}
	speed := s.phases[phaseDecode].speed[1].exposition(HistogramsBoth)
	if got := speed.GetSampleSum() / float64(speed.GetSampleCount()); math.Abs(got-4.035294) > 1e-6 {
		t.Errorf("mean speed of a user = %v, want 4.035294", got)
	}
}

func TestOneFormOfHistogramsLeavesTheOtherOut(t *testing.T) {
	t.Parallel()
	w := newWeighted(boundsConcurrency)
	w.add(3*micro, 5000)
	if h := w.exposition(HistogramsClassic); h.Schema != nil || h.ZeroThreshold != nil || len(h.GetBucket()) != len(boundsConcurrency) {
		t.Errorf("classic: %v", h)
	}
	if h := w.exposition(HistogramsNative); len(h.GetBucket()) != 0 || h.GetSampleCount() != 5 || len(h.GetPositiveSpan()) != 1 {
		t.Errorf("native: %v", h)
	}
}

// Prometheus refuses a native histogram whose count is not the sum of its buckets, and takes a count that shrinks for a restart.
func TestBothFormsHaveTheSameCountAndOnlyGrow(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	w := newWeighted(boundsPhaseRate)
	var before *dto.Histogram
	for range 3000 {
		value := int64(0)
		if random.IntN(20) > 0 {
			value = int64(math.Exp(random.Float64() * math.Log(1e18)))
		}
		w.add(value, random.Int64N(3000))
		h := w.exposition(HistogramsBoth)
		native := int64(h.GetZeroCount())
		buckets := nativeBuckets(h)
		for _, weight := range buckets {
			native += weight
		}
		if uint64(native) != h.GetSampleCount() {
			t.Fatalf("native buckets have %d, count is %d", native, h.GetSampleCount())
		}
		if len(buckets) > maxNativeBuckets {
			t.Fatalf("%d native buckets", len(buckets))
		}
		if short := w.ns/1000 - native; short < 0 || short > int64(len(w.cells)) {
			t.Fatalf("%d µs are missing, more than one for each of %d cells", short, len(w.cells))
		}
		below := uint64(0)
		for i, b := range h.GetBucket() {
			if b.GetCumulativeCount() < below {
				t.Fatalf("classic bucket %v falls", b.GetUpperBound())
			}
			below = b.GetCumulativeCount()
			if before != nil && below < before.GetBucket()[i].GetCumulativeCount() {
				t.Fatalf("classic bucket %v shrinks", b.GetUpperBound())
			}
		}
		if below > h.GetSampleCount() {
			t.Fatalf("classic buckets have %d, count is %d", below, h.GetSampleCount())
		}
		if before != nil && (h.GetSchema() > before.GetSchema() || h.GetSampleSum() < before.GetSampleSum() || h.GetZeroCount() < before.GetZeroCount()) {
			t.Fatalf("resolution, sum or zero bucket went back")
		}
		before = h
	}
	if before.GetSchema() >= nativeSchema {
		t.Errorf("schema = %d: the values did not fill the buckets", before.GetSchema())
	}
}

func TestNativeBucketsContainTheirValues(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	check := func(value int64) {
		index := float64(nativeIndex(value))
		v := float64(value) / micro
		lower, upper := math.Exp2((index-1)/8), math.Exp2(index/8)
		if v <= lower*(1-1e-12) || v > upper*(1+1e-12) {
			t.Errorf("%v is in (%v, %v]", v, lower, upper)
		}
	}
	for exponent := range 40 {
		check(micro << exponent)
	}
	for range 10_000 {
		check(1 + int64(math.Exp(random.Float64()*math.Log(1e18))))
	}
	for value, want := range map[int64]int32{micro: 0, 2 * micro: 8, micro / 2: -8, micro + 1: 1, 0: zeroBucket} {
		if got := nativeIndex(value); got != want {
			t.Errorf("index of %d = %d, want %d", value, got, want)
		}
	}
}

func TestAnAreaIsExactWhateverItsSize(t *testing.T) {
	t.Parallel()
	var a area
	const value, ns = int64(9e15), int64(1e15)
	for range 100 {
		a.add(value, ns)
	}
	if got, want := a.millionthNanos(), 100*float64(value)*float64(ns); math.Abs(got-want) > want*1e-15 {
		t.Errorf("area = %v, want %v", got, want)
	}
}
