package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxSchemaBytes = 1 << 20
	maxJSONBytes   = 4 << 20 // of an answer that should be JSON
	maxDepth       = 64      // of a schema, and of what is compared with one
	maxNumberBytes = 64      // of a number in JSON
	maxExponent    = 999     // of a number in JSON; the comparison is exact, so that a larger one would need its size in memory

	// A comparison may take minSteps and as many as stepsPerValue for each value in what is compared.
	minSteps, stepsPerValue = 1 << 14, 256
)

// schema is a JSON Schema without references to anything outside. It compares one value at a time.
type schema struct {
	compiled *jsonschema.Schema

	mu    sync.Mutex
	steps *steps
}

// steps counts the subschemas that a comparison has looked at. Where several alternatives refer to the schema itself, each level of the
// value multiplies them, and the library has no other way to be stopped than a panic through it.
type steps struct{ left int }

// stepsError is what steps panics with.
type stepsError struct{}

// Error implements error.
func (stepsError) Error() string { return "is too complex to be compared with the schema" }

// Validate implements jsonschema.SchemaExt.
func (s *steps) Validate(*jsonschema.ValidatorContext, any) {
	if s.left--; s.left < 0 {
		panic(stepsError{})
	}
}

// nowhere loads nothing: a schema that names another document is wrong.
type nowhere struct{}

// Load implements jsonschema.URLLoader.
func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is not part of the schema, and nothing is loaded", cut(url, maxQuoted))
}

// Names for the document itself, and for what counts the steps; nobody resolves them.
const (
	schemaURL = "urn:aiperf-exporter:expect"
	stepsURL  = "urn:aiperf-exporter:steps"
)

func newSchema(raw []byte) (*schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("is longer than %d bytes", maxSchemaBytes)
	}
	document, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(nowhere{})
	counted := &steps{}
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: stepsURL, Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
		return counted, nil
	}})
	compiler.AssertVocabs()
	if err = compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, errors.New(cut(strings.ReplaceAll(err.Error(), "\n", " "), maxDetailBytes))
	}
	return &schema{compiled: compiled, steps: counted}, nil
}

// schemaOf takes a schema as the configuration has it, through JSON, so that it has the types of JSON whatever it was read from.
func schemaOf(document map[string]any) (*schema, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("cannot be written as JSON: %w", err)
	}
	return newSchema(raw)
}

// breach says where text breaks the schema and by which keyword, "" if it does not. Values of text are not repeated.
func (s *schema) breach(text []byte) string {
	value, err := decodeJSON(text)
	if err != nil {
		return "is not JSON: " + err.Error()
	}
	return s.breachOf(value)
}

func (s *schema) breachOf(value any) string {
	err := s.validate(value)
	if err == nil {
		return ""
	}
	broken, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err.Error()
	}
	for len(broken.Causes) > 0 {
		broken = broken.Causes[0]
	}
	return fmt.Sprintf("breaks %q of the schema at %q",
		strings.Join(broken.ErrorKind.KeywordPath(), "/"), cut("/"+strings.Join(broken.InstanceLocation, "/"), maxQuoted))
}

func (s *schema) validate(value any) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps.left = minSteps + stepsPerValue*count(value)
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case stepsError:
			err = cause
		default:
			panic(cause)
		}
	}()
	return s.compiled.Validate(value)
}

func newJSONSchema(e *Expect) (func(*Answer) string, error) {
	s, err := schemaOf(e.JSONSchema)
	if err != nil {
		return nil, err
	}
	return s.judge, nil
}

func newJSONSchemaFile(e *Expect) (func(*Answer) string, error) {
	raw, err := readFile(e.JSONSchemaFile, maxSchemaBytes)
	if err != nil {
		return nil, err
	}
	s, err := newSchema(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.JSONSchemaFile, err)
	}
	return s.judge, nil
}

func (s *schema) judge(a *Answer) string { return s.breach(a.Text) }

// readFile reads a file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	raw, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case int64(len(raw)) > limit:
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return raw, nil
}

// decodeJSON reads one JSON value that is small and flat enough to be compared. Its errors do not repeat the text.
func decodeJSON(text []byte) (any, error) {
	if len(text) > maxJSONBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxJSONBytes)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, positioned(err, len(text))
	}
	end := decoder.InputOffset()
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is something behind byte %d, where it ends", end)
	}
	return value, bounded(value, 1)
}

func positioned(err error, size int) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("wrong at byte %d of %d", syntax.Offset, size)
	}
	return fmt.Errorf("ends too early, after %d bytes", size)
}

// bounded finds what would make a comparison expensive.
func bounded(value any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			if err := bounded(v, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, v := range value {
			if err := bounded(v, depth+1); err != nil {
				return err
			}
		}
	case json.Number:
		return boundedNumber(string(value))
	}
	return nil
}

// count counts the values in a value, itself included.
func count(value any) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			n += count(v)
		}
	case []any:
		for _, v := range value {
			n += count(v)
		}
	}
	return n
}

func boundedNumber(n string) error {
	_, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	if len(n) > maxNumberBytes || len(strings.TrimLeft(exponent, "+-0")) > len("999") {
		return fmt.Errorf("has a number of more than %d bytes or beyond 1e±%d", maxNumberBytes, maxExponent)
	}
	return nil
}
