package main

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

const labelled = `
global: {labels: {region: eu1}}
slos: {fast: {objective: 0.9, time_to_first_token: 1s}}
metrics: {extra_labels: [team]}
targets:
  - {name: one, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}, slo: fast, labels: {team: a, owner: b}}
  - {name: two, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}, labels: {team: a}}
`

// listed reads what `series` prints: label names by series.
func listed(stdout string) map[string][]string {
	out := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)\{(.*)\}$`).FindAllStringSubmatch(stdout, -1) {
		var labels []string
		if m[2] != "" {
			labels = strings.Split(m[2], ",")
		}
		slices.Sort(labels)
		out[m[1]] = labels
	}
	return out
}

// What is listed is compared with what a daemon with the same configuration exposes.
func TestSeriesListsWhatTheConfigurationExposes(t *testing.T) {
	t.Parallel()
	path := write(t, "labelled.yml", labelled)
	stdout := execute("series", "--config.file="+path).stdout
	list := listed(stdout)

	c, err := config.Load(config.Options{Files: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	gc, err := c.Generator()
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEngine(&session{logger: slog.New(slog.DiscardHandler)}, c, gc, watchers{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.close(slog.New(slog.DiscardHandler)) })
	t.Cleanup(e.generator.Close)
	families, err := e.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "aiperf_exporter_build_info" {
			contains(t, "standard output", stdout, family.GetName())
			continue
		}
		if strings.HasPrefix(family.GetName(), "prometheus_sd_") {
			continue // those of Prometheus' own packages
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName())
			}
			slices.Sort(labels)
			if diff := cmp.Diff(labels, list[family.GetName()]); diff != "" {
				t.Errorf("%s (-exposed +listed):\n%s", family.GetName(), diff)
				break
			}
		}
	}
	if len(list) < len(families)-1 || len(families) < 30 {
		t.Errorf("%d series are listed, %d exposed", len(list), len(families))
	}
}

func TestSeriesOfOneTarget(t *testing.T) {
	t.Parallel()
	path := write(t, "labelled.yml", labelled)
	all, one := execute("series", "--config.file="+path), execute("series", "--config.file="+path, "--target=one")
	if all.code != exitOK || one.code != exitOK {
		t.Fatalf("exit codes %d and %d", all.code, one.code)
	}
	targets := regexp.MustCompile(`(?m)^#   (one|two|together) +[1-9]\d*$`)
	name := func(stdout string) (names []string) {
		for _, m := range targets.FindAllStringSubmatch(stdout, -1) {
			names = append(names, m[1])
		}
		return names
	}
	if diff := cmp.Diff([][]string{{"one", "two", "together"}, {"one"}}, [][]string{name(all.stdout), name(one.stdout)}); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	for series, labels := range listed(one.stdout) {
		if !slices.Contains(labels, "target") {
			t.Errorf("%s is not of a target", series)
		}
	}
	got := execute("series", "--config.file="+path, "--target=three")
	if got.code != exitFailure || got.stdout != "" {
		t.Errorf("an unknown target gives exit code %d and %q", got.code, got.stdout)
	}
	contains(t, "standard error", got.stderr, `no enabled target "three"`)
}

func TestSeriesAreListedForPrograms(t *testing.T) {
	t.Parallel()
	path := write(t, "labelled.yml", labelled)
	text, got := execute("series", "--config.file="+path), execute("series", "--config.file="+path, "--format=json")
	var list seriesList
	decoder := json.NewDecoder(strings.NewReader(got.stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil || got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, %v and %q", got.code, err, got.stderr)
	}
	sum := 0
	for _, target := range list.Targets {
		sum += target.Series
	}
	if len(list.Targets) != 2 || sum == 0 || sum != list.Total {
		t.Errorf("%+v add up to %d, want %d", list.Targets, sum, list.Total)
	}
	byName := map[string][]string{}
	for _, line := range list.Series {
		if line.Help == "" || line.Type == "" || line.Scope == "" {
			t.Errorf("something of %+v is missing", line)
		}
		labels := slices.Clone(line.Labels)
		slices.Sort(labels)
		byName[line.Name] = labels
	}
	if diff := cmp.Diff(listed(text.stdout), byName, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-text +JSON):\n%s", diff)
	}
}

func TestSeriesAreGroupedByWhatTheyAreOf(t *testing.T) {
	t.Parallel()
	stdout := execute("series", "--config.file="+write(t, "labelled.yml", labelled)).stdout
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^# (of .*): [1-9]\d* series$`).FindAllStringSubmatch(stdout, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff([]string{"of each target", "of each replica of a target's server", "of each GPU", "of the exporter"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
