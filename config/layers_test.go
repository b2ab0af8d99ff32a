package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// fiveLines is the smallest configuration that measures something.
const fiveLines = `targets:
  - name: a
    url: http://127.0.0.1:8000
    model: m
    endpoint: {type: chat}
`

func TestLaterFilesAreMergedOverEarlierOnes(t *testing.T) {
	t.Parallel()
	one := fiveLines + `
global: {max_in_flight: 1, max_rate: 10, labels: {region: eu1, zone: a}}
loads:
  gpt-4.1: {rate: 1, queue: {size: 3, max_wait: 1s}}
  kept: {interval: 1m}
metrics: {extra_labels: [team, tier]}
`
	two := `
global: {max_rate: 20, labels: {zone: b}}
loads:
  gpt-4.1: {queue: {max_wait: 9s}}
  new: {rate: 5}
metrics: {extra_labels: [tier]}
targets:
  - {name: b, url: "http://127.0.0.1:1", model: n, endpoint: {type: completions}, load: gpt-4.1}
`
	config, problems := loadTexts(t, nil, one, two)
	if problems != "" {
		t.Fatal(problems)
	}
	wantGlobal := Global{MaxInFlight: 1, MaxRate: 20, MaxStartPerSecond: 10, Budget: budget.DefaultConfig(), MaxTargets: 500, Labels: map[string]string{"region": "eu1", "zone": "b"}}
	if diff := cmp.Diff(wantGlobal, config.Global); diff != "" {
		t.Errorf("global (-want +got):\n%s", diff)
	}
	dotted := load.DefaultConfig()
	dotted.Rate, dotted.Queue = 1, load.QueueConfig{Size: 3, MaxWait: 9 * time.Second}
	kept := load.DefaultConfig()
	kept.Interval = time.Minute
	added := load.DefaultConfig()
	added.Rate = 5
	if diff := cmp.Diff(map[string]load.Config{"gpt-4.1": dotted, "kept": kept, "new": added}, config.Loads); diff != "" {
		t.Errorf("loads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tier"}, config.Metrics.ExtraLabels); diff != "" {
		t.Errorf("a list is replaced whole (-want +got):\n%s", diff)
	}
	if len(config.Targets) != 1 || config.Targets[0].Name != "b" {
		t.Errorf("got targets %v, want only b", config.Targets)
	}
}

