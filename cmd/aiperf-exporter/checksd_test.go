package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withSet writes a configuration with one set, and the file that it reads.
func withSet(t *testing.T, mechanism, targets string) string {
	t.Helper()
	path := write(t, "sd.yml", `
loads: {trickle: {mode: poisson, rate: 0.2}}
target_discovery:
  - name: fleet
    `+mechanism+`
    relabel_configs:
      - {source_labels: [state], regex: away, action: drop}
      - {regex: state, action: labeldrop}
    template: {endpoint: {type: chat}, load: trickle, model: m}
`)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "targets.json"), []byte(targets), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const fileSD = `file_sd_configs: [{files: [targets.json]}]`

func TestCheckSDTellsWhatBecomesOfWhatIsFound(t *testing.T) {
	t.Parallel()
	path := withSet(t, fileSD, `[
		{"targets": ["h:1"], "labels": {"__target_name__": "good", "state": "here"}},
		{"targets": ["h:2"], "labels": {"__target_name__": "no name"}},
		{"targets": ["h:3"], "labels": {"state": "away"}}
	]`)
	got := execute("check", "sd", path, "fleet")
	want := `good: http://h:1, chat, model m, load trickle, from DIR/targets.json:0
  LABEL            DISCOVERED          RELABELLED
  __address__      "h:1"               "h:1"
  __meta_filepath  "DIR/targets.json"  
  __target_name__  "good"              "good"
  state            "here"              

no name: dropped as invalid, name: must be 1 to 63 letters, digits, dots, dashes and underscores, and begin with a letter or a digit, got "no name", from DIR/targets.json:1
  LABEL            DISCOVERED          RELABELLED
  __address__      "h:2"               "h:2"
  __meta_filepath  "DIR/targets.json"  
  __target_name__  "no name"           "no name"

h:3: dropped by relabel_configs, from DIR/targets.json:2
  LABEL            DISCOVERED          RELABELLED
  __address__      "h:3"               
  __meta_filepath  "DIR/targets.json"  
  state            "away"              

3 targets: 1 used, 2 dropped
`
	// The columns are as wide as the name of the folder, which is another one each time.
	squeeze := func(s string) string {
		var lines []string
		for line := range strings.Lines(strings.ReplaceAll(s, filepath.Dir(path), "DIR")) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	if diff := cmp.Diff(result{exitOK, squeeze(want), ""}, result{got.code, squeeze(got.stdout), got.stderr}, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckSDGivesItsResultToPrograms(t *testing.T) {
	t.Parallel()
	path := withSet(t, fileSD, `[{"targets": ["h:1"], "labels": {"__target_name__": "a"}}, {"targets": ["h:2"], "labels": {"__target_name__": "a"}}]`)
	got := execute("check", "sd", path, "fleet", "--format=json")
	if got.code != exitOK || got.stderr != "" {
		t.Errorf("exit code %d, %s", got.code, got.stderr)
	}
	var out sdResult
	decoder := json.NewDecoder(strings.NewReader(got.stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&out); err != nil {
		t.Fatal(err)
	}
	if !out.Complete || len(out.Found) != 2 || out.Found[0].URL != "http://h:1" || out.Found[1].Dropped != "duplicate" || out.Found[1].Labels["__address__"] != "h:2" {
		t.Errorf("got %+v", out)
	}
}

func TestCheckSDFailsWhereNothingAnswers(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(ts.Close)
	got := execute("check", "sd", withSet(t, `http_sd_configs: [{url: "`+ts.URL+`"}]`, ""), "fleet", "--timeout=300ms", "--log.level=error")
	if got.code != exitFailure || !strings.Contains(got.stderr, "set fleet: server returned HTTP status 404 Not Found") {
		t.Errorf("exit code %d, %s", got.code, got.stderr)
	}
	if !strings.HasSuffix(got.stdout, "0 targets: 0 used, 0 dropped\n") {
		t.Errorf("printed %s", got.stdout)
	}
}

func TestCheckSDKnowsTheSetsOfTheFile(t *testing.T) {
	t.Parallel()
	got := execute("check", "sd", withSet(t, fileSD, "[]"), "flet")
	if got.code != exitFailure || !strings.Contains(got.stderr, `no set "flet" under target_discovery, only fleet`) {
		t.Errorf("exit code %d, %s", got.code, got.stderr)
	}
	if got := execute("check", "sd", write(t, "bad.yml", "target_discovery: [{}]\n"), "x"); got.code != exitFailure || !strings.Contains(got.stderr, "target_discovery[0].name: is required") {
		t.Errorf("exit code %d, %s", got.code, got.stderr)
	}
}

func TestCheckCountsDiscoverySets(t *testing.T) {
	t.Parallel()
	if got := execute("check", "config", withSet(t, fileSD, "[]")); got.code != exitOK || got.stdout != "ok: 0 targets, 1 discovery set\n" {
		t.Errorf("exit code %d, %s%s", got.code, got.stdout, got.stderr)
	}
}
