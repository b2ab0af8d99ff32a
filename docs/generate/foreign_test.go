package main

import (
	"slices"
	"testing"

	"github.com/prometheus/common/config"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v2"
)

// programs are those whose files pages show, with the keys by which these are recognised. Files of Prometheus and Alertmanager are given to promtool and
// amtool by `make docs`.
var programs = []struct {
	name string
	keys []string
	// check is what can be checked without the program; nil where there is nothing.
	check func(t *testing.T, text string)
}{
	{"Prometheus", []string{"scrape_configs", "rule_files", "scrape_config_files"}, nil},
	{"rules of Prometheus", []string{"groups"}, nil},
	{"Alertmanager", []string{"route", "inhibit_rules"}, nil},
	{"Kubernetes", []string{"apiVersion"}, nil},
	{"Compose", []string{"services"}, nil},
	{"--web.config.file", []string{"tls_server_config", "basic_auth_users", "http_server_config"}, checkWebConfig},
	{"--http.config.file", []string{"tls_config", "basic_auth", "authorization"}, checkHTTPConfig},
}

// checkForeign tells whether a block is the file of another program, and checks what can be checked of it.
func checkForeign(t *testing.T, text string) bool {
	t.Helper()
	var file yaml.MapSlice // the first of several documents
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		for _, item := range file {
			if key, _ := item.Key.(string); slices.Contains(p.keys, key) {
				if p.check != nil {
					p.check(t, text)
				}
				return true
			}
		}
	}
	return false
}

func checkWebConfig(t *testing.T, text string) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &web.Config{}); err != nil {
		t.Error(err)
	}
}

func checkHTTPConfig(t *testing.T, text string) {
	t.Helper()
	if _, err := config.LoadHTTPConfig(text); err != nil {
		t.Error(err)
	}
}

// checkFits holds a block against a JSON Schema.
func checkFits(t *testing.T, text, schema string) {
	t.Helper()
	compiled, err := jsonschema.NewCompiler().Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(plain(values)); err != nil {
		t.Error(err)
	}
}

// plain turns maps of YAML into those of JSON.
func plain(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := map[string]any{}
		for key, value := range v {
			name, _ := key.(string)
			out[name] = plain(value)
		}
		return out
	case map[string]any:
		for key, value := range v {
			v[key] = plain(value)
		}
	case []any:
		for i, value := range v {
			v[i] = plain(value)
		}
	case int:
		return float64(v)
	}
	return v
}

func TestFilesOfOtherProgramsAreRecognised(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       bool
	}{
		{"a target of ours", "targets: [{name: x}]", false},
		{"what nobody knows", "colour: red", false},
		{"Prometheus by a later key", "global: {scrape_interval: 15s}\nscrape_configs: []", true},
		{"a server's certificate", "tls_server_config: {cert_file: a, key_file: b}", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := checkForeign(t, tt.text); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
