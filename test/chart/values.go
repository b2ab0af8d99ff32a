package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is a key of values.yaml.
type value struct {
	path    string // from the root, with dots
	about   string // its comment
	kind    string // of JSON: object, array, string, boolean, integer, null
	text    string // its default, in JSON
	foreign bool   // a map in braces is not the chart's own: its keys are Kubernetes'
	keys    []value
}

// name is the last part of the path.
func (v *value) name() string { return v.path[strings.LastIndex(v.path, ".")+1:] }

// readValues reads a values.yaml with its comments.
func readValues(text []byte) ([]value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	return keys("", document.Content[0])
}

func keys(path string, node *yaml.Node) ([]value, error) {
	var out []value
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, content := node.Content[i], node.Content[i+1]
		// The first key of the file has the comment of the file before its own.
		comments := strings.Split(key.HeadComment, "\n\n")
		v := value{path: strings.TrimPrefix(path+"."+key.Value, "."), about: uncommented(comments[len(comments)-1])}
		var err error
		switch {
		case content.Kind == yaml.MappingNode && content.Style&yaml.FlowStyle == 0:
			v.kind = "object"
			v.keys, err = keys(v.path, content)
		default:
			err = v.setDefault(content)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.path, err)
		}
		out = append(out, v)
	}
	return out, nil
}

func uncommented(comment string) string {
	lines := strings.Split(comment, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(line, "#"))
	}
	return strings.Join(lines, " ")
}

func (v *value) setDefault(node *yaml.Node) error {
	var content any
	if err := node.Decode(&content); err != nil {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(content); err != nil {
		return err
	}
	v.text = strings.TrimSpace(b.String())
	switch content.(type) {
	case map[string]any:
		v.kind, v.foreign = "object", true
	case []any:
		v.kind = "array"
	case string:
		v.kind = "string"
	case bool:
		v.kind = "boolean"
	case int:
		v.kind = "integer"
	case nil:
		v.kind = "null"
	default:
		return fmt.Errorf("a default of the type %T", content)
	}
	return nil
}
