package demo

import (
	"bytes"
	_ "embed" // for demo.yml
)

// URLVariable is the environment variable in which ExampleConfig expects the server's address, as http://host:port.
const URLVariable = "AIPERF_DEMO_URL"

//go:embed demo.yml
var exampleConfig []byte

// ExampleConfig is a configuration of the exporter with one target for each of the DefaultProfiles.
func ExampleConfig() []byte { return bytes.Clone(exampleConfig) }
