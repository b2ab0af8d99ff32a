package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kingpin/v2"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
)

func checkCommands(app *kingpin.Application) []command {
	check := app.Command("check", "Check files without running anything.")
	return []command{checkConfigCommand(check), checkDatasetCommand(check), checkSDCommand(check), checkWebConfigCommand(check)}
}

func checkConfigCommand(check *kingpin.CmdClause) command {
	cmd := check.Command("config", "Load configuration files as the daemon would and print everything that is wrong.")
	files := cmd.Arg("file", "Files; later ones are merged over earlier ones.").Required().Strings()
	datasets := cmd.Flag("datasets", "Read the datasets of workloads to their end, too.").Default("true").Bool()
	strict := cmd.Flag("strict-secrets", "Open the files of secrets, too.").Bool()
	format := cmd.Flag("format", "How findings are printed: text or json.").Default("text").Enum("text", "json")
	show := cmd.Flag("print", "Print the effective configuration as YAML, defaults filled in and secrets removed.").Bool()
	return command{cmd.FullCommand(), func(s *session) int {
		if *show && *format == "json" {
			s.complainf("--print: the configuration is YAML, --format=json is for findings")
			return exitUsage
		}
		c, err := config.Load(config.Options{Files: *files, Env: os.Environ(), ExpandEnv: s.expandEnv, StrictSecrets: *strict})
		var gc generator.Config
		if err == nil {
			gc, err = rehearse(c)
		}
		if *format == "json" {
			return checkJSON(s, c, err)
		}
		if err != nil {
			fmt.Fprintln(s.stderr, err)
			return exitFailure
		}
		for _, w := range c.Warnings {
			fmt.Fprintf(s.stderr, "%s (warning)\n", w)
		}
		if *show {
			return s.printEffective(c)
		}
		found, faults := newDatasetCheck(&gc, *datasets)
		if len(faults) > 0 {
			fmt.Fprint(s.stderr, lines(faults))
			return exitFailure
		}
		costs, err := costsOf(&gc)
		if err != nil {
			s.complainf("%v", err)
			return exitFailure
		}
		fmt.Fprintf(s.stdout, "ok: %s\n%s%s", counted(c), costs, found)
		return exitOK
	}}
}

// printEffective prints the configuration with all defaults, and without secrets.
func (s *session) printEffective(c *config.Config) int {
	text, err := c.YAML()
	if err != nil {
		s.complainf("print configuration: %v", err)
		return exitFailure
	}
	fmt.Fprintf(s.stdout, "%s", text)
	return exitOK
}

// counted says how many targets a configuration has, and how many sets of them that are still to be found.
func counted(c *config.Config) string {
	out := plural(len(c.Targets), "target")
	if n := len(c.TargetDiscovery); n > 0 {
		out += ", " + plural(n, "discovery set")
	}
	if n := len(c.Modules); n > 0 {
		out += ", " + plural(n, "module")
	}
	return out
}

// rehearse finds what only shows when requests are made.
func rehearse(c *config.Config) (generator.Config, error) {
	gc, err := c.Generator()
	if err == nil {
		err = gc.Rehearse()
	}
	return gc, err
}

// printCosts says for each target what a day of it asks for, unless something holds it back.
func (s *session) printCosts(gc *generator.Config) int {
	for i := range gc.Targets {
		t := &gc.Targets[i]
		cost, known, err := t.Cost(time.Now())
		switch {
		case err != nil:
			s.complainf("%s: %v", t.Name, err)
			return exitFailure
		case !known:
			fmt.Fprintf(s.stdout, "%s: as many requests as its recording has\n", t.Name)
			continue
		}
		fmt.Fprintf(s.stdout, "%s: at most %s requests, %s input and %s output tokens a day%s\n", t.Name,
			rounded(cost.Requests), rounded(cost.InputTokens), rounded(cost.OutputTokens), spending(t, &cost))
	}
	return exitOK
}

// spending says what a day costs, and what of it a budget allows.
func spending(t *targetConfig, cost *generator.Cost) string {
	out := ""
	if cost.USD > 0 {
		out = fmt.Sprintf(", about $%.2f", cost.USD)
	}
	b := &t.Budget
	for _, limit := range []struct{ wanted, allowed float64 }{
		{cost.Requests, float64(b.RequestsPerDay)},
		{cost.Requests / 24, float64(b.RequestsPerHour)},
		{cost.InputTokens, float64(b.InputTokensPerDay)},
		{cost.OutputTokens, float64(b.OutputTokensPerDay)},
		{cost.InputTokens + cost.OutputTokens, float64(b.TokensPerDay)},
		{(cost.InputTokens + cost.OutputTokens) / 24, float64(b.TokensPerHour)},
		{cost.USD, b.USDPerDay},
		{cost.USD / 24, b.USDPerHour},
	} {
		if limit.allowed > 0 && limit.wanted > limit.allowed {
			return out + "; its budget is smaller, and arrivals beyond it will be dropped"
		}
	}
	return out
}

// rounded writes a large number as people read it: 12.3M.
func rounded(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.3gG", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

// checkJSON prints the findings for programs. c is nil if there are errors.
func checkJSON(s *session, c *config.Config, err error) int {
	result := struct {
		OK       bool             `json:"ok"`
		Errors   []config.Finding `json:"errors"`
		Omitted  int              `json:"omitted,omitempty"` // errors beyond those listed
		Warnings []config.Finding `json:"warnings"`
	}{OK: err == nil, Errors: []config.Finding{}, Warnings: []config.Finding{}}
	if c != nil {
		result.Warnings = append(result.Warnings, c.Warnings...)
	}
	if list, ok := errors.AsType[*config.Errors](err); ok {
		result.Errors, result.Omitted = list.Findings, list.Omitted
	} else if err != nil {
		result.Errors = append(result.Errors, config.Finding{Message: err.Error()})
	}
	encoder := json.NewEncoder(s.stdout)
	encoder.SetIndent("", "  ")
	if encodeErr := encoder.Encode(result); encodeErr != nil || err != nil {
		return exitFailure
	}
	return exitOK
}

func checkWebConfigCommand(check *kingpin.CmdClause) command {
	cmd := check.Command("web-config", "Check a web configuration file (TLS, basic auth).")
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

// plural counts things: "1 target", "2 targets".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
