package mapping

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// tables are the files of data as they stand.
func tables(tb testing.TB) []server {
	tb.Helper()
	files, err := fs.Glob(data, "data/*.yml")
	if err != nil {
		tb.Fatal(err)
	}
	var out []server
	for _, name := range files {
		text, err := data.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		decoder.KnownFields(true)
		var s server
		if err := decoder.Decode(&s); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		if want := "data/" + string(s.Kind) + ".yml"; name != want {
			tb.Errorf("%s is about %s, want it in %s", name, s.Kind, want)
		}
		out = append(out, s)
	}
	return out
}

func TestEveryKindWithAPageHasATable(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds {
		_, ok := servers()[kind]
		if want := !slices.Contains([]Kind{Auto, None, Generic, Ollama}, kind); ok != want {
			t.Errorf("%s has a table: %t, want %t", kind, ok, want)
		}
	}
	for _, kind := range order {
		if s := servers()[kind]; len(s.prefixes)+len(s.families) == 0 {
			t.Errorf("%s is looked for and cannot be told by anything", kind)
		}
	}
}

func TestRowsSayNothingThatHasNoMeaning(t *testing.T) {
	t.Parallel()
	for _, s := range tables(t) {
		for i := range s.Rows {
			r := &s.Rows[i]
			for _, wrong := range r.nonsense() {
				t.Errorf("%s, row %d, %s: %s", s.Kind, i+1, r.Series, wrong)
			}
			if before := s.Rows[:i]; r.Unless != "" && !slices.ContainsFunc(before, func(b row) bool { return b.Series == r.Unless }) {
				t.Errorf("%s, row %d: unless %s, which no row before it is about", s.Kind, i+1, r.Unless)
			}
		}
		for _, kind := range s.Also {
			if !slices.Contains(order, kind) {
				t.Errorf("%s also shows the names of %s, which nobody looks for", s.Kind, kind)
			}
		}
	}
}

func (r *row) nonsense() []string {
	var out []string
	series, ok := seriesByName()[r.Series]
	if !ok {
		return []string{"no such series"}
	}
	known := map[string]metrics.Label{}
	for _, l := range series.Labels {
		known[l.Name] = l
	}
	for name, value := range r.Set {
		if l, ok := known[name]; !ok || len(l.Values) > 0 && !slices.Contains(l.Values, value) {
			out = append(out, fmt.Sprintf("sets %s to %s", name, value))
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(r.Labels)), slices.Collect(maps.Keys(r.Each))) {
		if _, ok := known[name]; !ok {
			out = append(out, "fills the label "+name)
		}
	}
	for from, to := range r.Values {
		if !slices.ContainsFunc(series.Labels, func(l metrics.Label) bool { return slices.Contains(l.Values, to) }) {
			out = append(out, fmt.Sprintf("translates %s to %s", from, to))
		}
	}
	for _, text := range slices.Concat(slices.Collect(maps.Values(r.Where)), slices.Collect(maps.Values(r.Except))) {
		if _, err := regexp.Compile(anchored(text)); err != nil {
			out = append(out, err.Error())
		}
	}
	if r.Positive && series.Kind != metrics.Gauge {
		out = append(out, "positive")
	}
	if r.Sum && series.Kind != metrics.Counter || r.Scale < 0 || r.Fallback && r.Unless != "" {
		out = append(out, "sum, scale or unless")
	}
	if len(r.Each) > 1 || len(r.Family) == 0 {
		out = append(out, "each or family")
	}
	return out
}

func TestFamiliesAreNamedOnce(t *testing.T) {
	t.Parallel()
	for _, s := range tables(t) {
		ignored := map[string]bool{}
		for _, family := range s.Ignored {
			if ignored[family] {
				t.Errorf("%s: %s is ignored twice", s.Kind, family)
			}
			ignored[family] = true
		}
		for i := range s.Rows {
			for _, family := range s.Rows[i].Family {
				if ignored[family] {
					t.Errorf("%s: %s is ignored and mapped", s.Kind, family)
				}
				if known := servers()[s.Kind]; len(s.Prefixes) > 0 && !known.owns(canonical(family)) {
					t.Errorf("%s: %s would not tell the kind", s.Kind, family)
				}
			}
		}
		if !slices.IsSorted(s.Ignored) {
			t.Errorf("%s: ignored families are not in the order of names", s.Kind)
		}
	}
}

// TestEachRowIsReachedByItsFamilyAlone maps pages of one family, for each family of each row, and for a counter in each way to write it.
func TestEachRowIsReachedByItsFamilyAlone(t *testing.T) {
	t.Parallel()
	for _, s := range tables(t) {
		for i := range s.Rows {
			r := &s.Rows[i]
			for _, name := range r.Family {
				for _, wire := range r.spellings(name) {
					checkAlone(t, s.Kind, r, wire)
				}
			}
		}
	}
}

// spellings are the ways in which a page can have the name.
func (r *row) spellings(name string) []string {
	colons := strings.ReplaceAll(name, ":", "_")
	out := []string{name, colons, "ray_" + colons}
	if series := seriesByName()[r.Series]; series.Kind == metrics.Counter && !r.Sum {
		if short, ok := strings.CutSuffix(name, "_total"); ok {
			return append(out, short, "ray_"+strings.ReplaceAll(short, ":", "_"))
		}
		return append(out, name+"_total")
	}
	return out
}

