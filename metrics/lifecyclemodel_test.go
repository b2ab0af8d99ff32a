package metrics

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// modelled is a target as it should be: what each of its series has counted, without any of the store's machinery.
type modelled struct {
	target  *Target
	info    TargetInfo
	counts  map[string]float64 // by series, and label beyond those of all series
	flights []modelledFlight
	ended   *int64 // conversations

	seen   map[string]counted // at the last scrape
	latest time.Time          // at which a series of it began
}

// modelledFlight is a request that runs, with the SLOs and the product that it began with.
type modelledFlight struct {
	flight *Flight
	info   TargetInfo
}

// shows tells whether the target has a series of the model now.
func (m *modelled) shows(key string) bool {
	name, label, _ := strings.Cut(key, " ")
	switch name {
	case "aiperf_slo_requests_total", "aiperf_good_requests_total":
		return slices.ContainsFunc(m.info.SLOs, func(slo SLO) bool { return slo.Name == label })
	case "aiperf_answer_check_failures_total":
		return slices.Contains(m.info.Checks, label)
	case "aiperf_sessions_total":
		return m.info.Sessions
	case "aiperf_content_events_total", "aiperf_time_to_first_token_seconds", "aiperf_unstreamed_answers_total":
		return streams(&m.info.Features)
	case "aiperf_images_total":
		return m.info.Product == ProductImages
	}
	return true
}

func (m *modelled) count(key string, n float64) {
	if m.shows(key) {
		m.counts[key] += n
	}
}

// world is a store and what it should show.
type world struct {
	t        *testing.T
	random   *rand.Rand
	store    *Store
	registry *prometheus.Registry
	failures *failures
	targets  map[string]*modelled // by name
	drained  []*modelled          // superseded
}

// failures are what the page that shows the store complains about.
type failures []string

// Println implements promhttp.Logger.
func (f *failures) Println(words ...any) {
	*f = append(*f, fmt.Sprint(words...))
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), failures: &failures{},
		store:    NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock(), Settings: Settings{SLOs: []SLO{testSLO()}}}),
		registry: prometheus.NewPedanticRegistry(),
		targets:  map[string]*modelled{},
	}
	w.registry.MustRegister(w.store)
	return w
}

func (w *world) chance(percent int) bool { return w.random.IntN(100) < percent }

// features are any.
func (w *world) features() Features {
	f := Features{Streaming: w.chance(60), Sessions: w.chance(50), ClosedLoop: w.chance(30), Fingerprint: w.chance(30)}
	if w.chance(25) {
		f.Product = ProductImages
	}
	for _, slo := range []SLO{limited("a", time.Hour, 0), limited("b", time.Nanosecond, time.Hour), limited("c", time.Minute, 0)} {
		if w.chance(50) {
			f.SLOs = append(f.SLOs, slo)
		}
	}
	w.random.Shuffle(len(f.SLOs), func(i, j int) { f.SLOs[i], f.SLOs[j] = f.SLOs[j], f.SLOs[i] })
	for _, check := range []string{"contains", "regex"} {
		if w.chance(50) {
			f.Checks = append(f.Checks, check)
		}
	}
	f.Budget = testBudget()[:w.random.IntN(3)]
	if w.chance(30) {
		f.Prices = Prices{Input: 1}
	}
	return f
}

// info describes a target that has ended so many conversations.
func (w *world) info(name, model string, ended *int64) TargetInfo {
	return TargetInfo{
		Name: name, Model: model, Features: w.features(), URL: fmt.Sprint("http://", w.random.IntN(9)),
		Labels: map[string]string{"team": fmt.Sprint(w.random.IntN(3)), "region": "eu"},
		Live:   func() Live { return Live{EndedSessions: map[SessionEnd]int64{SessionCompleted: *ended}} },
	}
}

