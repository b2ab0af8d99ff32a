package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/discovery"
)

// fileWith writes a file with one key, given as a pattern, and gives the place of the key as a user would write it.
func fileWith(pattern string) (text, path string) {
	var b strings.Builder
	var steps []string
	indent := ""
	for step := range strings.SplitSeq(strings.ReplaceAll(pattern, "[]", ".[]"), ".") {
		switch step {
		case "[]":
			b.WriteString("\n" + indent + "-")
			steps[len(steps)-1] += "[0]"
			indent += "  "
			continue
		case "*":
			step = "entry"
		}
		steps = append(steps, step)
		b.WriteString("\n" + indent + step + ":")
		indent += "  "
	}
	return b.String() + " 1\n", strings.Join(steps, ".")
}

func TestUnavailableKeysAreErrorsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for pattern, reason := range unavailable() {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			text, path := fileWith(pattern)
			root, findings := document(&source{name: "f"}, []byte(text), nil)
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			c := newChecker()
			c.value(root, reflect.TypeFor[frame](), nil, "")
			if len(c.findings) != 1 {
				t.Fatalf("got %v, want one finding", c.findings)
			}
			got := c.findings[0]
			if got.Path != path || got.Message != reason {
				t.Errorf("got %s, want %s: %s", got, path, reason)
			}
			if last := strings.Count(text, "\n"); got.Line != last {
				t.Errorf("got line %d, want the last, %d", got.Line, last)
			}
		})
	}
}

// typeOf gives the type of a key, nil if the types of the configuration do not have it.
func typeOf(pattern string) reflect.Type {
	t := reflect.TypeFor[frame]()
	for step := range strings.SplitSeq(strings.ReplaceAll(pattern, "[]", ".[]"), ".") {
		switch {
		case step == "*" && t.Kind() == reflect.Map, step == "[]" && t.Kind() == reflect.Slice:
			t = t.Elem()
		case t.Kind() == reflect.Struct:
			t, _ = keysOf(t).lookup(step)
		default:
			return nil
		}
		if t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t == nil {
			return nil
		}
	}
	return t
}

func known(pattern string) bool { return typeOf(pattern) != nil }

func TestTablesOfKeysAgreeWithTheTypes(t *testing.T) {
	t.Parallel()
	// These exist in the types of Prometheus, or of a target that stands under defaults or in a template, and are refused on purpose.
	refused := func(pattern string) bool {
		return strings.HasPrefix(pattern, "http_clients.") || strings.HasPrefix(pattern, "target_discovery[].") || pattern == "defaults.name"
	}
	for pattern := range unavailable() {
		if known(pattern) && !refused(pattern) {
			t.Errorf("%s can be used, it must not be in the table of unavailable keys", pattern)
		}
		if parent := pattern[:max(strings.LastIndex(pattern, "."), 0)]; parent != "" && !known(parent) {
			t.Errorf("nothing can hold %s", pattern)
		}
	}
	for pattern := range mustBePositive {
		if !known(pattern) {
			t.Errorf("mustBePositive has %s, which is not a key", pattern)
		}
	}
	target := keysOf(reflect.TypeFor[Target]()).names()
	for key, block := range sections {
		if !known(block) || (key != "secret" && !slices.Contains(target, key)) {
			t.Errorf("%s names an entry under %s: one of both is not a key", key, block)
		}
	}
	for _, key := range credentialFiles {
		if !known("http_clients.*." + key) {
			t.Errorf("credentialFiles has %s, which is not a key", key)
		}
	}
}

