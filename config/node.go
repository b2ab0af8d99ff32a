package config

import (
	"strconv"
	"strings"
)

// source is a file or an environment variable.
type source struct {
	name  string // as in Finding.File
	dir   string // relative paths in the file start here
	order int
	env   bool
}

// kind is what a node holds.
type kind uint8

const (
	scalar kind = iota
	list
	mapping
)

// node is one value as it was written, and where: aliases and merge keys are resolved, variables are expanded. Nodes are shared between
// an anchor and its aliases, so nobody changes one after it was built.
type node struct {
	source       *source
	line, column int // of the key in front of the value; of the value itself in a list
	kind         kind

	// value of a scalar: nil, bool, int, int64, uint64, float64, string, or text.
	value    any
	expanded bool // the scalar came out of a variable, it is not what the file says

	keys   []string // of a mapping, as ordered in the file
	fields map[string]*node
	items  []*node // of a list

	weight weight
}

// weight is the size of a node with everything in it, aliases counted each time.
type weight struct{ nodes, aliases, height int }

// add puts the weight of a child on top.
func (w *weight) add(child weight) {
	w.nodes += child.nodes
	w.aliases += child.aliases
	w.height = max(w.height, child.height+1)
}

// text is a scalar that came out of a variable: what it means depends on the type of the key. Where any type goes, quotes make it a
// string, as they do for what is written in the file.
type text struct {
	s        string
	quoted   bool
	variable string // the first one in it; "" if the whole value is the environment's
}

// at gives the node with the place of the key under which it is used.
func (n *node) at(line, column int) *node {
	moved := *n
	moved.line, moved.column = line, column
	return &moved
}

// isEmpty tells that nothing is written, which is as good as no key.
func (n *node) isEmpty() bool { return n == nil || (n.kind == scalar && n.value == nil) }

func (n *node) finding(path, message string) Finding {
	return Finding{File: n.source.name, Line: n.line, Column: n.column, Path: path, Message: message, order: n.source.order}
}

// describe names what a node holds, for messages; it never quotes a string, which may be a secret in the wrong place.
func (n *node) describe() string {
	switch n.kind {
	case list:
		return "a list"
	case mapping:
		return "a map"
	case scalar:
	}
	switch v := n.value.(type) {
	case nil:
		return "nothing"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return "a string"
	case text:
		switch {
		case v.variable != "":
			return "the value of ${" + v.variable + "}"
		case n.source.env:
			return strconv.Quote(v.s) // the environment only reaches keys that hold no secrets
		}
		return "a string"
	default:
		return "the number " + formatNumber(v)
	}
}

func formatNumber(v any) string {
	switch v := v.(type) {
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return "?"
}

// find follows a path such as "targets[2].load" as far as it goes. throughList tells that the way led through a list, which replaces
// whatever earlier files say there.
func (n *node) find(path string) (found *node, throughList bool) {
	for path != "" {
		switch n.kind {
		case list:
			throughList = true
			index, rest, ok := cutIndex(path)
			if !ok || index >= len(n.items) {
				return nil, throughList
			}
			n, path = n.items[index], rest
		case mapping:
			key := n.longestKey(strings.TrimPrefix(path, "."))
			if key == "" {
				return nil, throughList
			}
			n, path = n.fields[key], strings.TrimPrefix(path, ".")[len(key):]
		default:
			return nil, throughList
		}
	}
	return n, throughList
}

// longestKey finds the key that a path begins with; keys may have dots.
func (n *node) longestKey(path string) string {
	longest := ""
	for _, key := range n.keys {
		if len(key) > len(longest) && strings.HasPrefix(path, key) && (len(path) == len(key) || path[len(key)] == '.' || path[len(key)] == '[') {
			longest = key
		}
	}
	return longest
}

// cutIndex splits "[2].load" into 2 and ".load".
func cutIndex(path string) (index int, rest string, ok bool) {
	if !strings.HasPrefix(path, "[") {
		return 0, "", false
	}
	digits, rest, ok := strings.Cut(path[1:], "]")
	if !ok {
		return 0, "", false
	}
	index, err := strconv.Atoi(digits)
	return index, rest, err == nil && index >= 0
}
