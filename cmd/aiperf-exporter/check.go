package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kingpin/v2"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

func checkConfigCommand(app *kingpin.Application) command {
	check := app.GetCommand("check")
	if check == nil {
		check = app.Command("check", "Check files without running anything.")
	}
	cmd := check.Command("config", "Load configuration files as the daemon would and print everything that is wrong.")
	files := cmd.Arg("file", "Files; later ones are merged over earlier ones.").Required().Strings()
	strict := cmd.Flag("strict-secrets", "Open the files of secrets, too.").Bool()
	format := cmd.Flag("format", "How findings are printed: text or json.").Default("text").Enum("text", "json")
	show := cmd.Flag("print", "Print the effective configuration, defaults filled in and secrets removed.").Bool()
	return command{cmd.FullCommand(), func(s *session) int {
		c, err := config.Load(config.Options{Files: *files, Env: os.Environ(), ExpandEnv: s.expandEnv, StrictSecrets: *strict})
		var warnings []config.Finding
		if c != nil {
			warnings = c.Warnings
		}
		if *format == "json" {
			return checkJSON(s, err, warnings)
		}
		for _, w := range warnings {
			fmt.Fprintf(s.stderr, "%s (warning)\n", w)
		}
		if err != nil {
			fmt.Fprintln(s.stderr, err)
			return exitFailure
		}
		if *show {
			text, err := c.YAML()
			if err != nil {
				fmt.Fprintln(s.stderr, err)
				return exitFailure
			}
			fmt.Fprintf(s.stdout, "%s", text)
			return exitOK
		}
		fmt.Fprintf(s.stdout, "ok: %d targets\n", len(c.Targets))
		return exitOK
	}}
}

func checkJSON(s *session, err error, warnings []config.Finding) int {
	result := struct {
		OK       bool             `json:"ok"`
		Errors   []config.Finding `json:"errors"`
		Warnings []config.Finding `json:"warnings"`
	}{err == nil, []config.Finding{}, append([]config.Finding{}, warnings...)}
	if err != nil {
		var list *config.Errors
		if errors.As(err, &list) {
			result.Errors = list.Findings
		} else {
			result.Errors = append(result.Errors, config.Finding{Message: err.Error()})
		}
	}
	encoder := json.NewEncoder(s.stdout)
	encoder.SetIndent("", "  ")
	if encodeErr := encoder.Encode(result); encodeErr != nil || err != nil {
		return exitFailure
	}
	return exitOK
}

func checkWebConfigCommand(app *kingpin.Application) command {
	cmd := app.GetCommand("check").Command("web-config", "Check a web configuration file (TLS, basic auth).")
	file := cmd.Arg("file", "The file given to --web.config.file.").Required().String()
	return command{cmd.FullCommand(), func(s *session) int {
		if err := toolkit.Validate(*file); err != nil {
			fmt.Fprintf(s.stderr, "%s: %v\n", *file, err)
			return exitFailure
		}
		fmt.Fprintln(s.stdout, "ok")
		return exitOK
	}}
}
