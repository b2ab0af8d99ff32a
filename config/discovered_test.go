package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/discovery"
)

const withSets = `
global: {max_targets: 5, labels: {region: eu1}}
secrets: {fleet: {value: "${API_KEY}"}}
workloads: {short: {output_tokens: 16}, long: {output_tokens: 512}}
loads: {trickle: {mode: poisson, rate: 0.2}, rush: {mode: poisson, rate: 20}}
defaults: {timeouts: {idle: 7s}, labels: {team: ml}}
targets:
  - {name: static, url: "http://h", model: m, endpoint: {type: chat}}
target_discovery:
  - name: fleet
    file_sd_configs: [{files: [a.json]}]
    template: {endpoint: {type: chat, secret: fleet, url_params: {v: "1"}}, load: trickle, workload: short, labels: {tier: "1"}}
    max_targets: 3
  - name: other
    file_sd_configs: [{files: [b.json]}]
    template: {model: m, endpoint: {type: completions}, load: trickle, seed: 7}
`

// found is a discovered target, as the labels that are left after relabelling say.
func found(labels ...string) discovery.Target {
	t := discovery.Target{Name: "unnamed", Labels: map[string]string{}, Discovered: map[string]string{"__meta_from": "test"}, Origin: "a.json:0"}
	for i := 0; i < len(labels); i += 2 {
		t.Labels[labels[i]] = labels[i+1]
	}
	if name := t.Labels[discovery.NameLabel]; name != "" {
		t.Name = name
	}
	return t
}

func loaded(t *testing.T, text string) *Config {
	t.Helper()
	config, problems := loadTexts(t, nil, text)
	if problems != "" {
		t.Fatal(problems)
	}
	return config
}

// outcome is what became of discovered targets, in short.
func outcome(c *Config, dropped []discovery.Dropped) []string {
	var out []string
	for i := range c.Targets {
		if t := &c.Targets[i]; t.Source != "" {
			out = append(out, t.Source+"/"+t.Name)
		}
	}
	for _, d := range dropped {
		out = append(out, fmt.Sprintf("%s/%s %s: %s", d.Set, d.Name, d.Reason, d.Detail))
	}
	return out
}

