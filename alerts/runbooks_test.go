package alerts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
)

const runbooks = "../docs/runbooks"

func TestEachAlertHasARunbookAndEachRunbookAnAlert(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, entry := range entries {
		pages = append(pages, strings.TrimSuffix(entry.Name(), ".md"))
	}
	names := alerts.Names()
	slices.Sort(names)
	if diff := cmp.Diff(names, pages); diff != "" {
		t.Errorf("(-alerts +pages):\n%s", diff)
	}
}

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	check    = regexp.MustCompile(`(?m)^[0-9]\. `)
	question = regexp.MustCompile("(?s)```promql\n(.*?)```")
)

func TestRunbooksSayWhatIsNeededAtNight(t *testing.T) {
	t.Parallel()
	exists := known()
	for _, name := range alerts.Names() {
		text, err := os.ReadFile(filepath.Join(runbooks, name+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		var headings []string
		for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
			headings = append(headings, m[1])
		}
		if diff := cmp.Diff([]string{name, "What users notice", "Why this is no false alarm", "First checks", "What to do", "Known benign causes", "Silencing"}, headings); diff != "" {
			t.Errorf("%s: headings (-want +got):\n%s", name, diff)
		}
		if n := len(check.FindAllString(string(text), -1)); n != 3 {
			t.Errorf("%s has %d checks, want 3", name, n)
		}
		for _, m := range question.FindAllStringSubmatch(string(text), -1) {
			for _, series := range reads(t, m[1]) {
				if !exists[series] {
					t.Errorf("%s asks for %s, which there is not", name, series)
				}
			}
		}
	}
}

// An alert that no test has seen fire, or that none has seen stay away, is a guess.
func TestEachAlertIsSeenToFireAndNotToFire(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("tests/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	quiet := regexp.MustCompile(`expr: '[^\n]*ALERTS[^\n]*exp_samples: \[\]`).FindAllString(all.String(), -1)
	for _, name := range alerts.Names() {
		if !strings.Contains(all.String(), `alertname="`+name+`", alertstate="firing", severity=`) {
			t.Errorf("no test sees %s fire", name)
		}
		if name == "AIPerfWatchdog" {
			continue
		}
		if !slices.ContainsFunc(quiet, func(expr string) bool {
			named := regexp.MustCompile(`alertname=~?"([^"]*)"`).FindStringSubmatch(expr)
			return named == nil || regexp.MustCompile("^(?:"+named[1]+")$").MatchString(name)
		}) {
			t.Errorf("no test sees %s not fire", name)
		}
	}
}

func TestThePageOfAlertsHasThemAll(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range alerts.Groups(alerts.DefaultSite()) {
		for _, r := range g.Rules {
			if row := "| [" + r.Alert + "](runbooks/" + r.Alert + ".md) | "; r.Alert != "" && !strings.Contains(string(text), row+r.Labels[0].Value+" | ") {
				t.Errorf("there is no row for %s with its severity", r.Alert)
			}
		}
	}
}
