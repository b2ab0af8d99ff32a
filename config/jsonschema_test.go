package config

import (
	"bytes"
	"os"
	"path/filepath"
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
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkSchema says what an editor would of a file; nil = nothing. ok is false if it is no YAML to begin with.
func checkSchema(t *testing.T, schema *jsonschema.Schema, text []byte) (problem error, ok bool) {
	t.Helper()
	var content any
	if err := yaml.Unmarshal(text, &content); err != nil {
		return nil, false
	}
	return schema.Validate(asWritten(content)), true
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
		if problem, ok := checkSchema(t, schema, text); !ok || problem != nil {
			t.Errorf("%s: %v", file, problem)
		}
	}
}

// What takes more than a look at one key only Load finds: references, ranges, what excludes what, secrets, and limits of the file itself.
var beyondSchema = []string{}

func TestTheSchemaRefusesMistakesThatItCanSee(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	var accepted []string
	for _, file := range filesOfFolders(t, "testdata/bad/*.yml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if problem, ok := checkSchema(t, schema, text); ok && problem == nil {
			accepted = append(accepted, strings.TrimSuffix(filepath.Base(file), ".yml"))
		}
	}
	slices.Sort(accepted)
	if diff := cmp.Diff(beyondSchema, accepted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
