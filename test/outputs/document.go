package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// node is a JSON value whose members keep their order.
type node struct {
	keys    []string
	members map[string]*node
	items   []*node
	scalar  any // string, json.Number, bool or nil
	kind    byte
}

// Kinds of a node: those of JSON's brackets, and a value.
const (
	isObject = '{'
	isList   = '['
	isScalar = '.'
)

func parse(raw []byte) (*node, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return parseNext(decoder)
}

func parseNext(decoder *json.Decoder) (*node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	bracket, ok := token.(json.Delim)
	if !ok {
		return &node{kind: isScalar, scalar: token}, nil
	}
	n := &node{kind: byte(bracket), members: map[string]*node{}}
	for decoder.More() {
		key := ""
		if n.kind == isObject {
			if token, err = decoder.Token(); err != nil {
				return nil, err
			}
			key, _ = token.(string)
			n.keys = append(n.keys, key)
		}
		var child *node
		if child, err = parseNext(decoder); err != nil {
			return nil, err
		}
		if n.kind == isObject {
			n.members[key] = child
		} else {
			n.items = append(n.items, child)
		}
	}
	_, err = decoder.Token() // the closing bracket
	return n, err
}

// figure tells whether the node is a figure: an object with a unit.
func (n *node) figure() bool { return n.kind == isObject && n.members["unit"] != nil }

// instant is a time as both write it; the zone is in the group.
var instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(Z?)$`)

// shape adds what there is below a node, not what it says: the types of values, the units and statistics of figures in their order.
func (n *node) shape(at string, out map[string]string) {
	switch {
	case n.figure():
		var rest []string
		for _, key := range n.keys {
			if key != "unit" {
				rest = append(rest, key+n.members[key].mark())
			}
		}
		out[at] = fmt.Sprintf("%v: %s", n.members["unit"].scalar, strings.Join(rest, " "))
	case n.kind == isObject:
		for _, key := range n.keys {
			n.members[key].shape(at+"."+key, out)
		}
		if len(n.keys) == 0 {
			out[at] = "{}"
		}
	case n.kind == isList:
		out[at+"[]"] = "list"
		for _, item := range n.items {
			if item.kind != isScalar || len(n.items) == 1 {
				item.shape(at+"[]", out)
			}
		}
	default:
		out[at] = n.typeName()
	}
}

// mark says what is beside a number.
func (n *node) mark() string {
	if _, ok := n.scalar.(json.Number); ok {
		return ""
	}
	if n.kind == isList {
		return " (list)"
	}
	return " (" + n.typeName() + ")"
}

func (n *node) typeName() string {
	switch value := n.scalar.(type) {
	case string:
		if m := instant.FindStringSubmatch(value); m != nil {
			return map[string]string{"": "time without a zone", "Z": "time with its zone"}[m[1]]
		}
		return "text"
	case json.Number:
		return "number"
	case bool:
		return "bool"
	}
	return "null"
}

// number gives a value of a figure.
func (n *node) number(key string) (float64, bool) {
	child := n.members[key]
	if child == nil {
		return 0, false
	}
	text, ok := child.scalar.(json.Number)
	if !ok {
		return 0, false
	}
	value, err := text.Float64()
	return value, err == nil
}

// common gives the elements of a that b has, too, in the order of a.
func common(a, b []string) []string {
	var out []string
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}
