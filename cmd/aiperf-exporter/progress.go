package main

import (
	"os"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"golang.org/x/term"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/progress"
)

func progressFlag(cmd *kingpin.CmdClause, mode *string) {
	cmd.Flag("progress", "How it is shown on standard error how far it is: tty draws a block again and again, plain writes a line every 10 seconds, none shows nothing. Default: tty on a terminal, else plain.").
		Default(string(progress.Auto)).EnumVar(mode, progress.Modes()...)
}

// plan is what a run is to do with targets.
func (o *runOptions) plan(targets []targetConfig) progress.Plan {
	p := progress.Plan{Requests: o.requests, Duration: o.duration}
	if o.once() {
		p.Requests = 1
	}
	for i := range targets {
		p.Targets = append(p.Targets, targets[i].Name)
	}
	return p
}

// progressOptions say how the progress of a generator is shown.
func (s *session) progressOptions(mode string, g *generator.Generator) progress.Options {
	return progress.Options{
		Mode: progress.Mode(mode), Console: s.console, Term: s.getenv("TERM"), Colours: s.getenv("NO_COLOR") == "",
		InFlight: func() map[string]int {
			out := map[string]int{}
			for _, status := range g.Status() {
				out[status.Config.Name] += status.InFlight
			}
			return out
		},
	}
}

// getenv is a variable of the session's environment, "" if it is not there.
func (s *session) getenv(name string) string {
	for _, variable := range s.env {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// stdoutIsTerminal tells whether a person reads what is printed.
func (s *session) stdoutIsTerminal() bool {
	f, ok := s.stdout.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
