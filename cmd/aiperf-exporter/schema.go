package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

func schemaCommand(app *kingpin.Application) command {
	cmd := app.Command("schema", "Print the JSON Schema of configuration files, for editors. Needs no configuration.")
	return command{cmd.FullCommand(), func(s *session) int {
		if _, err := s.stdout.Write(config.Schema()); err != nil {
			s.complainf("print schema: %v", err)
			return exitFailure
		}
		return exitOK
	}}
}
