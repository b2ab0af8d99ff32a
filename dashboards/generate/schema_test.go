package main

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func TestMain(m *testing.M) {
	plugins.RegisterDefaultPlugins()
	m.Run()
}

func TestGrafanasOwnSchemaTakesThePages(t *testing.T) {
	t.Parallel()
	texts, _ := committed(t)
	for name, text := range texts {
		for _, finding := range strictly(text) {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

func TestGrafanasOwnSchemaRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	texts, _ := committed(t)
	text := string(texts["aiperf-target"])
	for name, wrong := range map[string]string{
		"a field that no panel has":   strings.Replace(text, `"legend": {`, `"legends": {}, "legend": {`, 1),
		"a text in place of a number": strings.Replace(text, `"refresh": 2`, `"refresh": "two"`, 1),
		"a key that no page has":      strings.Replace(text, `"editable": false`, `"editable": false, "edit": 1`, 1),
	} {
		if wrong == text {
			t.Fatalf("%s: nothing to replace", name)
		}
		if len(strictly([]byte(wrong))) == 0 {
			t.Errorf("%s is taken", name)
		}
	}
}

// strictly is what the schema says against a page. It calls some fields required that have a default in Grafana and may be left out.
func strictly(text []byte) (findings []string) {
	err := (&dashboard.Dashboard{}).UnmarshalJSONStrict(text) //nolint:staticcheck // its successor is for Grafana 12 and later
	var all cog.BuildErrors
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &all):
		return []string{err.Error()}
	}
	for _, one := range all {
		if !strings.Contains(one.Message, "required field is missing from input") {
			findings = append(findings, one.Error())
		}
	}
	return findings
}

// Values that the schema does not check: Grafana ignores a word that it does not know, and the panel looks wrong.
var allowed = map[string][]string{
	"type": {
		"stat", "timeseries", "table", "heatmap", "bargauge", "state-timeline", "row", "datasource", "query", "custom", "dashboards", "prometheus", "link",
		"range", "linear", "log", "auto", "color-text", "color-background", "gauge",
	},
	"unit": {
		"s", "percentunit", "reqps", "short", "none", "bytes", "Bps", "watt", "joule", "celsius", "hertz", "suffix: tok/s", "suffix: tok/J", "suffix: nats", "suffix:x",
		"suffix: cores",
	},
	"placement":         {"bottom", "right"},
	"displayMode":       {"list", "table", "basic"},
	"drawStyle":         {"line", "bars"},
	"lineInterpolation": {"linear"},
	"showPoints":        {"auto"},
	"axisPlacement":     {"auto", "left"},
	"gradientMode":      {"none"},
	"colorMode":         {"value", "background"},
	"graphMode":         {"none", "area"},
	"textMode":          {"value", "value_and_name"},
	"format":            {"time_series", "table", "heatmap"},
	"editorMode":        {"code"},
	"align":             {"auto", "left", "right"},
	"cellHeight":        {"sm"},
	"valueMode":         {"text"},
	"namePlacement":     {"left"},
	"sizing":            {"manual"},
	"sort":              {"desc"},
	"orientation":       {"auto", "horizontal"},
	"justifyMode":       {"auto"},
	"showValue":         {"never", "auto"},
	"alignValue":        {"left"},
}

// defaults are the keys that fieldConfig.defaults has in Grafana; the schema lets others pass.
var defaults = []string{"unit", "decimals", "min", "max", "noValue", "color", "custom", "thresholds", "mappings", "links"}

// colour is a name of Grafana's palette, or a colour of the web.
var colour = regexp.MustCompile(`^(text|(super-light-|light-|semi-dark-|dark-)?(red|orange|yellow|green|blue|purple)|#[0-9a-fA-F]{6})$`)

func TestWordsAndColoursAreThoseThatGrafanaKnows(t *testing.T) {
	t.Parallel()
	texts, _ := committed(t)
	for name, text := range texts {
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		walk(tree, "", func(path, key string, value any) {
			word, isText := value.(string)
			switch {
			case isText && (key == "color" && !strings.HasSuffix(path, ".exemplars") || key == "fixedColor" || key == "iconColor"):
				if !colour.MatchString(word) {
					t.Errorf("%s: %s.%s is %q, no colour", name, path, key, word)
				}
			case isText && allowed[key] != nil && !slices.Contains(allowed[key], word):
				t.Errorf("%s: %s.%s is %q", name, path, key, word)
			case key == "uid" && path != "" && word != "${datasource}":
				t.Errorf("%s: %s names the data source %q: only the one that the reader chose is there", name, path, word)
			case strings.HasSuffix(path, "fieldConfig.defaults") && !slices.Contains(defaults, key):
				t.Errorf("%s: %s has no key %s", name, path, key)
			}
		})
		if strings.Contains(string(text), "__inputs") {
			t.Errorf("%s: __inputs break dashboards that come from a file", name)
		}
	}
}

// walk visits every key of a tree with the path of names above it.
func walk(tree any, path string, visit func(path, key string, value any)) {
	switch node := tree.(type) {
	case map[string]any:
		for key, value := range node {
			visit(path, key, value)
			walk(value, strings.TrimPrefix(path+"."+key, "."), visit)
		}
	case []any:
		for _, value := range node {
			walk(value, path, visit)
		}
	}
}
