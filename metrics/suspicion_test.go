package metrics

import (
	"testing"
	"time"
)

func TestFaultHoldsForAWhile(t *testing.T) {
	t.Parallel()
	s := int64(time.Second)
	tests := []struct {
		name       string
		noted      []int64 // instants of faults of the cause wakeup, in seconds
		at         int64
		holds      bool
		begin      int64 // of a request that ends at at
		isTouching bool
	}{
		{"nothing was noted", nil, 100, false, 99, false},
		{"at the very instant", []int64{100}, 100, true, 99, true},
		{"request that began long before the fault", []int64{100}, 101, true, 1, true},
		{"request that began while the fault held", []int64{100}, 129, true, 120, true},
		{"request that began in the last instant of the fault", []int64{100}, 140, false, 130, true},
		{"request that began after the fault", []int64{100}, 140, false, 131, false},
		{"request that began at the fault and ends long after", []int64{100}, 500, false, 100, true},
		{"fault that was renewed", []int64{100, 120}, 145, true, 140, true},
		{"fault that is told late does not shorten a newer one", []int64{120, 100}, 145, true, 140, true},
		{"fault of the first instant of the process", []int64{0}, 30, true, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var suspicion Suspicion
			for _, at := range test.noted {
				suspicion.Note(SuspectWakeup, at*s)
			}
			if got := suspicion.Holds(SuspectWakeup, test.at*s); got != test.holds {
				t.Errorf("holds: got %v, want %v", got, test.holds)
			}
			if got := suspicion.Touches(test.begin * s); got != test.isTouching {
				t.Errorf("touches: got %v, want %v", got, test.isTouching)
			}
			if suspicion.Holds(SuspectDrops, test.at*s) {
				t.Error("a cause that was not noted holds")
			}
		})
	}
}

func TestRequestsDuringAFaultAreCountedAsSuspect(t *testing.T) {
	t.Parallel()
	finish := func(target *Target, change func(*Record)) bool {
		record := goldenTimelines()["plain"].record()
		if change != nil {
			change(record)
		}
		target.Sent().Finish(record)
		return record.Suspect
	}
	store, target, registry := newTestStore(t, testSLO())
	count := func() float64 { return value(t, gather(t, registry), "aiperf_suspect_requests_total", "target", "t") }

	if finish(target, nil) || count() != 0 {
		t.Errorf("%v suspect requests before any fault, want 0", count())
	}
	store.Suspect(SuspectGoScheduler, origin)
	if !finish(target, nil) || count() != 1 {
		t.Errorf("%v suspect requests, want 1", count())
	}
	finish(target, func(r *Record) { r.Outcome, r.Class = Failure, ErrHTTP5xx })
	finish(target, func(r *Record) { r.Outcome = Cancelled })
	if count() != 3 {
		t.Errorf("%v suspect requests, want 3: any outcome counts", count())
	}
	finish(target, func(r *Record) { r.Warmup = true })
	if count() != 3 {
		t.Errorf("%v suspect requests, want 3: warm-up requests do not count", count())
	}
	families := gather(t, registry)
	if n := value(t, families, "aiperf_requests_total", "outcome", "success"); n != 2 {
		t.Errorf("%v successes, want 2: a suspect request stays in all series", n)
	}
	later := origin + int64(suspectFor) + 1
	if finish(target, func(r *Record) {
		r.Time = Timeline{Sched: later, Issue: later, Start: later, End: later + 500*ms}
		r.Content = nil
	}) {
		t.Error("a request that began when the fault no longer held is suspect")
	}
	// Without a schedule, a request's life begins with its start.
	if !finish(target, func(r *Record) { r.Time.Sched = 0 }) {
		t.Error("a request without a schedule is not suspect")
	}
}

func TestOwnFaultsRaiseSuspicion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		happens func(*Store, *Target)
		want    SuspectCause // "" = none
	}{
		{"wake-up in time", func(s *Store, _ *Target) { now := s.options.Clock.Now(); s.WokeUp(now-100*ms, now) }, ""},
		{"late wake-up", func(s *Store, _ *Target) { now := s.options.Clock.Now(); s.WokeUp(now-101*ms, now) }, SuspectWakeup},
		{"arrivals that this host missed", func(_ *Store, t *Target) { t.Dropped(DropSchedulerLate, 3) }, SuspectDrops},
		{"queued arrival over the limit of the process", func(_ *Store, t *Target) { t.Queued(); t.DequeuedDropped(DropGlobalLimit) }, SuspectDrops},
		{"drops of a slow server", func(_ *Store, t *Target) { t.Dropped(DropInFlight, 1); t.Dropped(DropQueueFull, 1) }, ""},
		{"drops that were meant", func(_ *Store, t *Target) { t.Dropped(DropBudget, 1); t.Dropped(DropBackoff, 1) }, ""},
		{"throttling alone is not judged here", func(s *Store, _ *Target) { s.CPUThrottled(int64(time.Hour)) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store, target, registry := newTestStore(t, testSLO())
			test.happens(store, target)
			families := gather(t, registry)
			for _, cause := range SuspectCauses {
				want := 0.0
				if cause == test.want {
					want = 1
				}
				if got := value(t, families, "aiperf_exporter_suspect", "cause", string(cause)); got != want {
					t.Errorf("%s is %v, want %v", cause, got, want)
				}
			}
		})
	}
}

func TestThrottlingIsASeriesOnlyWhereItCanBeRead(t *testing.T) {
	t.Parallel()
	const name = "aiperf_exporter_cpu_throttled_seconds_total"
	store, _, registry := newTestStore(t)
	if gather(t, registry)[name] != nil {
		t.Errorf("%s exists outside control groups", name)
	}
	store.CPUThrottled(0)
	if got := value(t, gather(t, registry), name); got != 0 {
		t.Errorf("begins at %v, want 0", got)
	}
	store.CPUThrottled(250 * ms)
	store.CPUThrottled(500 * ms)
	if got := value(t, gather(t, registry), name); got != .75 {
		t.Errorf("got %v s, want 0.75", got)
	}
}
