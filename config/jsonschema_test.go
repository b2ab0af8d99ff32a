package config

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// compiled is the schema as an editor has it.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err = c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// accepted tells whether an editor finds nothing wrong with a file, and what it would say of it. What is no YAML is not accepted, without a word.
func accepted(schema *jsonschema.Schema, text []byte) (ok bool, problem string) {
	var content any
	if yaml.Unmarshal(text, &content) != nil {
		return false, ""
	}
	if err := schema.Validate(asWritten(content)); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// asWritten gives dates their text back, which editors leave as it is.
func asWritten(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = asWritten(v[key])
		}
	case []any:
		for i := range v {
			v[i] = asWritten(v[i])
		}
	case time.Time:
		return v.Format(time.RFC3339)
	}
	return v
}

func filesOfFolders(t *testing.T, patterns ...string) []string {
	t.Helper()
	var out []string
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		out = append(out, files...)
	}
	return out
}

func TestTheSchemaAcceptsWhatIsRight(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for _, file := range filesOfFolders(t, "testdata/good/*.yml", "testdata/good/*.effective", "../examples/*.yml", "../demo/*.yml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if ok, problem := accepted(schema, text); !ok {
			t.Errorf("%s: %s", file, problem)
		}
	}
}

// What takes more than a look at one key only Load finds: references, ranges, what excludes what, secrets, and limits of the file itself.
var beyondSchema = []string{
	"binary-tag", "client-combinations", "credential-of-target-and-client", "debug-sizes", "fit", "global-labels", "global-values", "http2-without-tls",
	"key-with-control-character", "labels-twice", "names", "no-such-entry", "no-such-secret", "same-name-twice", "second-document", "secret-twice",
	"size-too-large", "slo-limits", "slo-listed-twice", "slo-of-a-stream", "timeouts", "too-deep", "too-deep-by-aliases", "too-many-targets",
	"two-credentials", "unknown-tag", "unset-variable", "urls", "utf16", "variable-not-closed", "variable-of-the-wrong-type", "variable-without-a-name",
}

func TestTheSchemaRefusesMistakesThatItCanSee(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	var got []string
	for _, file := range filesOfFolders(t, "testdata/bad/*.yml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if ok, _ := accepted(schema, text); ok {
			got = append(got, strings.TrimSuffix(filepath.Base(file), ".yml"))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(beyondSchema, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheSchemaHasTheKeysOfTheProgramAndNoOthers(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	refused := unavailable()
	visited := 0
	for pattern := range allKeys(reflect.TypeFor[frame](), "") {
		if pattern == "" || strings.Contains(pattern, ".kubernetes_sd_") || strings.Contains(pattern, ".inference_pool_sd_") {
			continue
		}
		visited++
		text, _ := fileWith(pattern)
		text = strings.TrimSuffix(text, " 1\n") + " null\n"
		_, problem := accepted(schema, []byte(text))
		isRefused := false // itself, or what it is under
		for key := range refused {
			isRefused = isRefused || pattern == key || strings.HasPrefix(pattern, key+".")
		}
		if unknown := strings.Contains(problem, "additional properties"); unknown != isRefused {
			t.Errorf("%s: refused is %v, and the schema says: %s", pattern, isRefused, problem)
		}
		if parent := typeOf(pattern); parent != nil && parent.Kind() == reflect.Struct && len(keysOf(parent).fields) > 0 && keysOf(parent).open == nil && !isRefused {
			text, _ = fileWith(pattern + ".no_such_key")
			if _, problem := accepted(schema, []byte(text)); !strings.Contains(problem, "additional properties 'no_such_key'") {
				t.Errorf("%s takes any key: %s", pattern, problem)
			}
		}
	}
	if visited < 300 {
		t.Errorf("only %d keys were looked at", visited)
	}
}

func TestTheSchemaKnowsWhatMayStandInTheirPlace(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for text, want := range map[string]bool{
		"": true, "x-anchors: {any: [thing]}": true, "anchors: {any: [thing]}": false,
		"workloads: {a: {input_tokens: 12}}": true, "workloads: {a: {input_tokens: 12.5}}": true, `workloads: {a: {input_tokens: "12"}}`: false,
		`workloads: {a: {input_tokens: "${N}"}}`: true, "workloads: {a: {input_tokens: {mean: 12, stddev: 3}}}": true,
		"workloads: {a: {input_tokens: {men: 12}}}": false, "workloads: {a: {input_tokens: [12]}}": false,
		"workloads: {a: {sequence: '128,64:40;512,128:60'}}": true, "workloads: {a: {sequence: [{input_tokens: 128}]}}": true,
		"workloads: {a: {sequence: [128]}}": false, "workloads: {a: {cache: bust}}": true, "workloads: {a: {cache: burst}}": false,
		`workloads: {a: {cache: "${CACHE:-bust}"}}`: true, "workloads: {a: {cache: null}}": true,
		"global: {max_in_flight: 12}": true, "global: {max_in_flight: 1.5}": false, `global: {max_in_flight: "12"}`: false,
		`global: {max_in_flight: "${N}"}`: true, "global: {paused: yes please}": false, "global: {paused: true}": true, "global: {labels: {a: 1}}": false,
		"loads: {a: {interval: 30s}}": true, "loads: {a: {interval: 1m30s}}": true, "loads: {a: {interval: 12.5ms}}": true,
		"loads: {a: {interval: 30}}": false, "loads: {a: {interval: 30 s}}": false, `loads: {a: {interval: "${EVERY:-30s}"}}`: true,
		"metrics: {removed_target_linger: 0}": true, "metrics: {removed_target_linger: 5}": false,
		"http_clients: {a: {max_event_size: 16MiB}}": true, "http_clients: {a: {max_event_size: 16MB}}": false, "http_clients: {a: {max_event_size: 16}}": false,
		"http_clients: {a: {http_version: '2'}}": true, "http_clients: {a: {http_version: 2}}": false,
		"http_clients: {a: {reuse: both, fresh_every: 3, ip_family: '6', dns_refresh: 1m}}": true, "http_clients: {a: {ip_family: 6}}": false,
		"http_clients: {a: {ip_family: each}}": false, "http_clients: {a: {ip_version: '6'}}": false,
		"slos: {a: {preset: mlperf-llama3.1-8b-interactive}}": true, "slos: {a: {preset: mlperf-llama3.1-8b}}": false,
		"targets: [{name: a, slo: fast}]": true, "targets: [{name: a, slo: [fast, cheap]}]": true, "targets: [{name: a, slo: 1}]": false,
		"targets: [null]": false, "targets: [{}]": false, "targets: {name: a}": false, "targets: [{name: a, seed: -1}]": false,
		"defaults: {url: 'http://a'}": true, "defaults: {name: a}": false, "target_discovery: [{name: a, template: {url: 'http://a'}}]": false,
	} {
		if got, problem := accepted(schema, []byte(text)); got != want {
			t.Errorf("%s: accepted is %v, want %v: %s", text, got, want, problem)
		}
	}
}
