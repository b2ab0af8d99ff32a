package metrics

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// counted is what a series has counted, and since when.
type counted struct {
	n     float64
	since time.Time
}

// seen is a scrape: what the counters and histograms of each target have counted, by its name and model and then as in the model, and how
// many series it has. Those that only carry a name are of that name.
type seen struct {
	counts   map[string]map[string]counted
	children map[string]int
}

func (w *world) scrape(after string) seen {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatalf("%s: %v", after, err)
	}
	out := seen{map[string]map[string]counted{}, map[string]int{}}
	infoNames := map[string]bool{}
	for _, family := range families {
		perTarget := w.store.named[family.GetName()].Scope == PerTarget
		for _, metric := range family.GetMetric() {
			of, key := "", family.GetName()
			for _, l := range metric.GetLabel() { // in the order of their names: model before target
				switch l.GetName() {
				case "target":
					of = strings.TrimSpace(l.GetValue() + " " + of)
				case "model":
					of = l.GetValue()
				case "workload":
				default:
					key += " " + l.GetValue()
				}
			}
			out.children[of]++
			if n, since, ok := amount(metric); ok && perTarget {
				if out.counts[of] == nil {
					out.counts[of] = map[string]counted{}
				}
				out.counts[of][key] = counted{n, since}
			}
			if family.GetName() == targetInfo {
				infoNames[infoLabelNames(metric)] = true
			}
		}
	}
	if len(infoNames) > 1 {
		w.t.Fatalf("%s: targets have different labels in one scrape: %v", after, infoNames)
	}
	delete(out.children, "") // those of the process
	return out
}

// check compares a scrape with the model, and with the scrape before.
func (w *world) check(after string) {
	w.t.Helper()
	now := w.scrape(after)
	children := map[string]int{}
	for name := range w.targets {
		children[name] = 4 // only carry the name
	}
	for _, m := range slices.Concat(w.drained, slices.Collect(maps.Values(w.targets))) {
		of := m.info.Name + " " + m.info.Model
		children[of] = shownChildren(&m.info.Features)
		for key, want := range m.counts {
			if got, ok := now.counts[of][key]; !ok || got.n != want {
				w.t.Fatalf("%s: %s of %s is %v (%t), want %v", after, key, of, got.n, ok, want)
			}
		}
		for key, before := range m.seen {
			if got, ok := now.counts[of][key]; ok && (got.n < before.n || !got.since.Equal(before.since)) {
				w.t.Fatalf("%s: %s of %s was %v and is %v", after, key, of, before, got)
			}
		}
		for key, got := range now.counts[of] {
			grows := strings.HasPrefix(key, "aiperf_phase_throughput") // with time
			if _, ok := m.seen[key]; !ok && m.seen != nil && (!got.since.After(m.latest) || got.n > 0 && !grows) {
				w.t.Fatalf("%s: %s of %s is new and %v", after, key, of, got)
			}
		}
		m.seen = now.counts[of]
		for _, c := range m.seen {
			m.latest = slices.MaxFunc([]time.Time{m.latest, c.since}, time.Time.Compare)
		}
	}
	if diff := cmp.Diff(children, now.children); diff != "" {
		w.t.Fatalf("%s: number of series (-want +got):\n%s", after, diff)
	}
}

// shownChildren is how many series targets with these features have from the start.
func shownChildren(f *Features) (n int) {
	for _, series := range Table() {
		if series.Scope == PerTarget && series.of(f) {
			n += childCount(&series, f)
		}
	}
	return n
}

// TestSeriesFollowTheirTargetsWhateverHappens compares the store with a model of it, after each of many random steps.
func TestSeriesFollowTheirTargetsWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			page := promhttp.HandlerFor(w.registry, promhttp.HandlerOpts{ErrorLog: w.failures, EnableOpenMetrics: true})
			for range 150 {
				after := w.step()
				w.check(after)
			}
			answer := httptest.NewRecorder()
			page.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			if answer.Code != 200 || len(*w.failures) > 0 {
				t.Errorf("status %d, %q", answer.Code, *w.failures)
			}
		})
	}
}
