package load_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// fate is what became of one arrival in a simulation.
type fate struct {
	Sched, Start, End int64
	Dropped           metrics.DropReason
}

// simulate runs the first n arrivals of c against a server that answers a request of the instant start at serve(start), with the loop that
// a target has: wake up at the next arrival, end of a request or deadline, take what the queue has, offer what is due.
func simulate(c *load.Config, n int, serve func(start int64) int64) []fate {
	schedule, gate := load.NewSchedule(c, &load.Origin{}, nil), load.NewGate(c)
	var fates []fate
	var ends []int64 // of the requests in flight, ascending
	settle := func(a load.Arrival, now int64, d load.Decision) {
		switch d.Verdict {
		case load.Dropped:
			fates = append(fates, fate{Sched: a.Sched, Dropped: d.Reason})
		case load.Send:
			end := serve(now)
			fates = append(fates, fate{Sched: a.Sched, Start: now, End: end})
			ends = append(ends, end)
			slices.Sort(ends)
		case load.Queued:
		}
	}
	for offered := 0; offered < n || gate.Queued() > 0; {
		now := int64(math.MaxInt64)
		if offered < n {
			now = next(schedule)
		}
		if at, ok := gate.Deadline(); ok {
			now = min(now, at)
		}
		if len(ends) > 0 {
			now = min(now, ends[0])
		}
		for len(ends) > 0 && ends[0] <= now {
			ends = ends[1:]
			gate.Release(now, true)
		}
		for a, d, ok := gate.Next(now); ok; a, d, ok = gate.Next(now) {
			settle(a, now, d)
		}
		for offered < n && next(schedule) <= now {
			a := schedule.Pop()
			offered++
			settle(a, now, gate.Offer(a, now))
		}
	}
	slices.SortFunc(fates, func(a, b fate) int { return int(a.Sched - b.Sched) })
	return fates
}

func sent(fates []fate) []fate {
	return slices.DeleteFunc(slices.Clone(fates), func(f fate) bool { return f.Dropped != "" })
}

func each(fates []fate, f func(fate) int64) []float64 {
	out := make([]float64, len(fates))
	for i := range fates {
		out[i] = float64(f(fates[i])) / 1e6
	}
	return out
}

// effective is the latency from the scheduled instant, service that from the actual start, delay the difference; all in milliseconds.
func effective(f fate) int64 { return f.End - f.Sched }
func service(f fate) int64   { return f.End - f.Start }
func delay(f fate) int64     { return f.Start - f.Sched }

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// percentile interpolates linearly between the ranks.
func percentile(values []float64, p float64) float64 {
	values = slices.Sorted(slices.Values(values))
	rank := p / 100 * float64(len(values)-1)
	i := int(rank)
	if i == len(values)-1 {
		return values[i]
	}
	return values[i] + (rank-float64(i))*(values[i+1]-values[i])
}

func oneSlot(rateHz float64, policy load.OnFull) *load.Config {
	c := load.DefaultConfig()
	c.Rate, c.MaxInFlight, c.OnFull = rateHz, 1, policy
	c.Queue.MaxWait = time.Hour
	return &c
}

func takes(d time.Duration) func(int64) int64 {
	return func(start int64) int64 { return start + int64(d) }
}

// TestAQueueShowsWhatASlowServerDoesToUsers: one request a second, one slot, an answer takes 1.5 s.
func TestAQueueShowsWhatASlowServerDoesToUsers(t *testing.T) {
	t.Parallel()
	fates := simulate(oneSlot(1, load.Queue), 5, takes(1500*time.Millisecond))
	type figures struct{ Starts, Service, Delay, Effective []float64 }
	want := figures{
		Starts:    []float64{0, 1500, 3000, 4500, 6000},
		Service:   []float64{1500, 1500, 1500, 1500, 1500},
		Delay:     []float64{0, 500, 1000, 1500, 2000},
		Effective: []float64{1500, 2000, 2500, 3000, 3500},
	}
	got := figures{
		Starts:    each(fates, func(f fate) int64 { return f.Start }),
		Service:   each(fates, service),
		Delay:     each(fates, delay),
		Effective: each(fates, effective),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("milliseconds (-want +got):\n%s", diff)
	}
	percentiles := []float64{mean(got.Effective), percentile(got.Effective, 50), percentile(got.Effective, 90), percentile(got.Effective, 99)}
	if diff := cmp.Diff([]float64{2500, 2500, 3300, 3480}, percentiles); diff != "" {
		t.Errorf("mean, p50, p90, p99 of the effective latency (-want +got):\n%s", diff)
	}
}