func TestFindingsPointToTheLayerThatHasTheLastWord(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		env   []string
		texts []string
		want  string
	}{
		{
			name:  "a value of the first file",
			texts: []string{"loads:\n  l: {rate: 1, max_in_flight: 0}\n", "loads:\n  l:\n    on_full: drop\n"},
			want:  "one.yml:2:16: loads.l.max_in_flight: must be >= 1, got 0",
		},
		{
			name:  "a value that the second file overrides",
			texts: []string{"loads:\n  l: {rate: 1, max_in_flight: 5}\n", "\nloads:\n  l:\n    max_in_flight: 0\n"},
			want:  "two.yml:4:5: loads.l.max_in_flight: must be >= 1, got 0",
		},
		{
			name:  "a conflict between two files",
			texts: []string{"loads:\n  l: {rate: 1}\n", "loads:\n  l: {interval: 1s}\n"},
			want:  "two.yml:2:7: loads.l.interval: excludes rate, set exactly one of the two",
		},
		{
			name: "a missing key of a list that the second file replaces",
			texts: []string{
				fiveLines,
				"targets:\n  - name: b\n    url: http://127.0.0.1:1\n    endpoint: {type: chat}\n",
			},
			want: "two.yml:2:5: targets[0].model: is required",
		},
		{
			name:  "a mistake in the first file although the second overrides it",
			texts: []string{"global: {max_in_flight: many}\n", "global: {max_in_flight: 7}\n"},
			want:  "one.yml:1:10: global.max_in_flight: must be a whole number, got a string",
		},
		{
			name:  "both files, in their order",
			texts: []string{"gobal: {}\nlods: {}\n", "tagets: []\n"},
			want: `one.yml:1:1: gobal: unknown key, did you mean "global"?` + "\n" +
				`one.yml:2:1: lods: unknown key, did you mean "loads"?` + "\n" +
				`two.yml:1:1: tagets: unknown key, did you mean "targets"?`,
		},
		{
			name:  "a key of a name with dots and brackets",
			texts: []string{"workloads:\n  gpt-4.1: {output_tokens: 0}\n  gpt-4: {output_tokens: 0}\n  \"a[0].b\": {output_tokens: 0}\n"},
			want: "one.yml:2:13: workloads.gpt-4.1.output_tokens: mean must be between 1 and 10000000 tokens, got 0\n" +
				"one.yml:3:11: workloads.gpt-4.output_tokens: mean must be between 1 and 10000000 tokens, got 0\n" +
				"one.yml:4:3: workloads.a[0].b: the name of an entry must be 1 to 63 letters, digits, dots, dashes and underscores, and begin with a letter or a digit\n" +
				"one.yml:4:14: workloads.a[0].b.output_tokens: mean must be between 1 and 10000000 tokens, got 0",
		},
		{
			name:  "a value that came through an anchor, where it was typed",
			texts: []string{"x-load: &base\n  mode: poison\nloads:\n  l:\n    <<: *base\n    rate: 1\n"},
			want:  `one.yml:2:3: loads.l.mode: unknown mode "poison", must be one of closed, constant, gamma, poisson, probe, replay, users`,
		},
		{
			name:  "a whole entry that is an alias",
			texts: []string{"x-load: &base\n  max_in_flight: 0\nloads:\n  l: *base\n"},
			want:  "one.yml:2:3: loads.l.max_in_flight: must be >= 1, got 0",
		},
		{
			name:  "a value of defaults is reported once, however many targets have it",
			texts: []string{"defaults: {client: none}\n" + fiveLines + strings.ReplaceAll(strings.SplitN(fiveLines, "\n", 2)[1], "name: a", "name: b")},
			want:  `one.yml:1:12: defaults.client: there is no entry "none" under http_clients`,
		},
		{
			name:  "a value of a target that overrides defaults",
			texts: []string{"defaults: {client: fine}\nhttp_clients: {fine: {}}\n" + fiveLines + "    client: none\n"},
			want:  `one.yml:8:5: targets[0].client: there is no entry "none" under http_clients`,
		},
		{
			name:  "a value of defaults that is too large for a target's own total",
			texts: []string{"defaults: {timeouts: {idle: 10s}}\n" + fiveLines + "    timeouts: {first_token: 5s, total: 5s}\n"},
			want:  "one.yml:1:23: defaults.timeouts.idle: must not be above total (5s), got 10s",
		},
		{
			name:  "a built-in default that is too large for a target's own total",
			texts: []string{fiveLines + "    timeouts: {first_token: 5s, total: 5s}\n"},
			want:  "one.yml:6:5: targets[0].timeouts.idle: must not be above total (5s), got 30s",
		},
		{
			name:  "the environment over a file",
			env:   []string{"AIPERF_EXPORTER__global__max_in_flight=0"},
			texts: []string{"global: {max_in_flight: 5}\n"},
			want:  "env AIPERF_EXPORTER__global__max_in_flight: global.max_in_flight: must be >= 1, got 0",
		},
		{
			name:  "an empty key in a later file says nothing",
			texts: []string{"loads:\n  l: {max_in_flight: 0}\n", "loads:\n  l: {max_in_flight: }\n"},
			want:  "one.yml:2:7: loads.l.max_in_flight: must be >= 1, got 0",
		},
		{
			name:  "an empty key of a target does not hide what defaults say",
			texts: []string{"defaults: {client: none}\n" + fiveLines + "    client:\n"},
			want:  `one.yml:1:12: defaults.client: there is no entry "none" under http_clients`,
		},
		{
			name:  "an empty key that is required",
			texts: []string{strings.ReplaceAll(fiveLines, "model: m", "model:")},
			want:  "one.yml:4:5: targets[0].model: is required",
		},
		{
			name:  "no place at all",
			texts: []string{""},
			want:  "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got := loadTexts(t, tt.env, tt.texts...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvironmentSetsScalarsByTheirType(t *testing.T) {
	t.Parallel()
	config, problems := loadTexts(t, []string{
		"AIPERF_EXPORTER__global__max_in_flight=9", "AIPERF_EXPORTER__global__max_rate=2.5", "AIPERF_EXPORTER__global__labels__region=007",
		"AIPERF_EXPORTER__metrics__histograms=native", "AIPERF_EXPORTER__selftest__enabled=true", "AIPERF_EXPORTER_CONFIG_FILE=a flag, not a key", "OTHER=x",
	}, "global: {max_in_flight: 3, max_targets: 4}\n")
	if problems != "" {
		t.Fatal(problems)
	}
	want := Global{MaxInFlight: 9, MaxRate: 2.5, MaxStartPerSecond: 10, Budget: budget.DefaultConfig(), MaxTargets: 4, Labels: map[string]string{"region": "007"}}
	if diff := cmp.Diff(want, config.Global); diff != "" {
		t.Errorf("global (-want +got):\n%s", diff)
	}
	if got := config.Metrics.Histograms; got != "native" {
		t.Errorf("got histograms %q, want native", got)
	}
	if !config.SelfTest.Enabled {
		t.Error("the self-test is off, want it on")
	}
}

func TestEnvironmentThatHitsNoScalarIsAnError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, env, want string
	}{
		{"an unknown key", "AIPERF_EXPORTER__global__max_inflight=1", `global.max_inflight: unknown key, did you mean "max_in_flight"?`},
		{"upper case", "AIPERF_EXPORTER__global__MAX_RATE=1", `global.MAX_RATE: unknown key, did you mean "max_rate"?`},
		{"a list", "AIPERF_EXPORTER__metrics__extra_labels=team", "metrics.extra_labels: is a list, which cannot be set by an environment variable"},
		{"a map", "AIPERF_EXPORTER__global=1", "global: is a map: name one of its keys"},
		{"below a scalar", "AIPERF_EXPORTER__global__max_rate__x=1", "global.max_rate: must be a number, got a map"},
		{"a target", "AIPERF_EXPORTER__targets__0__url=http://h", "targets.0.url: only keys of global, metrics, selftest, otlp, debug can be set by environment variables"},
		{"a misspelled block", "AIPERF_EXPORTER__golbal__max_rate=1", `golbal.max_rate: only keys of global, metrics, selftest, otlp, debug can be set by environment variables, did you mean "global"?`},
		{"no key", "AIPERF_EXPORTER__=1", ": only keys of global, metrics, selftest, otlp, debug can be set by environment variables"},
		{"a key that is written elsewhere", "AIPERF_EXPORTER__global__timeout=1s", "global.timeout: is written as timeouts.total, for all targets under defaults"},
		{"the wrong type", "AIPERF_EXPORTER__global__max_in_flight=many", `global.max_in_flight: must be a whole number, got "many"`},
		{"nothing for a number", "AIPERF_EXPORTER__global__max_in_flight=", `global.max_in_flight: must be a whole number, got ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got := loadTexts(t, []string{tt.env}, fiveLines)
			name, _, _ := strings.Cut(tt.env, "=")
			want := "env " + name + ": " + strings.TrimPrefix(tt.want, ": ")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultsAreMergedUnderEveryTarget(t *testing.T) {
	t.Parallel()
	config, problems := loadTexts(t, nil, `
defaults: {model: m, url: "http://h", endpoint: {type: chat, ignore_eos: true}, labels: {a: "1", b: "1"}, slo: [s, u], seed: 5}
slos: {s: {time_to_first_token: 1s}, u: {time_to_first_token: 2s}}
targets:
  - {name: plain}
  - {name: own, model: n, endpoint: {type: completions}, labels: {b: "2"}, slo: u, seed: 0, enabled: false}
`)
	if problems != "" {
		t.Fatal(problems)
	}
	type view struct {
		Model, Type string
		IgnoreEOS   bool
		Labels      map[string]string
		SLO         Names
		Seed        uint64
		Enabled     bool
	}
	got := make([]view, 0, len(config.Targets))
	for _, x := range config.Targets {
		got = append(got, view{x.Model, string(x.Endpoint.Type), x.Endpoint.IgnoreEOS, x.Labels, x.SLO, x.Seed, x.Enabled})
	}
	want := []view{
		{"m", "chat", true, map[string]string{"a": "1", "b": "1"}, Names{"s", "u"}, 5, true},
		{"n", "completions", true, map[string]string{"a": "1", "b": "2"}, Names{"u"}, 0, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