func checkAlone(t *testing.T, kind Kind, r *row, wire string) {
	t.Helper()
	series := seriesByName()[r.Series]
	s := exposition.Series{Value: 2}
	f := exposition.Family{Name: wire, Kind: exposition.Gauge}
	want := 2 * max(r.Scale, 0)
	if r.Scale == 0 {
		want = 2
	}
	switch {
	case r.Sum || series.Kind == metrics.Histogram:
		f.Kind, s.Value = exposition.Histogram, 0
		s.Histogram = &exposition.Buckets{Count: 3, Sum: 2, Classic: []exposition.Bucket{{Bound: 50, Count: 1}, {Bound: math.Inf(1), Count: 3}}}
	case len(r.Numbers) > 0:
		for _, label := range r.Numbers {
			s.Labels = append(s.Labels, exposition.Label{Name: label, Value: "16"})
		}
		want = math.Pow(16, float64(len(r.Numbers)))
	case r.Items != "":
		s.Labels, want = append(s.Labels, exposition.Label{Name: r.Items, Value: "a,b,c"}), 3
	case len(r.Each) > 0:
		for _, label := range r.Each {
			s.Labels = append(s.Labels, exposition.Label{Name: label, Value: "a"})
		}
		want = 1
	case series.join == collect:
		want = 1
	case series.Kind == metrics.Counter:
		f.Kind = exposition.Counter
	}
	for label, pattern := range r.Where {
		s.Labels = append(s.Labels, exposition.Label{Name: label, Value: example(pattern)})
	}
	f.Series = []exposition.Series{s}

	result := New(Options{Kind: kind, Model: "m"}).Map(&exposition.Page{Families: []exposition.Family{f}})
	for _, got := range result.Normalised {
		if got.GetName() != r.Series {
			continue
		}
		m := got.Metric[0]
		value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum()
		if diff := math.Abs(value - want); diff > 1e-12 {
			t.Errorf("%s: %s became %s %v, want %v", kind, wire, r.Series, value, want)
		}
		if b := m.GetHistogram().GetBucket(); len(b) > 0 && math.Abs(b[0].GetUpperBound()-want*25) > 1e-12 {
			t.Errorf("%s: a bound of %s at 50 became %v, want %v", kind, wire, b[0].GetUpperBound(), want*25)
		}
		return
	}
	t.Errorf("%s: a page with %s alone has no %s: %v", kind, wire, r.Series, lines(result.Normalised))
}

// example is a value that the patterns of the tables match.
func example(pattern string) string {
	switch pattern {
	case "[45]..":
		return "503"
	case "(?i).*_to_gpu":
		return "CPU_to_GPU"
	case "(?i)gpu_to_.*":
		return "GPU_to_CPU"
	default:
		return pattern
	}
}

func TestNewerNamesWin(t *testing.T) {
	t.Parallel()
	for _, s := range tables(t) {
		for i := range s.Rows {
			r := &s.Rows[i]
			if len(r.Family) < 2 || r.Fallback || seriesByName()[r.Series].Kind != metrics.Gauge || r.Where != nil {
				continue
			}
			page := exposition.Page{}
			for age, name := range slices.Backward(r.Family) { // the oldest first on the page
				page.Families = append(page.Families, exposition.Family{
					Name: name, Kind: exposition.Gauge,
					Series: []exposition.Series{{Value: float64(age) + 1}},
				})
			}
			got := lines(New(Options{Kind: s.Kind, Model: "m"}).Map(&page).Normalised)
			if len(got) != 1 || !strings.HasPrefix(got[0], r.Series+"{") || !strings.HasSuffix(got[0], " gauge 1") {
				t.Errorf("%s: of %s, the newest first, with the values 1, 2, …: %s, want 1", s.Kind, r.Family, got)
			}
		}
	}
}

func TestSeriesAreNamedAsPrometheusWants(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range Table() {
		if seen[s.Name] || !strings.HasPrefix(s.Name, "aiperf_server_") {
			t.Errorf("%s stands there twice or has another prefix", s.Name)
		}
		seen[s.Name] = true
		if counter := strings.HasSuffix(s.Name, "_total"); counter != (s.Kind == metrics.Counter) {
			t.Errorf("%s is a %s", s.Name, s.Kind)
		}
		for _, unit := range []string{"seconds", "bytes", "ratio"} {
			if named := strings.HasSuffix(strings.TrimSuffix(s.Name, "_total"), "_"+unit); named != (s.Unit == unit) {
				t.Errorf("%s has the unit %s", s.Name, s.Unit)
			}
		}
		if s.Scope != metrics.PerServer || !strings.HasSuffix(s.Help, ".") {
			t.Errorf("%s has the scope %s and the help %q", s.Name, s.Scope, s.Help)
		}
	}
	for name := range seriesByName() {
		used := false
		for _, s := range tables(t) {
			used = used || slices.ContainsFunc(s.Rows, func(r row) bool { return r.Series == name })
		}
		if !used {
			t.Errorf("no row is about %s", name)
		}
	}
}