func TestLabelsBecomeATarget(t *testing.T) {
	t.Parallel()
	base := loaded(t, withSets)
	derived, dropped := base.WithDiscovered([]discovery.Set{{Name: "fleet", Targets: []discovery.Target{found(
		"__target_name__", "pod-0", "__address__", "10.0.0.1:8000", "__scheme__", "https", "__model__", "Qwen/Qwen3-8B", "__endpoint_type__", "completions",
		"__workload__", "long", "__load__", "rush", "__metrics_path__", "/stats", "__param_api-version", "2", "__tmp_x", "y", "zone", "z1", "tier", "2",
	)}}})
	if len(dropped) > 0 || len(derived.Targets) != 2 {
		t.Fatal(outcome(derived, dropped))
	}
	got := derived.Targets[1]
	type view struct {
		Name, Source, URL, Model, Type, Workload, Load, Page string
		Params, Labels                                       map[string]string
		Idle                                                 time.Duration
	}
	want := view{
		"pod-0", "fleet", "https://10.0.0.1:8000", "Qwen/Qwen3-8B", "completions", "long", "rush", "https://10.0.0.1:8000/stats",
		map[string]string{"v": "1", "api-version": "2"},
		map[string]string{"team": "ml", "tier": "2", "zone": "z1"},
		7 * time.Second,
	}
	shown := view{
		got.Name, got.Source, got.URL.Reveal(), got.Model, string(got.Endpoint.Type), got.Workload, got.Load, got.Server.MetricsURL.Reveal(),
		got.Endpoint.URLParams, got.Labels, got.Timeouts.Idle,
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	generated, err := derived.Generator()
	if err != nil || len(generated.Targets) != 2 {
		t.Fatalf("%d targets, %v", len(generated.Targets), err)
	}
	if name, value, err := generated.Targets[1].Client.Credential(); name != "Authorization" || value != "Bearer variable-hunter22" || err != nil {
		t.Errorf("credential %q %q %v", name, value, err)
	}
}

func TestNewcomersDoNotTakeThePlacesOfThoseInUse(t *testing.T) {
	t.Parallel()
	of := func(name string, used, missing bool) discovery.Target {
		out := found("__target_name__", name, "__address__", "h:1", "__model__", "m")
		if out.Used = used; missing {
			out.Missing = time.Unix(1, 0)
		}
		return out
	}
	for name, test := range map[string]struct{ fleet, other, want []string }{
		"one that is missing keeps its place": {
			[]string{"a", "b used", "c used", "d used missing"},
			nil,
			[]string{"fleet/b", "fleet/c", "fleet/d", "fleet/a max_targets: the set has 3 targets already"},
		},
		"one that was never used has none to keep": {
			[]string{"a", "b used", "c used", "d missing"},
			nil,
			[]string{"fleet/b", "fleet/c", "fleet/a", "fleet/d max_targets: the set has 3 targets already"},
		},
		"also among all sets": {
			[]string{"a", "b", "c"},
			[]string{"x used", "y used missing"},
			[]string{"other/x", "other/y", "fleet/a", "fleet/b", "fleet/c global_max_targets: there are 5 targets already"},
		},
		"where there are fewer places, those that are missing go first": {
			[]string{"b used", "c used", "d used", "a used missing"},
			nil,
			[]string{"fleet/b", "fleet/c", "fleet/d", "fleet/a max_targets: the set has 3 targets already"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sets := []discovery.Set{{Name: "fleet"}, {Name: "other"}}
			for i, list := range [][]string{test.fleet, test.other} {
				for _, text := range list {
					sets[i].Targets = append(sets[i].Targets, of(text[:1], strings.Contains(text, "used"), strings.Contains(text, "missing")))
				}
			}
			if diff := cmp.Diff(test.want, outcome(loaded(t, withSets).WithDiscovered(sets))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATemplateIsNotChangedByWhatIsMadeOfIt(t *testing.T) {
	t.Parallel()
	base := loaded(t, withSets)
	before, err := base.YAML()
	if err != nil {
		t.Fatal(err)
	}
	sets := []discovery.Set{{Name: "fleet", Targets: []discovery.Target{
		found("__target_name__", "a", "__address__", "h:1", "__model__", "m", "zone", "z1", "__param_x", "1"),
		found("__target_name__", "b", "__address__", "h:1", "__model__", "m"),
	}}}
	derived, _ := base.WithDiscovered(sets)
	if b := derived.Targets[2]; b.Labels["zone"] != "" || b.Endpoint.URLParams["x"] != "" {
		t.Errorf("one target has what another was given: %v %v", b.Labels, b.Endpoint.URLParams)
	}
	for name, c := range map[string]*Config{"base": base, "derived": derived} {
		after, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(before), string(after)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
		if c.Hash() != base.Hash() {
			t.Errorf("%s: the hash is another one", name)
		}
	}
	if len(base.Targets) != 1 {
		t.Errorf("the base has %d targets", len(base.Targets))
	}
	again, _ := derived.WithDiscovered(sets)
	if diff := cmp.Diff(outcome(derived, nil), outcome(again, nil)); diff != "" {
		t.Errorf("derived again (-first +second):\n%s", diff)
	}
}

func TestWhatIsDiscoveredCanBeRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for name, tt := range map[string]struct {
		labels []string
		want   string
	}{
		"no address":                       {[]string{"__model__", "m"}, "invalid: __address__ is missing"},
		"an address that is no URL":        {[]string{"__address__", "h:99999"}, `invalid: __address__ port must be 1 to 65535, got "99999"`},
		"a scheme that is not HTTP":        {[]string{"__address__", "h", "__scheme__", "ftp"}, `invalid: __address__ scheme must be http or https, got "ftp"`},
		"a password in the address":        {[]string{"__address__", "joe:hunter22@h"}, "invalid: __address__ must not have a user or password: credentials belong into the template"},
		"a password with a slash":          {[]string{"__address__", "joe:hunter22/x@h"}, "invalid: __address__ "},
		"a query in the address":           {[]string{"__address__", "http://h/?key=hunter22"}, "invalid: __address__ must not have a query: parameters are labels, __param_<name>"},
		"a path of metrics that is none":   {[]string{"__address__", "h", "__model__", "m", "__metrics_path__", "%zz"}, "invalid: __metrics_path__ is not a path"},
		"no model":                         {[]string{"__address__", "h"}, "invalid: model: is required"},
		"a name that is none":              {[]string{"__target_name__", "a b", "__address__", "h", "__model__", "m"}, `invalid: name: must be 1 to 63 letters, digits, dots, dashes and underscores, and begin with a letter or a digit, got "a b"`},
		"a workload that is not there":     {[]string{"__address__", "h", "__model__", "m", "__workload__", "shrt"}, `invalid: workload: there is no entry "shrt" under workloads, did you mean "short"?`},
		"a load that is not there":         {[]string{"__address__", "h", "__model__", "m", "__load__", "full"}, `invalid: load: there is no entry "full" under loads`},
		"a reserved label":                 {[]string{"__address__", "h", "__model__", "m", "job", "x"}, `invalid: labels.job: the label "job" is reserved`},
		"a label of every series":          {[]string{"__address__", "h", "__model__", "m", "region", "x"}, `invalid: labels.region: "region" is already a label of every series, from global.labels`},
		"a label that is too long":         {[]string{"__address__", "h", "__model__", "m", "zone", long}, "invalid: labels.zone: must have at most 128 bytes to be the value of a label, has 200"},
		"a label with a control character": {[]string{"__address__", "h", "__model__", "m", "zone", "a\x00"}, "invalid: labels.zone: must not have control characters to be the value of a label"},
		"a label that is not UTF-8":        {[]string{"__address__", "h", "__model__", "m", "zone", "\xff"}, "invalid: labels.zone: must be UTF-8 to be the value of a label"},
		"two mistakes":                     {[]string{"__address__", "h", "job", "x"}, `invalid: model: is required; labels.job: the label "job" is reserved`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sets := []discovery.Set{{Name: "fleet", Targets: []discovery.Target{
				found(tt.labels...), found("__target_name__", "good", "__address__", "h", "__model__", "m"),
			}}}
			derived, dropped := loaded(t, withSets).WithDiscovered(sets)
			if len(dropped) != 1 || len(derived.Targets) != 2 || derived.Targets[1].Name != "good" {
				t.Fatal(outcome(derived, dropped))
			}
			if got := string(dropped[0].Reason) + ": " + dropped[0].Detail; !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
			if strings.Contains(dropped[0].Detail, planted) || strings.Contains(dropped[0].Address, planted) {
				t.Errorf("a secret is in %s or %s", dropped[0].Detail, dropped[0].Address)
			}
			if dropped[0].Origin != "a.json:0" || dropped[0].Labels["__meta_from"] != "test" {
				t.Errorf("got %+v", dropped[0])
			}
		})
	}
}

func good(name string) discovery.Target {
	return found("__target_name__", name, "__address__", "h:80", "__model__", "m")
}

func TestThereAreNeverMoreTargetsThanAllowed(t *testing.T) {
	t.Parallel()
	missing := good("b")
	missing.Missing = time.Unix(1, 0)
	sets := []discovery.Set{
		{Name: "other", Targets: []discovery.Target{good("x"), good("a"), good("y"), good("z")}},
		{Name: "fleet", Targets: []discovery.Target{good("a"), found("__target_name__", "bad"), good("static"), good("c"), missing, good("d"), good("e")}},
		{Name: "of a configuration before", Targets: []discovery.Target{good("gone")}},
	}
	want := []string{
		"fleet/a", "fleet/c", "fleet/b", "other/x",
		"fleet/bad invalid: __address__ is missing",
		`fleet/static duplicate: "static" is already the name of a target of targets`,
		"fleet/d max_targets: the set has 3 targets already",
		"fleet/e max_targets: the set has 3 targets already",
		`other/a duplicate: "a" is already the name of a target of target_discovery fleet`,
		"other/y global_max_targets: there are 5 targets already",
		"other/z global_max_targets: there are 5 targets already",
	}
	base := loaded(t, withSets)
	for range 3 {
		if diff := cmp.Diff(want, outcome(base.WithDiscovered(sets))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestDiscoveredTargetsKeepTheLimitsOfSeries(t *testing.T) {
	t.Parallel()
	tight := loaded(t, withSets)
	tight.Metrics.MaxSeriesPerTarget = 1
	sets := []discovery.Set{{Name: "fleet", Targets: []discovery.Target{good("a")}}}
	derived, dropped := tight.WithDiscovered(sets)
	if len(dropped) != 1 || dropped[0].Reason != discovery.MaxSeries {
		t.Error(outcome(derived, dropped))
	}
	many := loaded(t, strings.NewReplacer("max_targets: 5", "max_targets: 5000", "max_targets: 3", "max_targets: 5000").Replace(withSets))
	sets[0].Targets = nil
	for i := range 3000 {
		sets[0].Targets = append(sets[0].Targets, good(fmt.Sprintf("t%04d", i)))
	}
	derived, dropped = many.WithDiscovered(sets)
	if len(dropped) == 0 || dropped[0].Reason != discovery.MaxSeries || len(derived.Targets)+len(dropped) != 3001 {
		t.Errorf("%d targets and %d dropped", len(derived.Targets), len(dropped))
	}
}

func TestSeedsOfDiscoveredTargetsStay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "c.yml")
	if err := os.WriteFile(file, []byte(withSets), 0o600); err != nil {
		t.Fatal(err)
	}
	seeds := func(of uint64) map[string]uint64 {
		c, err := Load(Options{Files: []string{file}, Env: testEnv, ExpandEnv: true, Seed: of})
		if err != nil {
			t.Fatal(err)
		}
		derived, dropped := c.WithDiscovered([]discovery.Set{
			{Name: "fleet", Targets: []discovery.Target{good("a"), good("b")}}, {Name: "other", Targets: []discovery.Target{good("c"), good("d")}},
		})
		if len(dropped) > 0 {
			t.Fatal(dropped)
		}
		out := map[string]uint64{}
		for i := range derived.Targets {
			out[derived.Targets[i].Name] = derived.Targets[i].Seed
		}
		return out
	}
	first, again, other := seeds(1), seeds(1), seeds(2)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("a reload (-before +after):\n%s", diff)
	}
	if first["a"] == first["b"] || first["c"] == first["d"] {
		t.Errorf("two targets have one seed: %v", first)
	}
	if first["a"] == other["a"] {
		t.Error("another process has the same seed, which nobody wrote down")
	}
	if first["c"] != other["c"] {
		t.Error("the seed of the template gives another one in another process")
	}
}

func TestTheSecretOfATemplateIsCountedOnce(t *testing.T) {
	t.Parallel()
	text := strings.Replace(withSets, "secret: fleet,", "api_key_file: absent.key,", 1)
	base := loaded(t, strings.Replace(text, `secrets: {fleet: {value: "${API_KEY}"}}`, "", 1))
	derived, _ := base.WithDiscovered([]discovery.Set{{Name: "fleet", Targets: []discovery.Target{good("a"), good("b")}}})
	generated, err := derived.Generator()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := generated.Targets[1].Client.Credential(); err == nil {
		t.Error("a file that is not there gives a credential")
	}
	if diff := cmp.Diff(map[string]int64{"target_discovery:fleet": 1}, derived.SecretReadErrors()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSecretsOfDiscoveryAppearNowhere(t *testing.T) {
	t.Parallel()
	config, err := loadFiles("testdata/good/discovery.yml")
	if err != nil {
		t.Fatal(err)
	}
	effective, err := config.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{
		"YAML": string(effective), "%+v": fmt.Sprintf("%+v", config), "parts": fmt.Sprintf("%+v %#v %v", config.TargetDiscovery, config.TargetDiscovery[0], config.Warnings),
	} {
		if i := strings.Index(out, planted); i >= 0 {
			t.Errorf("%s shows a secret: …%s", name, out[max(0, i-60):i+len(planted)])
		}
	}
	for _, secret := range []string{
		"user-hunter22", "query-hunter22", "basic-hunter22", "proxy-hunter22", "header-hunter22", "other-hunter22", "bearer-hunter22", "param-hunter22",
		"literal-hunter22", "file-hunter22",
	} {
		if got := config.Redactor().Redact("bad key " + secret + "."); got != "bad key <secret>." {
			t.Errorf("got %s", got)
		}
	}
}

// FuzzWithDiscovered gives arbitrary labels. Whatever they say, what is used can be sent to, and what is not used says why.
func FuzzWithDiscovered(f *testing.F) {
	for _, seed := range [][4]string{
		{"a", "h:80", "zone", "z1"},
		{"", "http://h/v1", "__param_x", "y"},
		{"x", "[::1]:80", "__metrics_path__", "a?b#c"},
		{"static", "h", "job", "x"},
		{"a b", "joe:x@h", "\xff", "\x00"},
		{"a", "h", "__endpoint_type__", "raw"},
		{"a", "h", "__scheme__", "HTTPS"},
		{"a", "h", "__load__", "rush"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	file := filepath.Join(f.TempDir(), "c.yml")
	if err := os.WriteFile(file, []byte(withSets), 0o600); err != nil {
		f.Fatal(err)
	}
	base, err := Load(Options{Files: []string{file}, Env: testEnv, ExpandEnv: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, address, label, value string) {
		one := found("__target_name__", name, "__address__", address, "__model__", "m", label, value)
		derived, dropped := base.WithDiscovered([]discovery.Set{{Name: "fleet", Targets: []discovery.Target{one}}})
		if len(derived.Targets)+len(dropped) != 2 {
			t.Fatal(outcome(derived, dropped))
		}
		for _, d := range dropped {
			if d.Reason == "" || d.Detail == "" {
				t.Errorf("dropped without a word: %+v", d)
			}
		}
		if _, err := derived.Generator(); err != nil {
			t.Errorf("%q cannot be sent to: %v", one.Labels, err)
		}
		for i := range derived.Targets {
			for name, value := range derived.Targets[i].Labels {
				if !utf8.ValidString(value) || len(value) > maxLabelValueBytes || isReserved(name) {
					t.Errorf("label %q has the value %q", name, value)
				}
			}
		}
	})
}
