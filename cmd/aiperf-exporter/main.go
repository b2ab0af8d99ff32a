// Command aiperf-exporter keeps real requests running against LLM inference endpoints and publishes what a user would feel as
// Prometheus series.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"
)

// Exit codes.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2
	exitSLOMissed = 3
	exitKilled    = 130 // a second signal during the shutdown
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// command is one subcommand: it has put its flags into the application and runs once they are read.
type command struct {
	name string
	run  func(*session) int
}

// session is what every subcommand gets.
type session struct {
	stdout, stderr io.Writer
	logger         *slog.Logger
	files          []string // --config.file
	expandEnv      bool
}

// run is main without the process: it reads args and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	app := kingpin.New("aiperf-exporter", "Prometheus exporter that keeps real requests running against LLM inference endpoints and measures them as a user would feel them.")
	app.Version(version.Print("aiperf-exporter"))
	app.HelpFlag.Short('h')
	app.DefaultEnvars()
	app.UsageWriter(stdout)
	app.ErrorWriter(stderr)
	ended := -1
	app.Terminate(func(code int) { ended = code })

	s := &session{stdout: stdout, stderr: stderr}
	app.Flag("config.file", "Configuration file; may be repeated, later files are merged over earlier ones.").Default("aiperf-exporter.yml").StringsVar(&s.files)
	app.Flag("config.expand-env", "Expand ${VAR} and ${VAR:-default} in values of the configuration.").Default("true").BoolVar(&s.expandEnv)
	logging := &promslog.Config{Writer: stderr}
	flag.AddFlags(app, logging)
	commands := []command{serveCommand(app), checkConfigCommand(app), checkWebConfigCommand(app), runCommand(app), seriesCommand(app), demoCommand(app)}

	chosen, err := app.Parse(args)
	if ended >= 0 { // --help or --version
		return ended
	}
	if err != nil {
		fmt.Fprintf(stderr, "aiperf-exporter: %v, try --help\n", err)
		return exitUsage
	}
	s.logger = promslog.New(logging)
	for _, c := range commands {
		if c.name == chosen {
			return c.run(s)
		}
	}
	fmt.Fprintf(stderr, "aiperf-exporter: unknown command %q\n", chosen)
	return exitUsage
}
