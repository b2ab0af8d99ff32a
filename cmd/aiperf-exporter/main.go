// Command aiperf-exporter keeps real requests running against LLM inference endpoints and publishes what a user would feel as
// Prometheus series.
package main

import (
	"io"
	"log/slog"
	"os"
	"slices"
	_ "time/tzdata" // schedules and budgets name time zones, and an image without an operating system has none

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/progress"
)

// Exit codes.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2
	exitSLOMissed = 3
	exitKilled    = 130 // a second signal while the first was being obeyed
)

func main() {
	nameBuild()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// command is one subcommand: it has put its flags into the application and runs once they are read.
type command struct {
	name string
	run  func(*session) int
}

// run is main without the process: it reads args and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	app := kingpin.New(program, "Prometheus exporter that keeps real requests running against LLM inference endpoints and measures them as a user would feel them.")
	app.Version(version.Print(program))
	app.HelpFlag.Short('h').Help("Show this, or with a command what it does.")
	app.DefaultEnvars()
	app.UsageWriter(stdout)
	app.ErrorWriter(stderr)
	// These two are no settings, and images are built with a variable that ends in _VERSION.
	app.HelpFlag.NoEnvar()
	app.VersionFlag.NoEnvar()
	ended := -1
	app.Terminate(func(code int) { ended = code })

	console := progress.NewConsole(stderr)
	s := &session{args: args, stdout: stdout, stderr: console, console: console, env: os.Environ(), seed: config.RandomSeed()}
	app.Flag("config.file", "Configuration file; may be repeated, later files are merged over earlier ones.").Default(defaultFile).StringsVar(&s.files)
	app.Flag("config.expand-env", "Expand ${VAR} and ${VAR:-default} in values of the configuration.").Default("true").BoolVar(&s.expandEnv)
	app.Flag("shard", "Part of the load that this process carries, INDEX/COUNT: 0/4 to 3/4 share what one without the flag would send.").PlaceHolder("INDEX/COUNT").SetValue(&shardValue{&s.shard})
	app.Flag("budget.state-file", "File that keeps what budgets have spent, so that a restart does not forget it. One for each process.").PlaceHolder("FILE").StringVar(&s.stateFile)
	logging := &promslog.Config{Writer: console}
	flag.AddFlags(app, logging)
	commands := slices.Concat([]command{serveCommand(app)}, checkCommands(app), []command{runCommand(app), replayCommand(app), seriesCommand(app), rulesCommand(app), schemaCommand(app), demoCommand(app)},
		completionCommands(app))

	chosen, err := app.Parse(args)
	if ended >= 0 { // --help or --version
		return ended
	}
	if err != nil {
		s.complainf("%v, try --help", err)
		return exitUsage
	}
	s.logger = promslog.New(logging)
	// What net/http tells the standard logger quotes servers, unasked and unredacted; what matters of it is counted by class.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	s.flags = flagValues(app, chosen)
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == chosen })
	return commands[i].run(s)
}

// flagValues are the values of the flags that a command has. None of them may be a secret: whoever lists processes sees them.
func flagValues(app *kingpin.Application, command string) map[string]string {
	model, out := app.Model(), map[string]string{}
	add := func(flags []*kingpin.FlagModel) {
		for _, f := range flags {
			if f.Value != nil && !f.Hidden {
				out[f.Name] = f.Value.String()
			}
		}
	}
	add(model.Flags)
	for _, c := range model.FlattenedCommands() {
		if c.FullCommand == command {
			add(c.Flags)
		}
	}
	delete(out, "help")
	delete(out, "version")
	return out
}
