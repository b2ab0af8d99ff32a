package genai_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp/genai"
)

// named is a target like chat.
func named(name string) genai.Target {
	t := chat
	t.Name = name
	return t
}

func settings(targets ...genai.Target) genai.Settings {
	return genai.Settings{Semconv: "1.41", Targets: targets}
}

func apply(t *testing.T, o *genai.Observer, s genai.Settings) {
	t.Helper()
	if err := o.Apply(s); err != nil {
		t.Fatal(err)
	}
}

// durations are the counts of the histogram of durations, by target.
func durations(all []metricdata.Metrics) map[string]uint64 {
	out := map[string]uint64{}
	for _, p := range durationPoints(all) {
		name, _ := p.Attributes.Value("aiperf.target")
		out[name.AsString()] += p.Count
	}
	return out
}

func durationPoints(all []metricdata.Metrics) (out []metricdata.HistogramDataPoint[float64]) {
	for _, m := range all {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok && m.Name == "gen_ai.client.operation.duration" {
			out = append(out, h.DataPoints...)
		}
	}
	return out
}

func TestTargetsComeAndGo(t *testing.T) {
	t.Parallel()
	o := observe(t, genai.Options{Settings: settings(named("a"), named("b"))})
	shown := func(when string, want, wantGone map[string]uint64) {
		t.Helper()
		now, gone, err := o.Metrics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]map[string]uint64{want, wantGone}, []map[string]uint64{durations(now), durations(gone)}); diff != "" {
			t.Errorf("%s: what is there and what is gone (-want +got):\n%s", when, diff)
		}
	}
	type counts = map[string]uint64
	finish(o, "a", answered())
	finish(o, "b", answered())
	shown("at first", counts{"a": 1, "b": 1}, counts{})
	apply(t, o, settings(named("b"), named("c")))
	finish(o, "a", answered()) // it drains
	finish(o, "b", answered())
	finish(o, "c", answered())
	shown("while one drains", counts{"a": 2, "b": 2, "c": 1}, counts{})
	finish(o, "a", answered())
	o.Remove("a")
	o.Remove("b")
	finish(o, "a", answered()) // too late
	shown("after the removal, and of one that the configuration has", counts{"b": 2, "c": 1}, counts{"a": 3})
	shown("and then no more", counts{"b": 2, "c": 1}, counts{})
	apply(t, o, settings(named("a"), named("c")))
	finish(o, "a", answered())
	shown("one comes back at zero; the removal of another was only early", counts{"a": 1, "c": 1}, counts{"b": 2})
	moved := named("c")
	moved.URL = "http://elsewhere"
	apply(t, o, settings(named("a"), moved))
	shown("one that changes begins anew", counts{"a": 1}, counts{"c": 1})
	apply(t, o, genai.Settings{Semconv: "none", Targets: []genai.Target{named("a")}})
	finish(o, "a", answered())
	o.Remove("c")
	shown("without names there is nothing", counts{}, counts{"a": 1})
}

func TestATargetThatComesBackHasANewStart(t *testing.T) {
	t.Parallel()
	o := observe(t, genai.Options{Settings: settings(chat)})
	finish(o, "open", answered())
	before := durationPoints(gathered(t, o))[0]
	apply(t, o, settings())
	o.Remove("open")
	apply(t, o, settings(chat))
	finish(o, "open", answered())
	now, gone, err := o.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after, last := durationPoints(now), durationPoints(gone)
	if len(after) != 1 || len(last) != 1 || !last[0].StartTime.Equal(before.StartTime) || !after[0].StartTime.After(before.StartTime) || after[0].Count != 1 {
		t.Errorf("before %+v, last %+v, after %+v: want one point each, the new one with a later start", before, last, after)
	}
}

// TestATargetKeepsItsBoundariesAndANewOneHasThoseOfTheObjectives has a histogram begin anew only with its target.
func TestATargetKeepsItsBoundariesAndANewOneHasThoseOfTheObjectives(t *testing.T) {
	t.Parallel()
	o := observe(t, genai.Options{Settings: settings(named("a"))})
	s := settings(named("a"), named("b"))
	s.SLOs = []metrics.SLO{{Name: "s", Thresholds: []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: float64(260 * ms)}}}}
	apply(t, o, s)
	finish(o, "a", answered())
	finish(o, "b", answered())
	got := map[string]bool{}
	for _, m := range gathered(t, o) {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok && strings.HasSuffix(m.Name, "time_to_first_chunk") {
			for _, p := range h.DataPoints {
				name, _ := p.Attributes.Value("aiperf.target")
				got[name.AsString()] = slices.Contains(p.Bounds, .26)
			}
		}
	}
	if diff := cmp.Diff(map[string]bool{"a": false, "b": true}, got); diff != "" {
		t.Errorf("limit is a boundary (-want +got):\n%s", diff)
	}
	if err := o.Apply(genai.Settings{Semconv: "1.42"}); err == nil {
		t.Error("conventions that are not known are taken")
	}
	if n := len(durationPoints(gathered(t, o))); n != 2 {
		t.Errorf("%d points after a change that cannot be made, want the two of before", n)
	}
}

// TestWhatIsGoneIsBounded has nobody collect.
func TestWhatIsGoneIsBounded(t *testing.T) {
	t.Parallel()
	o := observe(t, genai.Options{Settings: settings()})
	const changes = 1100
	for i := range changes {
		name := fmt.Sprint(i)
		apply(t, o, settings(named(name)))
		finish(o, name, answered())
	}
	_, gone, err := o.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(durations(gone)); n != 0 {
		t.Errorf("%d are gone that were never removed", n)
	}
	for i := range changes {
		o.Remove(fmt.Sprint(i))
	}
	now, gone, err := o.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := slices.Collect(maps.Keys(durations(now))); len(n) != 1 || len(durations(gone)) != 1000 {
		t.Errorf("%v are there and %d gone, want the last one and the newest 1000", n, len(durations(gone)))
	}
}

func TestRequestsFinishWhileTargetsChange(t *testing.T) {
	t.Parallel()
	o := observe(t, genai.Options{Settings: settings(named("steady"))})
	var all sync.WaitGroup
	const each = 500
	for range 4 {
		all.Go(func() {
			for i := range each {
				finish(o, "steady", answered())
				finish(o, fmt.Sprint(i%5), answered())
			}
		})
	}
	total := uint64(0)
	for i := range 200 {
		apply(t, o, settings(named("steady"), named(fmt.Sprint(i%5))))
		o.Remove(fmt.Sprint((i + 2) % 5))
		now, _, err := o.Metrics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := durations(now)["steady"]; n < total {
			t.Fatalf("%d after %d: a target that did not change went back", n, total)
		}
		total = durations(now)["steady"]
	}
	all.Wait()
	if n := durations(gathered(t, o))["steady"]; n != 4*each {
		t.Errorf("%d requests, want %d", n, 4*each)
	}
}