// TestNoArrivalIsOmitted: four requests a second, one slot, an answer takes 515 ms. A closed loop would report 515 ms and no loss.
func TestNoArrivalIsOmitted(t *testing.T) {
	t.Parallel()
	t.Run("on_full queue delays and shows it", func(t *testing.T) {
		t.Parallel()
		fates := simulate(oneSlot(4, load.Queue), 8, takes(515*time.Millisecond))
		want := make([]float64, 8)
		for i := range want {
			want[i] = float64(515*(i+1) - 250*i)
		}
		got := each(fates, effective)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("effective latencies (-want +got):\n%s", diff)
		}
		if mean(got) != 1442.5 || slices.Max(got) != 2370 || slices.Max(each(fates, delay)) != 1855 {
			t.Errorf("mean %v, max %v, max delay %v; want 1442.5, 2370, 1855", mean(got), slices.Max(got), slices.Max(each(fates, delay)))
		}
	})
	t.Run("on_full drop counts every skipped slot", func(t *testing.T) {
		t.Parallel()
		got := simulate(oneSlot(4, load.Drop), 8, takes(515*time.Millisecond))
		for i, f := range got {
			got[i] = fate{Sched: f.Sched / 1e6, Dropped: f.Dropped}
		}
		want := []fate{
			{Sched: 0},
			{Sched: 250, Dropped: metrics.DropInFlight},
			{Sched: 500, Dropped: metrics.DropInFlight},
			{Sched: 750},
			{Sched: 1000, Dropped: metrics.DropInFlight},
			{Sched: 1250, Dropped: metrics.DropInFlight},
			{Sched: 1500},
			{Sched: 1750, Dropped: metrics.DropInFlight},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fates in ms (-want +got):\n%s", diff)
		}
	})
	t.Run("max_wait turns a growing queue into counted drops", func(t *testing.T) {
		t.Parallel()
		c := oneSlot(4, load.Queue)
		c.Queue.MaxWait = 600 * time.Millisecond
		fates := simulate(c, 400, takes(515*time.Millisecond))
		var timeouts int
		for _, f := range fates {
			if f.Dropped == metrics.DropQueueTimeout {
				timeouts++
			} else if delay(f) > int64(c.Queue.MaxWait) {
				t.Fatalf("an arrival was sent %v ns late", delay(f))
			}
		}
		// The server can answer 100 s / 515 ms = 194 of 400.
		if got := len(sent(fates)); len(fates) != 400 || got < 194 || got > 196 || got+timeouts != 400 {
			t.Errorf("%d arrivals: %d sent, %d timed out", len(fates), got, timeouts)
		}
	})
}

// TestAStalledServerIsSeenByAllWhoWouldHaveAsked: 20 requests a second for 10 s, 10 slots, answers after 20 ms, but what arrives between 3 s
// and 5 s is held until 5 s (the scenario of vllm-project/guidellm#1048).
func TestAStalledServerIsSeenByAllWhoWouldHaveAsked(t *testing.T) {
	t.Parallel()
	c := load.DefaultConfig()
	c.Rate, c.MaxInFlight, c.OnFull = 20, 10, load.Queue
	c.Queue = load.QueueConfig{Size: 100, MaxWait: time.Minute}
	fates := simulate(&c, 200, func(start int64) int64 {
		if start >= 3*second && start < 5*second {
			return 5 * second
		}
		return start + 20e6
	})
	if len(sent(fates)) != 200 {
		t.Fatalf("%d of 200 arrivals sent", len(sent(fates)))
	}
	seen, answered := each(fates, effective), each(fates, service)
	within := func(name string, got, low, high float64) {
		t.Helper()
		if got < low || got > high {
			t.Errorf("%s = %v ms, want %v to %v", name, got, low, high)
		}
	}
	within("p90 from the scheduled instant", percentile(seen, 90), 1040, 1080)
	within("p95 from the scheduled instant", percentile(seen, 95), 1520, 1560)
	within("mean from the scheduled instant", mean(seen), 226, 228)
	within("p90 from the actual start", percentile(answered, 90), 20, 20)
	within("mean from the actual start", mean(answered), 107, 109)
	var seenSlow, answeredSlow int
	for i := range fates {
		if seen[i] > 500 {
			seenSlow++
		}
		if answered[i] > 500 {
			answeredSlow++
		}
	}
	if seenSlow != 32 || answeredSlow != 10 {
		t.Errorf("slower than 500 ms: %d by the schedule, %d by the start; want 32 and 10", seenSlow, answeredSlow)
	}
	for _, f := range fates {
		if f.Sched >= 6*second && delay(f) != 0 {
			t.Fatalf("after the stall an arrival is %d ns late", delay(f))
		}
	}
}
