package metrics

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// modelsOf are the values of the label model that a series has, each once.
func modelsOf(t *testing.T, g prometheus.Gatherer, name string) []string {
	t.Helper()
	models := map[string]bool{}
	for _, m := range gather(t, g)[name].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "model" {
				models[l.GetValue()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(models))
}

func TestATargetOfTheSameNameSupersedesTheOneBefore(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	expect := func(generation, reused float64, models ...string) {
		t.Helper()
		if diff := cmp.Diff(models, modelsOf(t, registry, "aiperf_requests_total")); diff != "" {
			t.Errorf("models (-want +got):\n%s", diff)
		}
		families := gather(t, registry)
		for name, want := range map[string]float64{"aiperf_exporter_target_generation": generation, "aiperf_exporter_connections_reused_total": reused} {
			family := families[name].GetMetric()
			if len(family) != 1 {
				t.Errorf("%d series of %s, want 1", len(family), name)
				continue
			}
			if got := value(t, families, name); got != want {
				t.Errorf("%s = %v, want %v", name, got, want)
			}
		}
	}
	reuse := func(flight *Flight) {
		flight.Finish(&Record{Outcome: Success, ConnObtained: true, ConnReused: true})
	}
	a := s.Add(TargetInfo{Name: "t", Model: "a"})
	running := a.Sent()
	reuse(a.Sent())
	expect(1, 1, "a")

	b := s.Add(TargetInfo{Name: "t", Model: "b"})
	expect(2, 0, "a", "b")
	reuse(running)
	if got := value(t, gather(t, registry), "aiperf_requests_total", "model", "a", "outcome", "success"); got != 2 {
		t.Errorf("%v requests of the superseded target, want 2: it drains", got)
	}
	reuse(b.Sent())
	expect(2, 1, "a", "b")

	again := s.Add(TargetInfo{Name: "t", Model: "a"}) // changed back before the first has drained
	expect(3, 0, "a", "b")
	if got := value(t, gather(t, registry), "aiperf_requests_total", "model", "a", "outcome", "success"); got != 0 {
		t.Errorf("%v requests of the new target, want 0", got)
	}
	s.Remove(a) // is gone already
	s.Remove(b)
	expect(3, 0, "a")
	s.Remove(b)
	s.Remove(again)
	for name := range gather(t, registry) {
		if s.named[name].Scope == PerTarget || slices.Contains([]string{"aiperf_exporter_series", "aiperf_exporter_target_generation"}, name) {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestASupersededTargetMayOutliveTheOneThatCameAfterIt(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	old := s.Add(TargetInfo{Name: "t", Model: "a"})
	s.Remove(s.Add(TargetInfo{Name: "t", Model: "b"}))
	if diff := cmp.Diff([]string{"a"}, modelsOf(t, registry, "aiperf_arrivals_total")); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	if n := len(gather(t, registry)["aiperf_exporter_series"].GetMetric()); n != 0 {
		t.Errorf("%d series that only carry the name, want 0", n)
	}
	s.Remove(old)
	if models := modelsOf(t, registry, "aiperf_arrivals_total"); len(models) != 0 {
		t.Errorf("models %q are still there", models)
	}
}

func TestATargetThatIsThereWithTheSameLabelsIsAFaultOfTheProgram(t *testing.T) {
	t.Parallel()
	s, _, _ := newTestStore(t)
	if !panics(func() { s.Add(TargetInfo{Name: "t", Model: "m", Workload: "w"}) }) {
		t.Error("it was added twice")
	}
	if panics(func() { s.Add(TargetInfo{Name: "t", Model: "m", Workload: "w2"}) }) {
		t.Error("another workload makes another target")
	}
}

func TestNothingBringsARemovedTargetBack(t *testing.T) {
	t.Parallel()
	s, target, registry := richStore(t)
	flight, queued := target.Sent(), target.Sent()
	s.Remove(target)
	busy(target)
	flight.Start(1, 1)
	flight.Content(2, Count{})
	flight.Finish(&Record{Outcome: Success, Status: 299})
	queued.Finish(&Record{Outcome: Cancelled})
	target.SetState(StateRunning)
	target.Update(*target.info)
	s.Apply(Settings{InfoLabels: []string{"region"}})
	if left := of(gather(t, registry), "t"); len(left) != 0 {
		t.Errorf("%d series are there", len(left))
	}
	for _, state := range TargetStates {
		if n := value(t, gather(t, registry), "aiperf_exporter_targets", "state", string(state)); n != 0 {
			t.Errorf("%v targets are %s", n, state)
		}
	}
}

func TestTheStateOfATarget(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	var live Live
	target := s.Add(TargetInfo{Name: "t", Live: func() Live { return live }})
	for _, step := range []struct {
		live Live
		do   func()
		want TargetState
		rate float64
	}{
		{live: Live{RateHz: 2}, want: StateStarting, rate: 2},
		{live: Live{RateHz: 2, Paused: true}, want: StatePaused},
		{live: Live{RateHz: 2}, want: StateRunning, rate: 2},
		{live: Live{RateHz: 2, BackoffActive: true}, want: StateBackoff, rate: 2},
		{live: Live{RateHz: 2, BackoffActive: true, BudgetExhausted: true}, want: StateBudget, rate: 2},
		{live: Live{RateHz: 2, Paused: true, BudgetExhausted: true}, want: StatePaused},
		{live: Live{RateHz: 2}, do: func() { target.SetState(StateFailed) }, want: StateFailed},
		{live: Live{RateHz: 2, Paused: true}, want: StateFailed},
		{live: Live{RateHz: 2}, do: func() { target.SetState(StateStarting) }, want: StateStarting, rate: 2},
		{live: Live{RateHz: 2}, do: func() { target.Dropped(DropInFlight, 1) }, want: StateRunning, rate: 2},
		{live: Live{RateHz: 2, BackoffActive: true}, do: func() { target.SetState(StateDraining) }, want: StateDraining},
	} {
		live = step.live
		if step.do != nil {
			step.do()
		}
		families := gather(t, registry)
		for _, state := range TargetStates {
			if got := value(t, families, "aiperf_exporter_targets", "state", string(state)); got != boolValue(state == step.want) {
				t.Errorf("%+v: %v targets are %s, want it to be %s", step.live, got, state, step.want)
			}
		}
		if got := value(t, families, "aiperf_load_target_rate"); got != step.rate {
			t.Errorf("%+v, %s: rate %v, want %v", step.live, step.want, got, step.rate)
		}
	}
}

// TestTargetsThatChangeWhileTheyAreScraped has everything that may happen at once happen at once, for the race detector and the registry.
func TestTargetsThatChangeWhileTheyAreScraped(t *testing.T) {
	t.Parallel()
	s, kept, registry := richStore(t)
	infos := []TargetInfo{richInfo(), richInfo(), richInfo()}
	infos[1].Features = Features{Product: ProductImages, SLOs: []SLO{limited("other", 1, 0)}}
	infos[2].SLOs = []SLO{limited("other", 1, 0), testSLO()}
	for i := range infos {
		infos[i].Live = func() Live { return Live{BudgetUsed: []float64{1}, Passes: int64(i)} }
	}
	const rounds = 60
	var changing, using sync.WaitGroup
	changing.Go(func() {
		for i := range rounds {
			kept.Update(infos[i%len(infos)])
			s.Apply(Settings{InfoLabels: []string{fmt.Sprint("label", i%3), "team"}})
			s.Reloaded(s.start, i%2 == 0)
			s.RestartRequired(i%2 == 0)
		}
	})
	changing.Go(func() {
		var old *Target
		for i := range rounds {
			now := s.Add(TargetInfo{Name: "u", Model: fmt.Sprint("m", i%2), Features: infos[i%len(infos)].Features})
			now.Sent().Finish(&Record{Outcome: Success})
			if old != nil {
				s.Remove(old)
			}
			old = now
		}
	})
	done := make(chan struct{})
	for range 2 {
		using.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					busy(kept)
					kept.DequeuedDropped(DropQueueTimeout)
				}
			}
		})
	}
	using.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if _, err := registry.Gather(); err != nil {
					t.Errorf("gather: %v", err)
					return
				}
			}
		}
	})
	changing.Wait()
	close(done)
	using.Wait()
	families := gather(t, registry)
	ended := sum(families, "aiperf_requests_total") + sum(families, "aiperf_arrivals_dropped_total")
	if got := sum(families, "aiperf_arrivals_total"); got != ended {
		t.Errorf("%v arrivals, of which %v have ended", got, ended)
	}
}

// TestNamesThatComeAndGoLeaveNothingBehind stands for weeks of pods that are replaced.
func TestNamesThatComeAndGoLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // it looks at the memory of the whole process
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock()})
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // the first empties only the pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	churn := func(from, to int) {
		for i := from; i < to; i++ {
			name := fmt.Sprintf("pod-%06d", i)
			target := s.Add(TargetInfo{Name: name, Labels: map[string]string{"pod": name}})
			target.Sent().Finish(&Record{Outcome: Success})
			if i%10 == 0 {
				target.Update(TargetInfo{Name: name, URL: "http://other.example"})
			}
			next := s.Add(TargetInfo{Name: name, Model: "other"})
			s.Remove(target)
			s.Remove(next)
		}
	}
	churn(0, 100)
	before := heap()
	churn(100, 5_000)       // 10 000 are added and removed
	const slack = 128 << 10 // 26 bytes for each name
	if after := heap(); after > before+slack {
		t.Errorf("the heap has grown from %d to %d bytes", before, after)
	}
}
