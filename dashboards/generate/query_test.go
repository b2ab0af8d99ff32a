package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v2"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/series"
)

// chosen stands for what a reader chooses, and for what Grafana puts in.
var chosen = strings.NewReplacer(
	"${window}", "5m", "$window", "5m", "$__rate_interval", "1m", "$__range", "15m", "$__interval", "15s", "${datasource}", "x",
	"$job", ".*", "$target", ".*", "$model", ".*", "$workload", ".*", "$slo", ".*", "$hostname", ".*", "$uuid", ".*", "$instance", ".*",
)

// foreign are series of others, with the labels that matter here: Prometheus itself and client_golang.
var foreign = map[string][]string{
	"ALERTS": {"alertname", "alertstate", "severity", "target", "slo"}, "up": {},
	"process_start_time_seconds": {}, "process_cpu_seconds_total": {}, "process_resident_memory_bytes": {}, "go_goroutines": {},
	"go_sched_latencies_seconds_bucket": {"le"}, "go_sched_pauses_total_gc_seconds_bucket": {"le"},
	"aiperf_exporter_build_info": {"version", "revision", "goversion"},
}

// registry is every series that exists, with its labels; nil where they are not known from a table.
func registry(t *testing.T) map[string][]string {
	t.Helper()
	known := maps.Clone(foreign)
	for _, s := range series.Table() {
		labels := append([]string{}, s.LabelNames(nil, nil)...)
		known[s.Name] = labels
		if s.Kind == metrics.Histogram {
			known[s.Name+"_sum"], known[s.Name+"_count"], known[s.Name+"_bucket"] = labels, labels, append(slices.Clone(labels), "le")
		}
	}
	for _, name := range recorded(t) {
		known[name] = nil
	}
	return known
}

// recorded are the names of the rules that are shipped.
func recorded(t *testing.T) (out []string) {
	t.Helper()
	files, err := fs.Glob(alerts.Rules(), "*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(alerts.Rules(), file)
		if err != nil {
			t.Fatal(err)
		}
		var read struct {
			Groups []struct {
				Rules []struct {
					Record string `yaml:"record"`
				} `yaml:"rules"`
			} `yaml:"groups"`
		}
		if err := yaml.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, g := range read.Groups {
			for _, r := range g.Rules {
				out = append(out, r.Record)
			}
		}
	}
	return out
}

// ofLevel are the labels that a recorded series has by the first part of its name; rules may add others.
var ofLevel = map[string][]string{
	"workload": {"job", "target", "model", "workload"},
	"slo":      {"job", "target", "model", "workload", "slo"},
	"target":   {"job", "target"},
	"exporter": {"job", "instance"},
	"job":      {"job"},
}

// variable is a question for the values of a label.
var variable = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

func TestEveryQueryIsOneAndAsksForSeriesAndLabelsThatExist(t *testing.T) {
	t.Parallel()
	known := registry(t)
	_, read := committed(t)
	for name, p := range read {
		for where, expr := range p.queries(t) {
			for _, finding := range findings(expr, known) {
				t.Errorf("%s: %s: %s", name, where, finding)
			}
		}
	}
}

// queries are all expressions of a page, by where they stand.
func (p *page) queries(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, one := range p.all() {
		for _, q := range one.Targets {
			out["panel "+one.Title+" "+q.RefID] = q.Expr
		}
	}
	for _, a := range p.Events.List {
		out["event "+a.Name] = a.Expr
	}
	for _, v := range p.Vars.List {
		if v.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(v.Query, &query); err != nil {
			t.Fatal(err)
		}
		m := variable.FindStringSubmatch(query.Query)
		if m == nil {
			t.Errorf("%s: variable %s asks %q", p.UID, v.Name, query.Query)
			continue
		}
		out["variable "+v.Name] = "count by (" + m[2] + ") (" + m[1] + ")"
	}
	return out
}

// findings are what is wrong with an expression: it cannot be read, or asks for a series or a label that nobody has.
func findings(expr string, known map[string][]string) (out []string) {
	text := chosen.Replace(expr)
	if strings.Contains(text, "$") {
		return []string{"a variable that nobody has: " + text}
	}
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return []string{err.Error() + ": " + text}
	}
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		labels, exists := known[selector.Name]
		if !exists {
			out = append(out, "there is no series "+selector.Name)
			return nil
		}
		for _, m := range selector.LabelMatchers {
			if m.Name != "__name__" && !has(selector.Name, labels, m.Name) {
				out = append(out, selector.Name+" has no label "+m.Name)
			}
		}
		return nil
	})
	return out
}

// has tells whether a series has a label; every series has those of the scrape.
func has(name string, labels []string, label string) bool {
	if level, _, recorded := strings.Cut(name, ":"); recorded {
		labels = append(slices.Clone(ofLevel[level]), "outcome", "error_class", "reason", "phase", "cause", "currency")
		return slices.Contains(labels, label)
	}
	return label == "job" || label == "instance" || slices.Contains(labels, label)
}

func TestAQueryForSomethingThatDoesNotExistIsFound(t *testing.T) {
	t.Parallel()
	known := registry(t)
	for name, expr := range map[string]string{
		"a series":       `rate(aiperf_request_total[5m])`,
		"a label":        `aiperf_target_info{targte="x"}`,
		"a rule's label": `slo:aiperf_goodput:ratio1h{uuid="x"}`,
		"a variable":     `aiperf_target_info{target=~"$tagret"}`,
		"an expression":  `sum(aiperf_target_info`,
	} {
		if len(findings(expr, known)) == 0 {
			t.Errorf("%s: %s is taken", name, expr)
		}
	}
}
