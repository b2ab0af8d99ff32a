package main

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
)

func TestRulesArePrintedWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	got := execute("rules", "--config.file=nowhere.yml")
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d and %q", got.code, got.stderr)
	}
	if want := alerts.Prometheus(alerts.Groups(alerts.DefaultSite())); got.stdout != want {
		t.Error("these are not the rules of a site that has changed nothing")
	}
}

func TestRulesAreInTheWordsOfTheSite(t *testing.T) {
	t.Parallel()
	got := execute("rules", "--job=canary", "--extra-label=cluster", "--extra-label=vantage", "--severity=page=critical", "--severity=ticket=warning",
		"--disable=AIPerfWatchdog", "--runbook-base=https://wiki/", "--dashboard-base=https://grafana", "--prometheus-compat=2.41")
	if got.code != exitOK {
		t.Fatalf("exit code %d and %q", got.code, got.stderr)
	}
	for _, there := range []string{
		`up{job="canary"}`, "by (job, target, cluster, vantage)", "severity: critical", "severity: warning", "https://wiki/AIPerfTargetDown.md", "https://grafana/d/aiperf-target?",
	} {
		if !strings.Contains(got.stdout, there) {
			t.Errorf("%s is not there", there)
		}
	}
	for _, absent := range []string{"severity: page", "AIPerfWatchdog", "keep_firing_for"} {
		if strings.Contains(got.stdout, absent) {
			t.Errorf("%s is there", absent)
		}
	}
}

func TestEachFormatOfRulesIsYAML(t *testing.T) {
	t.Chdir("../..")
	for _, format := range ruleFormats {
		got := execute("rules", "--format="+format, "--config.file=examples/canary.yml")
		if got.code != exitOK || got.stderr != "" {
			t.Errorf("%s: exit code %d and %q", format, got.code, got.stderr)
		}
		var document map[string]any
		if err := yaml.Unmarshal([]byte(got.stdout), &document); err != nil || len(document) == 0 {
			t.Errorf("%s: %v in %.300s", format, err, got.stdout)
		}
	}
}

func TestRulesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/aiperf-exporter.yml"
	if err := os.WriteFile(file, []byte("targets: [{name: t, url: http://127.0.0.1:1, model: m, endpoint: {type: chat}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an unknown alert":                    {[]string{"--disable=TargetDown"}, exitUsage, "enum value must be one of AIPerfTargetDown,"},
		"a severity that there is not":        {[]string{"--severity=critical=page"}, exitUsage, `there is no severity "critical", only page, ticket, info, none`},
		"a format that there is not":          {[]string{"--format=json"}, exitUsage, "enum value must be one of"},
		"the SLOs of a missing configuration": {[]string{"--format=pyrra", "--config.file=nowhere.yml"}, exitFailure, "nowhere.yml"},
		"SLOs where there are none":           {[]string{"--format=sloth", "--config.file=" + file}, exitFailure, "no target of the configuration has an SLO"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(append([]string{"rules"}, test.args...)...)
			if got.code != test.code || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
				t.Errorf("exit code %d, %q on standard error and %.100q on standard output", got.code, got.stderr, got.stdout)
			}
		})
	}
}
