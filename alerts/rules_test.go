package alerts_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/series"
)

// known are the series that a rule may read: ours, in each of their forms, those of Prometheus, and those that rules record.
func known() map[string]bool {
	out := map[string]bool{"up": true, "aiperf_exporter_build_info": true}
	for _, s := range series.Table() {
		out[s.Name] = true
		if s.Kind == metrics.Histogram {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				out[s.Name+suffix] = true
			}
		}
	}
	for name := range recorded(alerts.DefaultSite()) {
		out[name] = true
	}
	out["ALERTS"] = true // of Prometheus itself
	return out
}

func recorded(site alerts.Site) map[string]bool {
	out := map[string]bool{}
	for _, g := range alerts.Groups(site) {
		for _, r := range g.Rules {
			if r.Record != "" {
				out[r.Record] = true
			}
		}
	}
	return out
}

// reads are the names of the series in an expression.
func reads(t *testing.T, expr string) []string {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%v in\n%s", err, expr)
		return nil
	}
	var out []string
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			out = append(out, selector.Name)
		}
		return nil
	})
	return out
}

func TestRulesReadSeriesThatExist(t *testing.T) {
	t.Parallel()
	exists := known()
	for _, g := range alerts.Groups(alerts.DefaultSite()) {
		for _, r := range g.Rules {
			for _, name := range reads(t, r.Expr) {
				if !exists[name] {
					t.Errorf("%s%s reads %q, which there is not", r.Record, r.Alert, name)
				}
			}
		}
	}
}

// shown are what is recorded for people: nothing else reads it.
var shown = regexp.MustCompile(`^(slo:aiperf_(goodput|budget_remaining|bad_requests|burn_rate):ratio.*|workload:.*:(count|mean|p[0-9]+_|p95_adjusted).*|` +
	`workload:aiperf_(requests|request_errors|requests_error|phase_.*|arrivals_dropped):.*|job:aiperf_suspect:bool|exporter:aiperf_bad_requests:total|target:.*|fleet:.*|vantage:.*:p50_.*)$`)

func TestNothingIsRecordedForNobody(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	for _, g := range alerts.Groups(alerts.DefaultSite()) {
		for _, r := range g.Rules {
			for _, name := range reads(t, r.Expr) {
				read[name] = true
			}
		}
	}
	for name := range recorded(alerts.DefaultSite()) {
		if !read[name] && !shown.MatchString(name) {
			t.Errorf("nobody reads %s", name)
		}
	}
}

func TestAlertsSayWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	exists := known()
	asked := regexp.MustCompile("printf `([^{`]+)\\{")
	for _, g := range alerts.Groups(alerts.DefaultSite()) {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			var names []string
			for _, a := range r.Annotations {
				names = append(names, a.Name)
				for _, m := range asked.FindAllStringSubmatch(a.Value, -1) {
					if !exists[m[1]] {
						t.Errorf("%s asks for %s, which there is not", r.Alert, m[1])
					}
				}
				if strings.ContainsAny(strings.NewReplacer("{{", "", "}}", "").Replace(asked.ReplaceAllString(a.Value, "")), "\n") || a.Value == "" {
					t.Errorf("%s: the %s is %q", r.Alert, a.Name, a.Value)
				}
			}
			if diff := cmp.Diff([]string{"summary", "description", "runbook_url"}, names); diff != "" {
				t.Errorf("%s: annotations (-want +got):\n%s", r.Alert, diff)
			}
			if len(r.Labels) != 1 || !slices.Contains([]string{"page", "ticket", "info", "none"}, r.Labels[0].Value) {
				t.Errorf("%s has the labels %v", r.Alert, r.Labels)
			}
		}
	}
}

// What must be the same in every test of a rule: it is loaded by Prometheus as it stands in the folder.
func TestFilesAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	files := alerts.Files(alerts.DefaultSite())
	for path, want := range files {
		got, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: run make gen (-want +got):\n%s", path, diff)
		}
	}
	there, err := filepath.Glob("rules/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if _, ok := files[filepath.ToSlash(path)]; !ok {
			t.Errorf("%s is not generated, and would be loaded", path)
		}
	}
}

type ruleFile struct {
	Groups []struct {
		Name     string
		Interval string
		Rules    []struct {
			Record, Alert, Expr, For string
			KeepFiringFor            string `yaml:"keep_firing_for"`
			Labels, Annotations      map[string]string
		}
	}
}

func TestYAMLHoldsWhatTheGroupsSay(t *testing.T) {
	t.Parallel()
	groups := alerts.Groups(alerts.DefaultSite())
	var plain ruleFile
	if err := yaml.Unmarshal([]byte(alerts.Prometheus(groups)), &plain); err != nil {
		t.Fatal(err)
	}
	var object struct {
		Kind string
		Spec ruleFile
	}
	if err := yaml.Unmarshal([]byte(alerts.PrometheusRule(groups)), &object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, object.Spec); diff != "" {
		t.Errorf("the object differs from the file:\n%s", diff)
	}
	pairs := func(list []alerts.Pair) map[string]string {
		if len(list) == 0 {
			return nil
		}
		out := map[string]string{}
		for _, p := range list {
			out[p.Name] = p.Value
		}
		return out
	}
	for i, g := range groups {
		if plain.Groups[i].Name != g.Name || plain.Groups[i].Interval != g.Interval {
			t.Errorf("group %d is %v", i, plain.Groups[i])
		}
		for j, want := range g.Rules {
			got := plain.Groups[i].Rules[j]
			if got.Record != want.Record || got.Alert != want.Alert || strings.TrimSuffix(got.Expr, "\n") != want.Expr || got.For != want.For || got.KeepFiringFor != want.KeepFiringFor {
				t.Errorf("%+v is written as %+v", want, got)
			}
			if diff := cmp.Diff(pairs(want.Labels), got.Labels) + cmp.Diff(pairs(want.Annotations), got.Annotations); diff != "" {
				t.Errorf("%s%s:\n%s", want.Record, want.Alert, diff)
			}
		}
	}
}

