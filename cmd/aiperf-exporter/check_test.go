package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mistaken = `loads:
  quick: {mode: constant, rate: -1}
targets:
  - name: one
    url: http://127.0.0.1:1
    modl: m
    endpoint: {type: chatt}
`

// ofADay is what a target with all defaults asks for.
const (
	titles = "at most, each day  requests  input tokens  output tokens  USD\n"
	ofADay = "                    2880          369k           184k    –\n"
)

func TestCheckCountsTheTargetsOfAGoodConfiguration(t *testing.T) {
	t.Parallel()
	second := write(t, "second.yml", "global: {max_in_flight: 7}\n")
	got := execute("check", "config", write(t, "first.yml", minimal+`  - {name: two, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}}`), second)
	if diff := cmp.Diff(result{exitOK, "ok: 2 targets\n\n" + titles + "one" + ofADay + "two" + ofADay, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckTellsEveryMistakeWithItsPlace(t *testing.T) {
	t.Parallel()
	path := write(t, "bad.yml", mistaken)
	for name, args := range map[string][]string{"check": {"check", "config", path}, "serve": {"--config.file=" + path}, "run": {"run", "--config.file=" + path}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(args...)
			if got.code != exitFailure || got.stdout != "" {
				t.Errorf("exit code %d and standard output %q, want %d without", got.code, got.stdout, exitFailure)
			}
			var places []string
			for line := range strings.Lines(got.stderr) {
				if m := regexp.MustCompile(regexp.QuoteMeta(path) + `:(\d+:\d+: \S+): `).FindStringSubmatch(line); m != nil {
					places = append(places, m[1])
				} else {
					t.Errorf("a line without a place: %s", line)
				}
			}
			want := []string{"2:27: loads.quick.rate", "6:5: targets[0].modl", "7:16: targets[0].endpoint.type"}
			if diff := cmp.Diff(want, places); diff != "" {
				t.Errorf("places (-want +got):\n%s\nin\n%s", diff, got.stderr)
			}
		})
	}
}

// findings is what check config --format=json prints.
type findings struct {
	OK               bool
	Omitted          int
	Errors, Warnings []struct {
		File, Path, Message string
		Line, Column        int
	}
}

func checkJSONOf(t *testing.T, wantCode int, args ...string) findings {
	t.Helper()
	got := execute(append([]string{"check", "config", "--format=json"}, args...)...)
	if got.code != wantCode || got.stderr != "" {
		t.Errorf("exit code %d and standard error %q, want %d without", got.code, got.stderr, wantCode)
	}
	decoder := json.NewDecoder(strings.NewReader(got.stdout))
	decoder.DisallowUnknownFields()
	var out findings
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("%v in\n%s", err, got.stdout)
	}
	if out.Errors == nil || out.Warnings == nil {
		t.Errorf("a list is null, not empty:\n%s", got.stdout)
	}
	return out
}

func TestCheckGivesItsFindingsToPrograms(t *testing.T) {
	t.Parallel()
	bad := write(t, "bad.yml", mistaken)
	got := checkJSONOf(t, exitFailure, bad)
	if got.OK || len(got.Errors) != 3 {
		t.Fatalf("ok is %v with %d errors, want 3", got.OK, len(got.Errors))
	}
	if first := got.Errors[0]; first.File != bad || first.Line != 2 || first.Column != 27 || first.Path != "loads.quick.rate" || first.Message == "" {
		t.Errorf("first error is %+v", first)
	}
	if got := checkJSONOf(t, exitOK, write(t, "good.yml", minimal)); !got.OK || len(got.Errors)+len(got.Warnings) != 0 {
		t.Errorf("a good configuration gives %+v", got)
	}
	many := write(t, "many.yml", "targets:\n"+strings.Repeat("  - {}\n", 40))
	if got := checkJSONOf(t, exitFailure, many); got.Omitted == 0 || len(got.Errors) != 50 {
		t.Errorf("%d errors listed and %d left out, want 50 and some", len(got.Errors), got.Omitted)
	}
}

func TestWarningsAreTold(t *testing.T) {
	t.Parallel()
	path := write(t, "warned.yml", "secrets:\n  key: {value: literal-secret-in-the-file}\n"+minimal)
	got := execute("check", "config", path)
	if got.code != exitOK || got.stdout != "ok: 1 target\n\n"+titles+"one"+ofADay {
		t.Errorf("exit code %d with %q, want ok", got.code, got.stdout)
	}
	contains(t, "standard error", got.stderr, path+":2:", " (warning)\n")
	if strings.Contains(got.stderr, "literal-secret") {
		t.Errorf("a warning shows a secret:\n%s", got.stderr)
	}
	if got := checkJSONOf(t, exitOK, path); !got.OK || len(got.Warnings) == 0 {
		t.Errorf("as JSON there are no warnings: %+v", got)
	}
}