// add begins a target, or another one under the name of one that is there.
func (w *world) add(name string) {
	model := fmt.Sprint("m", w.random.IntN(3))
	if old := w.targets[name]; old != nil {
		for model == old.info.Model {
			model = fmt.Sprint("m", w.random.IntN(3))
		}
		w.drained = append(w.drained, old)
	}
	w.drained = slices.DeleteFunc(w.drained, func(m *modelled) bool { return m.info.Name == name && m.info.Model == model })
	m := &modelled{ended: new(int64), counts: map[string]float64{}}
	m.info = w.info(name, model, m.ended)
	m.target = w.store.Add(m.info)
	w.targets[name] = m
}

func (w *world) update(m *modelled) {
	m.info = w.info(m.info.Name, m.info.Model, m.ended)
	m.target.Update(m.info)
	for key := range m.counts {
		if !m.shows(key) {
			delete(m.counts, key)
		}
	}
}

func (w *world) remove(m *modelled) {
	w.store.Remove(m.target)
	if w.targets[m.info.Name] == m {
		delete(w.targets, m.info.Name)
	}
	w.drained = slices.DeleteFunc(w.drained, func(other *modelled) bool { return other == m })
	w.finish(m) // comes too late, and must harm nothing
}

func (w *world) send(m *modelled) {
	flight := m.target.Sent()
	flight.Start(w.store.options.Clock.Now(), 3)
	m.flights = append(m.flights, modelledFlight{flight, m.info})
	m.count("aiperf_arrivals_total", 1)
	m.count("aiperf_arrivals_sent_total", 1)
}

// finish ends the oldest request.
func (w *world) finish(m *modelled) {
	if len(m.flights) == 0 {
		return
	}
	f := m.flights[0]
	m.flights = m.flights[1:]
	r := goldenTimelines()["plain"].record()
	r.Product, r.Items, r.FailedChecks = f.info.Product, 2, []string{"regex"}
	r.Streaming = streams(&f.info.Features)
	f.flight.Content(w.store.options.Clock.Now(), Count{})
	_, verdicts := f.flight.Finish(r)
	m.count("aiperf_requests_total success", 1)
	m.count("aiperf_answer_check_failures_total regex", 1)
	for i, slo := range f.info.SLOs {
		m.count("aiperf_slo_requests_total "+slo.Name, 1)
		m.count("aiperf_good_requests_total "+slo.Name, boolValue(verdicts[i].Good))
	}
	if r.Streaming {
		m.count("aiperf_content_events_total", float64(len(r.Content)))
		m.count("aiperf_time_to_first_token_seconds", 1)
	}
	if f.info.Product == ProductImages {
		m.count("aiperf_images_total", 2)
	}
}

func (w *world) drop(m *modelled) {
	m.target.Dropped(DropBudget, 1)
	m.count("aiperf_arrivals_total", 1)
	m.count("aiperf_arrivals_dropped_total budget", 1)
}

func (w *world) converse(m *modelled) {
	*m.ended++
	m.count("aiperf_sessions_total completed", 1)
}

// any is one of the targets, superseded ones included; nil if there are none.
func (w *world) any() *modelled {
	all := slices.Clone(w.drained)
	for _, name := range targetNames {
		if m := w.targets[name]; m != nil {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.random.IntN(len(all))]
}

var targetNames = []string{"x", "y", "z"}

func (w *world) step() string {
	m, name := w.any(), targetNames[w.random.IntN(len(targetNames))]
	switch n := w.random.IntN(20); {
	case m == nil || n == 0:
		w.add(name)
		return "add " + name
	case n < 4:
		w.update(m)
		return "update " + m.info.Name
	case n == 4:
		w.remove(m)
		return "remove " + m.info.Name
	case n == 5:
		labels := [][]string{nil, {"team"}, {"region", "team"}}[w.random.IntN(3)]
		w.store.Apply(Settings{InfoLabels: labels})
		return fmt.Sprint("apply ", labels)
	case n < 10:
		w.send(m)
		return "send " + m.info.Name
	case n < 16:
		w.finish(m)
		return "finish " + m.info.Name
	case n < 18:
		w.converse(m)
		return "converse " + m.info.Name
	}
	w.drop(m)
	return "drop " + m.info.Name
}
