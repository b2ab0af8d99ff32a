package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindingPrintsWhatIsKnown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		finding Finding
		want    string
	}{
		{"everything", Finding{File: "a.yml", Line: 3, Column: 7, Path: "loads.l", Message: "is wrong"}, "a.yml:3:7: loads.l: is wrong"},
		{"no key", Finding{File: "a.yml", Line: 3, Column: 7, Message: "is wrong"}, "a.yml:3:7: is wrong"},
		{"a whole file", Finding{File: "a.yml", Message: "is wrong"}, "a.yml: is wrong"},
		{"a variable", Finding{File: "env X", Path: "global.x", Message: "is wrong"}, "env X: global.x: is wrong"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.finding.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFindingsAreMarshalledForMachines(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal([]Finding{{File: "a.yml", Line: 3, Column: 7, Path: "loads.l", Message: "is wrong"}, {File: "b.yml", Message: "is gone"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"file":"a.yml","line":3,"column":7,"path":"loads.l","message":"is wrong"},{"file":"b.yml","message":"is gone"}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAtMostFiftyFindingsAreReported(t *testing.T) {
	t.Parallel()
	_, got := loadTexts(t, nil, "global:\n"+strings.Repeat("  wobble-X: 1\n", 60)) // the first is unknown, the others are written twice
	lines := strings.Split(got, "\n")
	if len(lines) != maxFindings+1 || lines[maxFindings] != "and 10 more" {
		t.Errorf("got %d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
	if !strings.HasPrefix(lines[0], "one.yml:2:3:") || !strings.HasPrefix(lines[maxFindings-1], "one.yml:51:3:") {
		t.Errorf("the first are not reported in order: %s … %s", lines[0], lines[maxFindings-1])
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	t.Parallel()
	_, got := loadTexts(t, nil, fiveLines+"    timeouts: {idle: "+strings.Repeat("é", 5000)+"}\n")
	if len(got) > maxMessageBytes+100 || !strings.HasSuffix(got, "é…") {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yml")
	if err := os.WriteFile(large, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.yml")
	if err := os.WriteFile(broken, []byte("a: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(Options{Files: []string{filepath.Join(dir, "absent.yml"), large, broken, dir}})
	if _, ok := errors.AsType[*Errors](err); !ok {
		t.Fatalf("got %v, want an *Errors", err)
	}
	want := strings.Join([]string{
		"absent.yml: cannot be read: no such file or directory",
		"large.yml: cannot be read: larger than 4 MiB",
		"broken.yml:1:1: did not find expected node content",
		": cannot be read: is a directory",
	}, "\n")
	got := strings.ReplaceAll(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""), dir, "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnEmptyFileOrNoneIsAConfigurationWithoutTargets(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{"no file": nil, "empty": {""}, "a comment": {"# nothing\n"}, "null": {"~\n"}, "an empty map": {"{}\n"}} {
		config, problems := loadTexts(t, nil, texts...)
		if problems != "" {
			t.Errorf("%s: %s", name, problems)
			continue
		}
		if len(config.Targets) != 0 || len(config.Warnings) != 1 || config.Warnings[0].Path != "targets" {
			t.Errorf("%s: got %d targets and warnings %v", name, len(config.Targets), config.Warnings)
		}
	}
}

func TestUnusedEntriesAreWarnedAbout(t *testing.T) {
	t.Parallel()
	config, problems := loadTexts(t, nil, `
secrets: {used: {file: k}, idle: {file: k}}
http_clients: {default: {}, idle: {}} # default is used by whoever names none
workloads: {used: {}, idle: {}}
loads: {used: {}, idle: {}}
slos: {used: {time_to_first_token: 1s}, idle: {time_to_first_token: 1s}}
targets:
  - {name: a, url: "http://h", model: m, endpoint: {type: chat, secret: used}, workload: used, load: used, slo: used}
`)
	if problems != "" {
		t.Fatal(problems)
	}
	got := make([]string, 0, len(config.Warnings))
	for _, w := range config.Warnings {
		got = append(got, w.Path+": "+w.Message)
	}
	want := make([]string, 0, len(blocks))
	for _, block := range blocks {
		want = append(want, block+".idle: is not used by any target")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
