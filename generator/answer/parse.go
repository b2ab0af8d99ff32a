package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ParseExpect reads the expectations of a row of a dataset: an object with the keys of Expect, or a list of them. Its rules are those of
// the configuration, except that a row names no file.
func ParseExpect(raw json.RawMessage) ([]Expect, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("expect: is longer than %d bytes", maxSchemaBytes)
	}
	var entries []Expect
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := strictly(raw, &entries); err != nil {
			return nil, fmt.Errorf("expect: %w", err)
		}
	} else {
		var one Expect
		if err := strictly(raw, &one); err != nil {
			return nil, fmt.Errorf("expect: %w", err)
		}
		entries = []Expect{one}
	}
	var errs []error
	for i := range entries {
		path := "expect"
		if len(entries) > 1 {
			path = fmt.Sprintf("expect[%d]", i)
		}
		if entries[i].JSONSchemaFile != "" {
			errs = append(errs, fmt.Errorf("%s.json_schema_file: a row names no file, use json_schema", path))
			continue
		}
		errs = append(errs, entries[i].Validate(path)...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return entries, nil
}

// strictly decodes one JSON value and nothing behind it, without unknown keys.
func strictly(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("has something behind its end")
	}
	return nil
}