func TestCheckPrintsTheEffectiveConfigurationWithoutSecrets(t *testing.T) {
	t.Parallel()
	path := write(t, "secret.yml", `
secrets: {key: {value: hunter2-hunter2}}
targets:
  - {name: one, url: "http://user:hunter3@127.0.0.1:1", model: m, endpoint: {type: chat, secret: key}}
`)
	got := execute("check", "config", "--print", path)
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	contains(t, "standard output", got.stdout, "max_in_flight: 64\n", "name: one\n", "<secret>")
	for _, secret := range []string{"hunter2", "hunter3"} {
		if strings.Contains(got.stdout+got.stderr, secret) {
			t.Errorf("%s is shown:\n%s%s", secret, got.stdout, got.stderr)
		}
	}
}

func TestSecretFilesAreOpenedOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	path := write(t, "secret.yml", "secrets: {key: {file: absent.key}}\n"+minimal)
	if got := execute("check", "config", path); got.code != exitOK {
		t.Errorf("exit code %d without --strict-secrets: %s", got.code, got.stderr)
	}
	got := execute("check", "config", "--strict-secrets", path)
	if got.code != exitFailure {
		t.Errorf("exit code %d with --strict-secrets, want %d", got.code, exitFailure)
	}
	contains(t, "standard error", got.stderr, "secrets.key", "absent.key")
}

func TestCheckOfWebConfigurations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want int
		told string
	}{
		"a user with a hash":   {"basic_auth_users: {scraper: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG}\n", exitOK, ""},
		"an unknown key":       {"basic_auth: {}\n", exitFailure, "basic_auth not found"},
		"a missing key":        {"tls_server_config: {cert_file: absent.pem, key_file: absent.key}\n", exitFailure, "absent.pem"},
		"a password, no hash":  {"basic_auth_users: {scraper: password}\n", exitFailure, "bcrypt"},
		"an unsuitable header": {"http_server_config: {headers: {Server: me}}\n", exitFailure, "Server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, "web.yml", test.text)
			got := execute("check", "web-config", path)
			if got.code != test.want {
				t.Errorf("exit code %d, want %d: %s", got.code, test.want, got.stderr)
			}
			if test.want == exitOK && got.stdout != "ok\n" {
				t.Errorf("standard output is %q, want ok", got.stdout)
			}
			if test.want != exitOK {
				contains(t, "standard error", got.stderr, path+": ", test.told)
			}
		})
	}
}

func TestCheckSaysWhatADayAsksFor(t *testing.T) {
	t.Parallel()
	trace := write(t, "trace.jsonl", `{"timestamp": 0, "input_length": 12000, "output_length": 8, "hash_ids": [1]}`+"\n")
	got := execute("check", "config", write(t, "costs.yml", `
modules: {chat: {model: m, endpoint: {type: chat}}}
workloads:
  trace: {dataset: {format: mooncake_trace, file: `+trace+`}}
loads:
  heavy: {mode: constant, rate: 10}
  replay: {mode: replay}
defaults: {url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}}
targets:
  - {name: a-long-name, load: heavy, budget: {usd_per_day: 5, usd_per_million_input: 1, usd_per_million_output: 2}}
  - {name: b}
  - {name: c, workload: trace, load: replay}
`))
	want := `ok: 3 targets, 1 module

at most, each day  requests  input tokens  output tokens     USD
a-long-name            864k          111M          55.3M  221.18  more than its budget: arrivals beyond it will be dropped
b                      2880          369k           184k       –
c                         –             –              –       –  as its recording has them

workloads.trace.dataset: 1 conversation, 1 turn, 12k input and 8 output tokens recorded, over 0s
`
	if diff := cmp.Diff(result{exitOK, want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckFindsWhatIsWrongWithDatasets(t *testing.T) {
	t.Parallel()
	rows := write(t, "rows.jsonl", `{"text": "good"}`+"\n"+`{"text": `+"\n")
	path := write(t, "dataset.yml", "workloads: {default: {dataset: {format: single_turn, file: "+rows+"}}}\n"+minimal)
	got := execute("check", "config", path)
	if got.code != exitFailure || got.stdout != "" {
		t.Errorf("exit code %d with %q, want %d without", got.code, got.stdout, exitFailure)
	}
	contains(t, "standard error", got.stderr, rows+":2")
	if found := checkJSONOf(t, exitFailure, path); found.OK || len(found.Errors) != 1 || !strings.Contains(found.Errors[0].Message, rows+":2") {
		t.Errorf("as JSON: %+v", found)
	}
	if got := execute("check", "config", "--no-datasets", path); got.code != exitOK {
		t.Errorf("without datasets: %+v", got)
	}
}

func TestCheckWarnsOfBodiesOfWhichOnlySomeStream(t *testing.T) {
	t.Parallel()
	const streams, whole = `{"messages":[],"stream":true}` + "\n", `{"messages":[]}` + "\n"
	for name, test := range map[string]struct {
		file, want string
	}{
		"all stream":  {streams + streams, ""},
		"none does":   {whole, ""},
		"some stream": {streams + streams + whole, ": 2 recorded bodies ask for a stream and 1 do not, only the former have a time to first token (warning)\n"},
	} {
		path := write(t, "bodies.jsonl", test.file)
		got := execute("check", "dataset", "--format=raw_payload", path)
		want := test.want
		if want != "" {
			want = path + want
		}
		if got.code != exitOK || got.stderr != want {
			t.Errorf("%s: exit code %d and %q, want %q", name, got.code, got.stderr, want)
		}
	}
}