func TestInhibitionsAreBetweenAlertsThatExist(t *testing.T) {
	t.Parallel()
	type inhibition struct {
		Source []string `yaml:"source_matchers"`
		Target []string `yaml:"target_matchers"`
		Equal  []string
	}
	read := func(site alerts.Site) []inhibition {
		var file struct {
			Rules []inhibition `yaml:"inhibit_rules"`
		}
		if err := yaml.Unmarshal([]byte(alerts.Inhibit(site)), &file); err != nil {
			t.Fatal(err)
		}
		return file.Rules
	}
	names := func(matchers []string) []string {
		if len(matchers) != 1 {
			t.Fatalf("matchers %q", matchers)
		}
		return strings.Split(strings.Trim(strings.TrimPrefix(matchers[0], "alertname =~ "), `"`), "|")
	}
	rules := read(alerts.DefaultSite())
	for _, rule := range rules {
		sources, targets := names(rule.Source), names(rule.Target)
		for _, name := range slices.Concat(sources, targets) {
			if !slices.Contains(alerts.Names(), name) {
				t.Errorf("there is no alert %s", name)
			}
		}
		for _, name := range sources {
			if slices.Contains(targets, name) {
				t.Errorf("%s holds itself back", name)
			}
		}
		if slices.Contains(targets, "AIPerfWatchdog") || slices.Contains(targets, "AIPerfTargetDown") && !slices.Equal(rule.Equal, []string{"job"}) {
			t.Errorf("%v holds back what must never be", sources)
		}
	}
	site := alerts.DefaultSite()
	site.ExtraLabels, site.Disable = []string{"cluster"}, []string{"AIPerfSLOBurnPage"}
	fewer := read(site)
	if len(fewer) != len(rules)-2 {
		t.Errorf("without AIPerfSLOBurnPage there are %d, with it %d", len(fewer), len(rules))
	}
	for _, rule := range fewer {
		absent := slices.Contains(names(rule.Source), "AIPerfExporterAbsent")
		if slices.Contains(rule.Equal, "cluster") == absent {
			t.Errorf("%v compares %v", rule.Source, rule.Equal)
		}
	}
}

func TestASiteHasItsOwnWords(t *testing.T) {
	t.Parallel()
	site := alerts.Site{
		Job: `my "job"`, ExtraLabels: []string{"cluster", "vantage"}, Severities: map[string]string{"page": "critical", "ticket": "warning"},
		RunbookBase: "https://wiki/", DashboardBase: "https://grafana", Disable: []string{"AIPerfPausedLong", "AIPerfWatchdog"}, Compat: "2.41",
	}
	if err := site.Validate(); err != nil {
		t.Fatal(err)
	}
	severities, all := map[string]bool{}, alerts.Prometheus(alerts.Groups(site))
	for _, g := range alerts.Groups(site) {
		for _, r := range g.Rules {
			reads(t, r.Expr)
			if r.Alert != "" {
				severities[r.Labels[0].Value] = true
			}
		}
	}
	if diff := cmp.Diff([]string{"critical", "info", "warning"}, slices.Sorted(maps.Keys(severities))); diff != "" {
		t.Errorf("severities (-want +got):\n%s", diff)
	}
	for _, absent := range []string{"keep_firing_for", "AIPerfPausedLong", "$slo)", "AIPerfWatchdog"} {
		if strings.Contains(all, absent) {
			t.Errorf("%s is there", absent)
		}
	}
	for _, there := range []string{
		`up{job="my \"job\""}`, "by (job, target, model, workload, slo, cluster, vantage)", "https://wiki/AIPerfTargetDown.md",
		"https://grafana/d/aiperf-target?var-target={{ $labels.target | urlquery }}&var-model=", "vantage=%q",
	} {
		if !strings.Contains(all, there) {
			t.Errorf("%s is not there", there)
		}
	}
}

func TestASiteThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*alerts.Site)
		want   string
	}{
		"no job":                       {func(s *alerts.Site) { s.Job = "" }, "the job is empty"},
		"an unknown alert":             {func(s *alerts.Site) { s.Disable = []string{"TargetDown"} }, `there is no alert "TargetDown"`},
		"an unknown severity":          {func(s *alerts.Site) { s.Severities = map[string]string{"critical": "page"} }, `there is no severity "critical", only page, ticket, info, none`},
		"a label that is there":        {func(s *alerts.Site) { s.ExtraLabels = []string{"target"} }, `extra label "target" is there already`},
		"a label twice":                {func(s *alerts.Site) { s.ExtraLabels = []string{"a", "a"} }, `extra label "a" is there already`},
		"what is no label":             {func(s *alerts.Site) { s.ExtraLabels = []string{"a-b"} }, `extra label "a-b" is not the name of a label`},
		"what is no Prometheus either": {func(s *alerts.Site) { s.Compat = "old" }, `"old" is not a version of Prometheus such as 2.41`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := alerts.DefaultSite()
			test.change(&site)
			if err := site.Validate(); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