func TestKeysThatNameFilesAreFound(t *testing.T) {
	t.Parallel()
	var files []string
	for pattern := range allKeys(reflect.TypeFor[frame](), "") {
		if isFile(pattern) && !strings.Contains(pattern, ".kubernetes_sd_") && !strings.Contains(pattern, ".inference_pool_sd_") { // not in every build
			files = append(files, pattern)
		}
	}
	slices.Sort(files)
	want := []string{
		"defaults.endpoint.api_key_file", "defaults.expect[].json_schema_file", "defaults.fingerprint.baseline_file",
		"http_clients.*.authorization.credentials_file",
		"http_clients.*.basic_auth.password_file",
		"http_clients.*.basic_auth.username_file",
		"http_clients.*.bearer_token_file",
		"http_clients.*.http_headers.*.files[]",
		"http_clients.*.oauth2.client_certificate_key_file",
		"http_clients.*.oauth2.client_secret_file",
		"http_clients.*.oauth2.tls_config.ca_file",
		"http_clients.*.oauth2.tls_config.cert_file",
		"http_clients.*.oauth2.tls_config.key_file",
		"http_clients.*.tls_config.ca_file",
		"http_clients.*.tls_config.cert_file",
		"http_clients.*.tls_config.key_file",
		"modules.*.endpoint.api_key_file", "modules.*.expect[].json_schema_file",
		"otlp.headers_file", "otlp.tls_config.ca_file", "otlp.tls_config.cert_file", "otlp.tls_config.key_file",
		"secrets.*.file",
		"target_discovery[].file_sd_configs[].files[]",
		"target_discovery[].http_sd_configs[].authorization.credentials_file",
		"target_discovery[].http_sd_configs[].basic_auth.password_file",
		"target_discovery[].http_sd_configs[].basic_auth.username_file",
		"target_discovery[].http_sd_configs[].bearer_token_file",
		"target_discovery[].http_sd_configs[].http_headers.*.files[]",
		"target_discovery[].http_sd_configs[].oauth2.client_certificate_key_file",
		"target_discovery[].http_sd_configs[].oauth2.client_secret_file",
		"target_discovery[].http_sd_configs[].oauth2.tls_config.ca_file",
		"target_discovery[].http_sd_configs[].oauth2.tls_config.cert_file",
		"target_discovery[].http_sd_configs[].oauth2.tls_config.key_file",
		"target_discovery[].http_sd_configs[].tls_config.ca_file",
		"target_discovery[].http_sd_configs[].tls_config.cert_file",
		"target_discovery[].http_sd_configs[].tls_config.key_file",
		"target_discovery[].template.endpoint.api_key_file", "target_discovery[].template.expect[].json_schema_file",
		"target_discovery[].template.fingerprint.baseline_file",
		"targets[].endpoint.api_key_file", "targets[].expect[].json_schema_file", "targets[].fingerprint.baseline_file",
		"workloads.*.audio.folder",
		"workloads.*.dataset.file",
		"workloads.*.images.folder",
		"workloads.*.system_prompt_file",
		"workloads.*.tokenizer.file",
		"workloads.*.video.files[]",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// allKeys lists the patterns of all keys below t.
func allKeys(t reflect.Type, pattern string) map[string]bool {
	out := map[string]bool{pattern: true}
	switch t.Kind() {
	case reflect.Pointer:
		return allKeys(t.Elem(), pattern)
	case reflect.Map:
		maps.Copy(out, allKeys(t.Elem(), pattern+".*"))
	case reflect.Slice:
		maps.Copy(out, allKeys(t.Elem(), pattern+"[]"))
	case reflect.Struct:
		k := keysOf(t)
		for _, f := range k.fields {
			maps.Copy(out, allKeys(f.typ, strings.TrimPrefix(pattern+"."+f.name, ".")))
		}
		if k.open != nil {
			maps.Copy(out, allKeys(k.open, pattern+".*"))
		}
	default:
	}
	return out
}

// A field without a yaml tag would be lost in the effective configuration.
func TestEveryKeyHasTheSameNameForYAMLAndKoanf(t *testing.T) {
	t.Parallel()
	var visit func(typ reflect.Type)
	seen := map[reflect.Type]bool{}
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Map, reflect.Slice, reflect.Pointer:
			visit(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] || typ == reflect.TypeFor[discovery.Mechanisms]() || !strings.Contains(typ.PkgPath(), "aiperf-exporter") {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			koanf, _, _ := strings.Cut(f.Tag.Get("koanf"), ",")
			yaml, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if f.IsExported() && koanf != yaml && f.Name != "HTTP" && f.Name != "SD" && f.Name != "Rest" {
				t.Errorf("%s.%s: koanf %q, yaml %q", typ, f.Name, koanf, yaml)
			}
			visit(f.Type)
		}
	}
	visit(reflect.TypeFor[Config]())
}

// allStrings lists the patterns of all keys that take a text.
func allStrings() map[string]bool {
	out := map[string]bool{}
	for pattern := range allKeys(reflect.TypeFor[frame](), "") {
		if !known(pattern) {
			continue
		}
		if t := typeOf(pattern); t.Kind() == reflect.String || isOpaque(t) {
			out[pattern] = true
		}
	}
	return out
}
