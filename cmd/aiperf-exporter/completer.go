package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
	"github.com/aiperf-exporter/aiperf-exporter/progress"
)

// completer finds what fits at the end of a command line.
type completer struct {
	model   *kingpin.ApplicationModel
	session *session

	command *kingpin.CmdModel // nil = none is named yet
	flags   map[string]*kingpin.FlagModel
	values  map[string][]string // of the flags, as typed
	args    []string            // what is neither a flag nor a command
}

// complete reads words, of which the last one is not complete.
func (c *completer) complete(words []string) answer {
	if len(words) == 0 {
		words = []string{""}
	}
	typed := words[len(words)-1]
	c.values = map[string][]string{}
	c.enter(nil)
	waiting, onlyArgs := c.read(words[:len(words)-1])
	name, value, valued := strings.Cut(strings.TrimPrefix(typed, "--"), "=")
	switch {
	case waiting != "":
		return c.valuesOf(waiting).beginning(typed)
	case onlyArgs:
		return c.arguments().beginning(typed)
	case strings.HasPrefix(typed, "--") && valued:
		return c.valuesOf(name).beginning(value)
	case strings.HasPrefix(typed, "-"):
		return c.flagNames().beginning(typed)
	}
	if commands := c.commands(); len(commands.candidates) > 0 {
		return commands.beginning(typed)
	}
	return c.arguments().beginning(typed)
}

// read takes in whole words. waiting is the flag whose value comes next, "" = none.
func (c *completer) read(words []string) (waiting string, onlyArgs bool) {
	for _, word := range words {
		name, value, valued := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		switch {
		case waiting != "":
			c.values[waiting] = append(c.values[waiting], word)
			waiting = ""
		case onlyArgs || !strings.HasPrefix(word, "-"):
			if next := c.commandNamed(word); next != nil && !onlyArgs {
				c.enter(next)
			} else {
				c.args = append(c.args, word)
			}
		case word == "--":
			onlyArgs = true
		case valued:
			c.values[name] = append(c.values[name], value)
		case c.flags[name] != nil && !c.flags[name].IsBoolFlag():
			waiting = name
		}
	}
	return waiting, onlyArgs
}

// enter goes into a command, nil = that which is run without one being named.
func (c *completer) enter(command *kingpin.CmdModel) {
	c.command, c.args = command, nil
	c.flags = map[string]*kingpin.FlagModel{}
	groups := []*kingpin.FlagGroupModel{c.model.FlagGroupModel}
	if command != nil {
		groups = append(groups, command.FlagGroupModel)
	} else {
		for _, each := range c.model.Commands {
			if each.Default {
				groups = append(groups, each.FlagGroupModel)
			}
		}
	}
	for _, group := range groups {
		for _, f := range group.Flags {
			if !f.Hidden {
				c.flags[f.Name] = f
			}
		}
	}
}

// below are the commands that may come next.
func (c *completer) below() []*kingpin.CmdModel {
	if c.command == nil {
		return c.model.Commands
	}
	return c.command.Commands
}

func (c *completer) commandNamed(name string) *kingpin.CmdModel {
	if i := slices.IndexFunc(c.below(), func(each *kingpin.CmdModel) bool { return each.Name == name }); i >= 0 {
		return c.below()[i]
	}
	return nil
}

func (c *completer) commands() answer {
	out := answer{kind: fitting}
	for _, each := range c.below() {
		if !each.Hidden {
			out.candidates = append(out.candidates, candidate{each.Name, gistOf(each.Help)})
		}
	}
	return out
}

// flagNames are those that can still be of use.
func (c *completer) flagNames() answer {
	out := answer{kind: fitting}
	for name, f := range c.flags {
		text := "--" + name
		if !f.IsBoolFlag() {
			text += "="
		}
		out.candidates = append(out.candidates, candidate{text, gistOf(f.Help)})
		if f.IsBoolFlag() && slices.Equal(f.Default, []string{"true"}) {
			out.candidates = append(out.candidates, candidate{"--no-" + name, "Not: " + gistOf(f.Help)})
		}
	}
	slices.SortFunc(out.candidates, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	return out
}

// gistOf is the first sentence of a help, as far as its first colon.
func gistOf(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	first, _, _ = strings.Cut(first, ": ")
	return strings.TrimSuffix(strings.Join(strings.Fields(first), " "), ".")
}

// closedLists are the values of flags that take no others, by command and flag; the command "" stands for those that every command has.
var closedLists = map[string][]string{
	" log.level":           {"debug", "info", "warn", "error"},
	" log.format":          {"logfmt", "json"},
	"run format":           {"table", "json", "csv"},
	"run progress":         progress.Modes(),
	"check config format":  {"text", "json"},
	"check sd format":      {"text", "json"},
	"series format":        {"text", "json"},
	"rules format":         ruleFormats,
	"rules disable":        alerts.Names(),
	"check dataset format": datasetFormats(),
}

func datasetFormats() []string {
	formats := dataset.Formats()
	out := make([]string, len(formats))
	for i, f := range formats {
		out[i] = string(f)
	}
	return out
}

// valuesOf are those of a flag.
func (c *completer) valuesOf(flag string) answer {
	if list, ok := closedLists[c.fullName()+" "+flag]; ok {
		return choices(list)
	}
	if list, ok := closedLists[" "+flag]; ok {
		return choices(list)
	}
	switch {
	case flag == "target":
		return choices(c.targets())
	case flag == "out":
		return answer{kind: folders}
	case flag == "config.file", strings.HasSuffix(flag, "-file"), strings.HasSuffix(flag, ".file"):
		return answer{kind: files}
	}
	return answer{kind: fitting}
}

func (c *completer) fullName() string {
	if c.command == nil {
		return ""
	}
	return c.command.FullCommand
}

// arguments are those of the command, at the place of the next one.
func (c *completer) arguments() answer {
	switch name := c.fullName(); {
	case name == "completion" && len(c.args) == 0:
		return choices(shells)
	case name == "check sd" && len(c.args) == 1:
		return choices(c.sets(c.args[0]))
	case c.command != nil && len(c.command.Args) > len(c.args), name == "check config":
		return answer{kind: files}
	}
	return answer{kind: fitting}
}

// load reads files as far as they can be. A shell is not told of mistakes, and nothing of what it is told is a secret.
func (c *completer) load(files []string) *config.Config {
	out, err := config.Load(config.Options{Files: files, Env: c.session.env, ExpandEnv: c.session.expandEnv})
	if err != nil {
		return nil
	}
	return out
}

// targets are those of the configuration that the command line names.
func (c *completer) targets() []string {
	names := c.values["config.file"]
	if len(names) == 0 {
		names = c.session.files
	}
	loaded := c.load(names)
	if loaded == nil {
		return nil
	}
	var out []string
	for i := range loaded.Targets {
		if loaded.Targets[i].Enabled {
			out = append(out, loaded.Targets[i].Name)
		}
	}
	return out
}

// sets are those of target_discovery in a file.
func (c *completer) sets(file string) []string {
	loaded := c.load([]string{file})
	if loaded == nil {
		return nil
	}
	var out []string
	for i := range loaded.TargetDiscovery {
		out = append(out, loaded.TargetDiscovery[i].Name)
	}
	return out
}
