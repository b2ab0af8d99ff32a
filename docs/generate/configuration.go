package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/prometheus/common/model"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp"
	"github.com/aiperf-exporter/aiperf-exporter/probe"
	"github.com/aiperf-exporter/aiperf-exporter/selftest"
)

// configurationText is the page without its tables.
//
//go:embed configuration.md.tmpl
var configurationText string

// configurationPage is configuration.md.
func configurationPage() ([]byte, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	defaults, err := defaultsOfBlocks(root)
	if err != nil {
		return nil, err
	}
	w := &walker{sources: sources{root: root, parsed: map[string]*source{}}}
	used := map[string]bool{}
	keys := func(block string) (string, error) {
		value, ok := defaults[block]
		if !ok {
			return "", fmt.Errorf("there is no block %s", block)
		}
		used[block] = true
		return w.table(block, reflect.ValueOf(value))
	}
	page, err := template.New("configuration.md").Funcs(template.FuncMap{"keys": keys, "presets": presetsTable}).Parse(configurationText)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, nil); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	for _, block := range blockNames() {
		if !used[block] {
			return nil, fmt.Errorf("the page has no table for the block %s", block)
		}
	}
	return out.Bytes(), nil
}

// blockNames lists the top-level keys of a file, except defaults, whose keys are those of targets.
func blockNames() []string {
	var out []string
	for field := range reflect.TypeFor[config.Config]().Fields() {
		if name, _ := tagOf(&field); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// defaultsOfBlocks gives, for each table, a struct with the values of keys that are not written.
func defaultsOfBlocks(root string) (map[string]any, error) {
	smallest, err := config.Load(config.Options{Files: []string{filepath.Join(root, "examples", "minimal.yml")}})
	if err != nil {
		return nil, fmt.Errorf("load the smallest example: %w", err)
	}
	return map[string]any{
		"global":           config.DefaultGlobal(),
		"modules":          config.DefaultModule(),
		"probe":            probe.DefaultConfig(),
		"secrets":          config.Secret{},
		"http_clients":     config.DefaultHTTPClient(),
		"workloads":        workload.DefaultConfig(),
		"length":           workload.Length{},
		"loads":            load.DefaultConfig(),
		"slos":             metrics.DefaultSLOConfig(),
		"targets":          smallest.Targets[0],
		"target_discovery": config.DefaultDiscoverySet(),
		"collectors":       config.DefaultCollectors(),
		"otlp":             otlp.DefaultConfig(),
		"metrics":          metrics.DefaultConfig(),
		"selftest":         selftest.DefaultConfig(),
		"debug":            config.DefaultDebug(),
	}, nil
}

// presetsTable writes the limits of the presets of SLOs as Markdown.
func presetsTable() string {
	var b strings.Builder
	b.WriteString("| preset | limits |\n|---|---|\n")
	for _, preset := range metrics.SLOPresets() {
		thresholds := preset.Thresholds()
		limits := make([]string, 0, len(thresholds))
		for _, t := range thresholds {
			limits = append(limits, fmt.Sprintf("`%s: %v`", t.Metric, model.Duration(t.Limit)))
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", preset, strings.Join(limits, ", "))
	}
	return b.String()
}

// A table of more keys than longTable has a part of its own for each map of at least partKeys of them: a reader looks for the map first.
const (
	longTable = 40
	partKeys  = 3
)

// table writes the keys of a block as Markdown.
func (w *walker) table(block string, defaults reflect.Value) (string, error) {
	keys, err := w.keysOf(block, defaults)
	if err != nil {
		return "", err
	}
	parts := map[string][]key{} // by the name of the map
	for _, k := range keys {
		parts[partOf(k.name)] = append(parts[partOf(k.name)], k)
	}
	var names []string
	var own []key // keys of no part
	for _, k := range keys {
		switch name := partOf(k.name); {
		case len(keys) <= longTable || len(parts[name]) < partKeys:
			own = append(own, k)
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	var b strings.Builder
	tableOf(&b, own)
	for _, name := range names {
		fmt.Fprintf(&b, "\n### `%s`: `%s`\n\n", block, name)
		tableOf(&b, parts[name])
	}
	return b.String(), nil
}

// partOf is the first level of a key.
func partOf(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return strings.TrimSuffix(first, "[]")
}

func tableOf(b *strings.Builder, keys []key) {
	b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
	for _, k := range keys {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.name, k.kind, k.fallback, k.meaning)
	}
}
