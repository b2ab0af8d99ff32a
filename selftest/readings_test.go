package selftest

import (
	"math"
	runtimemetrics "runtime/metrics"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestFaultsOfTheHostAreFoundBetweenTwoReadings(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	known := func(n int64) total { return total{n, true} }
	tests := []struct {
		name           string
		earlier, later reading
		want           []metrics.SuspectCause
	}{
		{"nothing happened", reading{at: 0, throttled: known(7)}, reading{at: 5 * second, throttled: known(7)}, nil},
		{"throttled for 5 %", reading{throttled: known(second)}, reading{at: 5 * second, throttled: known(second + second/4)}, nil},
		{"throttled for more", reading{throttled: known(second)}, reading{at: 5 * second, throttled: known(second + second/4 + 1)}, []metrics.SuspectCause{metrics.SuspectCPUThrottled}},
		{"throttled on several processors, longer than the time", reading{throttled: known(0)}, reading{at: second, throttled: known(4 * second)}, []metrics.SuspectCause{metrics.SuspectCPUThrottled}},
		{"total that began anew", reading{throttled: known(9 * second)}, reading{at: second, throttled: known(second)}, nil},
		{"total that cannot be read any more", reading{throttled: known(9 * second)}, reading{at: second}, nil},
		{"total that can be read again", reading{}, reading{at: second, throttled: known(9 * second)}, nil},
		{"1 % of the goroutines waited", reading{ready: waits{1000, 5}}, reading{at: second, ready: waits{1100, 6}}, nil},
		{"more than 1 % waited", reading{ready: waits{1000, 5}}, reading{at: second, ready: waits{1100, 7}}, []metrics.SuspectCause{metrics.SuspectGoScheduler}},
		{"no goroutine was ready", reading{ready: waits{1000, 500}}, reading{at: second, ready: waits{1000, 500}}, nil},
		{"both", reading{throttled: known(0)}, reading{at: second, throttled: known(second), ready: waits{2, 2}}, []metrics.SuspectCause{metrics.SuspectCPUThrottled, metrics.SuspectGoScheduler}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.later.faultsSince(&test.earlier)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWaitsAreCountedByTheBucketsOfTheRuntime(t *testing.T) {
	t.Parallel()
	histogram := &runtimemetrics.Float64Histogram{
		Counts:  []uint64{1, 2, 4, 8, 16},
		Buckets: []float64{math.Inf(-1), 0, .008, .010, .012, math.Inf(1)},
	}
	if diff := cmp.Diff(waits{all: 31, late: 24}, countWaits(histogram), cmp.AllowUnexported(waits{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostWithoutControlGroupsStillTellsOfItsScheduler(t *testing.T) {
	t.Parallel()
	got := newHost(fstest.MapFS{}).read(42)
	if got.at != 42 || got.throttled.known {
		t.Errorf("got %+v, want the instant and no throttling", got)
	}
	if got.ready.all == 0 {
		t.Error("the Go runtime counted no goroutine that was ready, its metric has another name")
	}
}
