package config

import _ "embed"

// schema is written by docs/generate.
//
//go:embed schema.json
var schema []byte

// Schema is the JSON Schema, of draft 2020-12, of one file. It knows keys, types and closed lists, and what people write in their place: variables
// and short forms. What the parts of a configuration must have for each other only Load knows.
func Schema() []byte { return schema }
