package config

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of the tree of one file.
const (
	maxDepth    = 64
	maxAliases  = 10_000  // an alias inside an alias counts each time
	maxNodes    = 500_000 // values, with aliases expanded
	maxKeyBytes = 256
)

// document turns YAML into a tree of nodes. env is nil when variables are not expanded. root is nil if the file says nothing, or
// nothing that can be used: then there are findings.
func document(src *source, data []byte, env *environment) (root *node, findings []Finding) {
	yamlRoot, finding := parse(src, data)
	if finding != nil {
		return nil, []Finding{*finding}
	}
	if yamlRoot == nil {
		return nil, nil
	}
	b := &builder{source: src, env: env, built: map[*yaml.Node]*node{}}
	root = b.build(yamlRoot, nil, 1)
	if b.full || root.isEmpty() {
		return nil, b.findings
	}
	return root, b.findings
}

// builder makes nodes of one document.
type builder struct {
	source   *source
	env      *environment
	built    map[*yaml.Node]*node // of anchored nodes; nil while under construction
	visited  int
	findings []Finding
	full     bool // a limit was hit and reported
}

func (b *builder) wrongf(n *yaml.Node, at *place, format string, args ...any) {
	if b.full || len(b.findings) >= maxCollected {
		return
	}
	b.findings = append(b.findings, Finding{
		File: b.source.name, Line: n.Line, Column: n.Column, Path: at.String(), Message: fmt.Sprintf(format, args...), order: b.source.order,
	})
}

// build makes the node for n, which stands under the key at.
func (b *builder) build(n *yaml.Node, at *place, depth int) *node {
	out := &node{source: b.source, line: n.Line, column: n.Column, weight: weight{nodes: 1, height: 1}}
	switch {
	case b.full:
		return out
	case depth > maxDepth:
		b.tooDeep(n, at)
		return out
	case b.visited >= maxNodes:
		b.tooMany(n, at)
		return out
	}
	b.visited++
	if n.Anchor != "" {
		b.built[n] = nil
	}
	switch n.Kind {
	case yaml.ScalarNode:
		b.scalar(out, n, at)
	case yaml.SequenceNode:
		out.kind = list
		for i, item := range n.Content {
			child := b.build(item, at.item(i), depth+1)
			out.items = append(out.items, child)
			out.weight.add(child.weight)
		}
	case yaml.MappingNode:
		b.mapping(out, n, at, depth)
	case yaml.AliasNode:
		if target := b.alias(n, at, depth); target != nil {
			out = target.at(n.Line, n.Column)
			out.weight.aliases++
		}
	case yaml.DocumentNode:
		b.wrongf(n, at, "is a whole document")
	}
	if n.Anchor != "" {
		b.built[n] = out
	}
	b.checkWeight(out, n, at)
	return out
}

func (b *builder) tooDeep(n *yaml.Node, at *place) {
	b.wrongf(n, at, "is nested more than %d levels deep", maxDepth)
	b.full = true
}

func (b *builder) tooMany(n *yaml.Node, at *place) {
	b.wrongf(n, at, "is beyond the limit of %d values, aliases expanded", maxNodes)
	b.full = true
}

// checkWeight looks at what a node holds once aliases are expanded; the size of the file bounds what it holds without.
func (b *builder) checkWeight(out *node, n *yaml.Node, at *place) {
	switch {
	case out.weight.height > maxDepth:
		b.tooDeep(n, at)
	case out.weight.aliases > maxAliases:
		b.wrongf(n, at, "has more than %d aliases when all are expanded", maxAliases)
		b.full = true
	case out.weight.nodes > maxNodes:
		b.tooMany(n, at)
	}
}

// alias gives the node that an alias stands for, nil if it contains itself.
func (b *builder) alias(n *yaml.Node, at *place, depth int) *node {
	target, seen := b.built[n.Alias]
	switch {
	case !seen: // the anchor of a key
		return b.build(n.Alias, at, depth+1)
	case target == nil:
		b.wrongf(n, at, "alias *%s stands inside its own anchor", n.Value)
	}
	return target
}

func (b *builder) mapping(out *node, n *yaml.Node, at *place, depth int) {
	out.kind = mapping
	out.fields = make(map[string]*node, len(n.Content)/2)
	var merges []*node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			merges = append(merges, b.merge(value, at, depth)...)
			continue
		}
		if !b.checkKey(key, at) {
			continue
		}
		here := at.key(key.Value)
		if first, ok := out.fields[key.Value]; ok {
			b.wrongf(key, here, "is written twice, first in line %d", first.line)
			continue
		}
		child := b.build(value, here, depth+1)
		out.keys = append(out.keys, key.Value)
		out.fields[key.Value] = child.at(key.Line, key.Column)
		out.weight.add(child.weight)
	}
	for _, m := range merges {
		for _, key := range m.keys {
			if _, ok := out.fields[key]; !ok { // what stands beside the merge key wins, then the first of several maps
				out.keys = append(out.keys, key)
				out.fields[key] = m.fields[key]
			}
		}
		out.weight.add(m.weight)
	}
}

// merge gives the maps behind a merge key: one, or a list of them.
func (b *builder) merge(value *yaml.Node, at *place, depth int) []*node {
	n := b.build(value, at.key("<<"), depth+1)
	maps := []*node{n}
	if n.kind == list {
		maps = n.items
	}
	for _, m := range maps {
		if m.kind != mapping {
			b.wrongf(value, at.key("<<"), "must merge a map or a list of maps")
			return nil
		}
	}
	return maps
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" }

func (b *builder) checkKey(key *yaml.Node, at *place) bool {
	switch {
	case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null":
		b.wrongf(key, at, "a key must be a plain text")
	case key.Value == "" || len(key.Value) > maxKeyBytes:
		b.wrongf(key, at, "a key must have 1 to %d bytes", maxKeyBytes)
	case strings.ContainsFunc(key.Value, isControl):
		b.wrongf(key, at, "a key must not have control characters")
	default:
		return true
	}
	return false
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// scalar fills the value of a scalar. What YAML would read as a date stays a text.
func (b *builder) scalar(out *node, n *yaml.Node, at *place) {
	raw := n.Value
	if b.env != nil {
		expanded, changed, err := b.env.expand(raw)
		if err != nil {
			b.wrongf(n, at, "%v", err)
			return
		}
		raw, out.expanded = expanded, changed
	}
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		out.value = raw
		if out.expanded {
			out.value = text{s: raw, quoted: quoted, variable: firstVariable(n.Value)}
		}
	case "!!null":
	case "!!bool", "!!int", "!!float":
		if err := n.Decode(&out.value); err != nil {
			b.wrongf(n, at, "is not a valid %s", tag)
		}
		if f, ok := out.value.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			b.wrongf(n, at, "must be a finite number")
		}
	default:
		b.wrongf(n, at, "has a YAML tag that is not known here (a text that begins with ! needs quotes)")
	}
}
