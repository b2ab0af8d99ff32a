package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/progress"
	"github.com/aiperf-exporter/aiperf-exporter/reload"
)

// program is its own name.
const program = "aiperf-exporter"

// defaultFile is read without --config.file.
const defaultFile = "aiperf-exporter.yml"

// session is what every subcommand gets.
type session struct {
	args           []string // as typed
	stdout, stderr io.Writer
	console        *progress.Console // what stderr is
	logger         *slog.Logger
	env            []string // in the form of os.Environ
	seed           uint64   // of which the seeds are made that the configuration does not have
	files          []string // --config.file
	fingerprint    string   // of the files, when they were read first
	expandEnv      bool
	shard          load.Shard        // --shard
	stateFile      string            // --budget.state-file, "" = none
	flags          map[string]string // of the command line, with their values in effect
	hangups        <-chan os.Signal  // that came while the daemon was starting; nil = none were caught
}

// shardValue reads --shard.
type shardValue struct{ shard *load.Shard }

// Set implements kingpin.Value.
func (v *shardValue) Set(text string) error {
	shard, err := load.ParseShard(text)
	if err == nil {
		*v.shard = shard
	}
	return err
}

// String implements kingpin.Value.
func (v *shardValue) String() string {
	if v.shard == nil || v.shard.Count == 0 {
		return ""
	}
	return v.shard.String()
}

// instance tells this exporter from others with the same targets: those on other hosts, and other shards on this one.
func (s *session) instance() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("host name, which tells exporters with the same targets apart: %w", err)
	}
	if s.shard.Count > 1 {
		return host + "-shard-" + strings.ReplaceAll(s.shard.String(), "/", "-of-"), nil
	}
	return host, nil
}

// complainf tells a person what is wrong.
func (s *session) complainf(format string, args ...any) {
	fmt.Fprintf(s.stderr, program+": %s\n", printableLines(fmt.Sprintf(format, args...)))
}

// read loads the files of --config.file, for the first time or after another configuration of the same process.
func (s *session) read(previous *config.Config) (*config.Config, error) {
	if previous == nil {
		s.fingerprint = reload.Fingerprint(s.files) // before they are read: what changes after this is looked at again
	}
	return config.Load(config.Options{Files: s.files, Env: s.env, ExpandEnv: s.expandEnv, Seed: s.seed, Previous: previous})
}

// load reads the files of --config.file. If it cannot, it has told why.
func (s *session) load() (c *config.Config, gc generator.Config, ok bool) {
	c, err := s.read(nil)
	if err == nil {
		gc, err = c.Generator()
	}
	if err == nil {
		return c, gc.Part(s.shard), true
	}
	fmt.Fprintln(s.stderr, printableLines(err.Error()))
	if _, missing := os.Stat(defaultFile); slices.Equal(s.files, []string{defaultFile}) && errors.Is(missing, fs.ErrNotExist) {
		s.complainf("name a configuration with --config.file, or see it work without one: %s demo", program)
	}
	return nil, generator.Config{}, false
}

// rehearse tells what keeps a target from being asked at all. If there is nothing, it gives true.
func (s *session) rehearse(gc *generator.Config) bool {
	err := gc.Rehearse()
	if err != nil {
		fmt.Fprintln(s.stderr, printableLines(err.Error()))
	}
	return err == nil
}

// width is that of the terminal, 100 columns where there is none.
func (s *session) width() int {
	if f, ok := s.stdout.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 100
}
