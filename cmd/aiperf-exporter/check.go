package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
)

func checkCommands(app *kingpin.Application) []command {
	check := app.Command("check", "Check files without running anything, and whether a daemon is well.")
	return []command{checkConfigCommand(check), checkDatasetCommand(check), checkHealthCommand(check), checkSDCommand(check), checkWebConfigCommand(check)}
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
		c, err := config.Load(config.Options{Files: *files, Env: s.env, ExpandEnv: s.expandEnv, StrictSecrets: *strict})
		var gc generator.Config
		if err == nil {
			gc, err = rehearse(c)
		}
		var found datasetFindings
		if err == nil && *datasets && !*show {
			found = lookAtDatasets(&gc)
		}
		switch {
		case *format == "json":
			return s.printFindings(c, err, &found)
		case err != nil:
			fmt.Fprintln(s.stderr, printableLines(err.Error()))
			return exitFailure
		}
		for _, w := range c.Warnings {
			fmt.Fprintf(s.stderr, "%s (warning)\n", printable(w.String()))
		}
		if *show {
			return s.printEffective(c)
		}
		return s.printChecked(c, &gc, &found)
	}}
}

// printChecked says that a configuration is right, and what it means.
func (s *session) printChecked(c *config.Config, gc *generator.Config, found *datasetFindings) int {
	costs, err := costsOf(gc)
	if err != nil {
		s.complainf("%v", err)
		return exitFailure
	}
	fmt.Fprint(s.stderr, lines(found.warnings), lines(found.faults))
	if len(found.faults) > 0 {
		return exitFailure
	}
	fmt.Fprintf(s.stdout, "ok: %s\n", counted(c))
	for _, part := range []string{costs, found.holds} {
		if part != "" {
			fmt.Fprintf(s.stdout, "\n%s", printableLines(part))
		}
	}
	return exitOK
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

// costsOf is a table of what a day of each target asks for at most, unless something holds it back.
func costsOf(gc *generator.Config) (string, error) {
	if len(gc.Targets) == 0 {
		return "", nil
	}
	costs := columns{left: map[int]bool{0: true, 5: true}}
	costs.add("at most, each day", "requests", "input tokens", "output tokens", "USD")
	for i := range gc.Targets {
		t := &gc.Targets[i]
		cost, known, err := t.Cost(time.Now())
		switch {
		case err != nil:
			return "", fmt.Errorf("%s: %w", t.Name, err)
		case !known:
			costs.add(t.Name, "–", "–", "–", "–", "as its recording has them")
			continue
		}
		usd, remark := "–", ""
		if cost.USD > 0 {
			usd = fmt.Sprintf("%.2f", cost.USD)
		}
		if beyondBudget(t, &cost) {
			remark = "more than its budget: arrivals beyond it will be dropped"
		}
		costs.add(t.Name, rounded(cost.Requests), rounded(cost.InputTokens), rounded(cost.OutputTokens), usd, remark)
	}
	return costs.lines(""), nil
}

// beyondBudget tells whether a day asks for more than a budget allows.
func beyondBudget(t *targetConfig, cost *generator.Cost) bool {
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
			return true
		}
	}
	return false
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

// checkResult is what `check config --format=json` prints: docs/commands.md describes it.
type checkResult struct {
	OK       bool             `json:"ok"`
	Errors   []config.Finding `json:"errors"`
	Omitted  int              `json:"omitted,omitempty"` // errors beyond those listed
	Warnings []config.Finding `json:"warnings"`
}

// printFindings prints what was found for programs. c is nil if there are errors in the configuration.
func (s *session) printFindings(c *config.Config, err error, found *datasetFindings) int {
	result := checkResult{OK: err == nil && len(found.faults) == 0, Errors: []config.Finding{}, Warnings: []config.Finding{}}
	if c != nil {
		result.Warnings = append(result.Warnings, c.Warnings...)
	}
	if list, ok := errors.AsType[*config.Errors](err); ok {
		result.Errors, result.Omitted = list.Findings, list.Omitted
	} else if err != nil {
		result.Errors = append(result.Errors, config.Finding{Message: err.Error()})
	}
	for _, fault := range found.faults {
		result.Errors = append(result.Errors, config.Finding{Message: fault})
	}
	for _, warning := range found.warnings {
		result.Warnings = append(result.Warnings, config.Finding{Message: strings.TrimSuffix(warning, " (warning)")})
	}
	if err := writeJSON(s.stdout, result); err != nil || !result.OK {
		return exitFailure
	}
	return exitOK
}

// writeJSON writes a value for programs, so that people can read it, too.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

func checkWebConfigCommand(check *kingpin.CmdClause) command {
	cmd := check.Command("web-config", "Check a web configuration file (TLS, basic auth).")
	file := cmd.Arg("file", "The file given to --web.config.file.").Required().String()
	return command{cmd.FullCommand(), func(s *session) int {
		err := toolkit.Validate(*file)
		if missing, ok := errors.AsType[*fs.PathError](err); ok && missing.Path == *file {
			err = missing.Err // which is named before it
		}
		if err != nil {
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
