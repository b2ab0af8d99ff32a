package discovery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	sd "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

// scripted is a mechanism whose answers a test gives.
type scripted struct {
	answers chan []*targetgroup.Group
	panics  atomic.Int64 // that are left
	told    atomic.Int64 // how often somebody was told of one
}

func newScripted() *scripted { return &scripted{} }

// Name implements sd.Config.
func (*scripted) Name() string { return "scripted" }

// NewDiscovererMetrics implements sd.Config.
func (*scripted) NewDiscovererMetrics(prometheus.Registerer, sd.RefreshMetricsInstantiator) sd.DiscovererMetrics {
	return &sd.NoopDiscovererMetrics{}
}

// NewDiscoverer implements sd.Config.
func (s *scripted) NewDiscoverer(sd.DiscovererOptions) (sd.Discoverer, error) { return s, nil }

// Run implements sd.Discoverer.
func (s *scripted) Run(ctx context.Context, up chan<- []*targetgroup.Group) {
	if s.panics.Add(-1) >= 0 {
		panic("a mechanism that panics")
	}
	for {
		select {
		case <-ctx.Done():
			return
		case groups := <-s.answers:
			select {
			case up <- groups:
			case <-ctx.Done():
				return
			}
		}
	}
}

func targetsOf(names ...string) []*targetgroup.Group {
	var out []model.LabelSet
	for _, name := range names {
		out = append(out, named(name))
	}
	return []*targetgroup.Group{group("g", nil, out...)}
}

// inBubble runs a test where time passes when everybody waits.
func inBubble(t *testing.T, s *scripted, grace time.Duration, body func(*Discovery)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d, err := New(Deps{
			Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewPedanticRegistry(),
			Redact: func(s string) string { return s }, Panicked: func(any) { s.told.Add(1) },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d.Run(ctx)
		}()
		s.answers = make(chan []*targetgroup.Group)
		if err := d.Apply([]SetConfig{{Name: "s", Configs: sd.Configs{s}, Grace: grace}}); err != nil {
			t.Fatal(err)
		}
		body(d)
		cancel()
		<-ended
	})
}

func TestChangedTellsOfEveryChangeAndOfNothingElse(t *testing.T) {
	t.Parallel()
	s := newScripted()
	inBubble(t, s, time.Minute, func(d *Discovery) {
		expect := func(what string, within time.Duration, want ...string) {
			t.Helper()
			timer := time.NewTimer(within)
			defer timer.Stop()
			select {
			case <-d.Changed():
				if want == nil {
					t.Errorf("%s: there is a change: %v", what, shownNames(d.Found()[0].Targets))
				} else if diff := cmp.Diff(want, shownNames(d.Found()[0].Targets)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			case <-timer.C:
				if want != nil {
					t.Errorf("%s: no change", what)
				}
			}
		}
		<-d.Changed() // the set itself
		s.answers <- targetsOf("a", "b")
		expect("the first answer", 2*time.Second, "a", "b")
		s.answers <- targetsOf("b", "a")
		expect("the same again", 10*time.Second)
		s.answers <- targetsOf("b")
		expect("one is missing", 2*time.Second, "b", "a")
		expect("its grace is not over", 58*time.Second)
		expect("its grace is over", 3*time.Second, "b")
		expect("nothing happens any more", time.Hour)
		// Many changes that nobody looks at are one.
		for i := range 20 {
			s.answers <- targetsOf("b", string(rune('c'+i)))
		}
		time.Sleep(5 * time.Second) //nolint:forbidigo // in a bubble
		expect("many changes", time.Second, append([]string{"b", "v"}, shownNames(missingOnes(d))...)...)
		expect("and no more", 30*time.Second)
	})
}

func missingOnes(d *Discovery) []Target {
	return slices.DeleteFunc(d.Found()[0].Targets, func(t Target) bool { return t.Missing.IsZero() })
}

func TestAMechanismThatPanicsIsMadeAnew(t *testing.T) {
	t.Parallel()
	s := newScripted()
	s.panics.Store(1)
	inBubble(t, s, time.Minute, func(d *Discovery) {
		<-d.Changed() // the set itself
		synctest.Wait()
		if found := d.Found()[0]; found.LastError != "a mechanism that panics" || found.Complete {
			t.Errorf("got %+v", found)
		}
		if got := s.told.Load(); got != 1 {
			t.Errorf("told %d times of a panic", got)
		}
		s.answers <- targetsOf("a")
		<-d.Changed()
		if found := d.Found(); !names("a")(found) || found[0].LastError != "" {
			t.Errorf("got %+v", found)
		}
	})
}

// wavering is a mechanism that gives an answer and right after it cannot give one, each time that it may go on.
type wavering struct {
	*scripted
	logger *slog.Logger
	goOn   chan struct{}
}

// NewDiscoverer implements sd.Config.
func (w *wavering) NewDiscoverer(o sd.DiscovererOptions) (sd.Discoverer, error) {
	w.logger = o.Logger
	return w, nil
}

// Run implements sd.Discoverer.
func (w *wavering) Run(_ context.Context, up chan<- []*targetgroup.Group) {
	for range w.goOn {
		up <- targetsOf("a")
		w.logger.Error("discovery failed", slog.String("err", "nobody knows"))
	}
}

func TestAnErrorAfterAnAnswerIsNotForgottenForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wavering{scripted: newScripted(), goOn: make(chan struct{})}
		p, err := newDiscovery(t).provider("s", w)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		up, ended := make(chan []*targetgroup.Group), make(chan struct{})
		go func() {
			defer close(ended)
			p.runOnce(ctx, up)
		}()
		for i := range 100 {
			w.goOn <- struct{}{}
			<-up
			synctest.Wait()
			if got := p.status(); got.problem != "nobody knows" || !got.answered {
				t.Errorf("answer %d: got %+v", i+1, got)
				break
			}
		}
		close(w.goOn)
		cancel()
		<-ended
	})
}

func TestRunEndsWithItsContextWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, sets := range map[string][]SetConfig{
		"without a set": nil,
		"with sets": {
			setOf(t, "file_sd_configs", "files: [/nowhere/x.json]\n"),
			{Name: "http", Configs: mechanisms(t, "http_sd_configs", "url: http://127.0.0.1:1\n").Configs()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiscovery(t)
			if err := d.Apply(sets); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				d.Run(ctx)
			}()
			if len(sets) > 0 {
				d.await(t, "an error", func(found []Set) bool { return found[1].LastError != "" })
			}
			cancel()
			<-ended
		})
	}
}

func TestPlanCanBeDiscarded(t *testing.T) {
	t.Parallel()
	d := start(t)
	change, err := d.Plan([]SetConfig{setOf(t, "file_sd_configs", "files: [/nowhere/x.json]\n")})
	if err != nil {
		t.Fatal(err)
	}
	change.Discard()
	if found := d.Found(); len(found) != 0 {
		t.Errorf("got %+v", found)
	}
}

func TestNamesCannotBeRegisteredTwice(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	deps := Deps{Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: registry}
	if _, err := New(deps); err != nil {
		t.Fatal(err)
	}
	already, ok := errors.AsType[prometheus.AlreadyRegisteredError](func() error { _, err := New(deps); return err }())
	if !ok {
		t.Errorf("got %v", already)
	}
}
