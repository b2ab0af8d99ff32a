package config

import (
	"slices"
	"strings"
)

// envPrefix begins the environment variables that set keys; a double underscore separates the levels, so that keys may have single
// ones: AIPERF_EXPORTER__global__max_in_flight.
const envPrefix = "AIPERF_EXPORTER__"

// envBlocks are the blocks whose scalars may be set by the environment. Everything else is about what is sent where: that is in the
// file, where it can be reviewed.
var envBlocks = []string{"global", "metrics", "selftest", "otlp", "debug"}

// envLayers turns each variable into a tree with one leaf, in the order of names.
func envLayers(environ []string, order int) (roots []*node, findings []Finding) {
	for _, kv := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(kv, "=")
		keys, ok := strings.CutPrefix(name, envPrefix)
		if !ok {
			continue
		}
		src := &source{name: "env " + name, order: order, env: true}
		n := &node{source: src, kind: scalar, value: text{s: value}, expanded: true}
		steps := strings.Split(keys, "__")
		if !slices.Contains(envBlocks, steps[0]) {
			message := "only keys of " + strings.Join(envBlocks, ", ") + " can be set by environment variables" + didYouMean(steps[0], envBlocks)
			findings = append(findings, n.finding(strings.Join(steps, "."), message))
			continue
		}
		for _, key := range slices.Backward(steps) {
			n = &node{source: src, kind: mapping, keys: []string{key}, fields: map[string]*node{key: n}}
		}
		roots = append(roots, n)
	}
	return roots, findings
}
