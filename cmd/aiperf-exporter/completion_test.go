package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
)

// completions are what fits at the end of words, without what it means, after the kind of the answer.
func completions(words ...string) []string {
	var out []string
	for line := range strings.Lines(execute(append([]string{askedByShells, "--"}, words...)...).stdout) {
		text, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		out = append(out, text)
	}
	return out
}

const twoTargets = minimal + `  - {name: two, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}}
  - {name: off, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}, enabled: false}
`

func TestWhatFitsIsFound(t *testing.T) {
	t.Parallel()
	good := write(t, "good.yml", twoTargets)
	broken := write(t, "broken.yml", "targets: [{nam: x}]")
	sets := write(t, "sets.yml", "target_discovery: [{name: fleet, file_sd_configs: [{files: [a.yml]}], template: {load: default}}]\nloads: {default: {}}\n")
	for name, test := range map[string]struct {
		words, want []string
	}{
		"a command":                       {[]string{"re"}, []string{"words", "replay"}},
		"a command below another":         {[]string{"check", ""}, []string{"words", "config", "dataset", "health", "sd", "web-config"}},
		"nothing hidden":                  {[]string{"__"}, []string{"words"}},
		"a flag of a command":             {[]string{"run", "--gr"}, []string{"words", "--grace="}},
		"a flag without a value":          {[]string{"run", "--rec"}, []string{"words", "--records"}},
		"a flag of every command":         {[]string{"series", "--log"}, []string{"words", "--log.format=", "--log.level="}},
		"a flag of the default command":   {[]string{"--shut"}, []string{"words", "--shutdown.final-scrape=", "--shutdown.grace="}},
		"a flag that is on":               {[]string{"--no-"}, []string{"words", "--no-config.expand-env"}},
		"no flag of another command":      {[]string{"run", "--shut"}, []string{"words"}},
		"a choice":                        {[]string{"run", "--format", "j"}, []string{"words", "json"}},
		"a choice behind =":               {[]string{"run", "--format="}, []string{"words", "table", "json", "csv"}},
		"a choice of another command":     {[]string{"check", "config", "--format", ""}, []string{"words", "text", "json"}},
		"a target":                        {[]string{"--config.file=" + good, "run", "--target", ""}, []string{"words", "one", "two"}},
		"a target behind =":               {[]string{"run", "--config.file", good, "--target=t"}, []string{"words", "two"}},
		"no target of a broken file":      {[]string{"run", "--config.file", broken, "--target="}, []string{"words"}},
		"a set":                           {[]string{"check", "sd", sets, "f"}, []string{"words", "fleet"}},
		"a file of a set":                 {[]string{"check", "sd", ""}, []string{"files"}},
		"a file":                          {[]string{"--config.file="}, []string{"files"}},
		"a further file":                  {[]string{"check", "config", "a.yml", "b"}, []string{"files"}},
		"a file that is a dash":           {[]string{"replay", "--", "-"}, []string{"files"}},
		"no argument where there is none": {[]string{"run", ""}, []string{"words"}},
		"no second argument":              {[]string{"replay", "a.json", ""}, []string{"words"}},
		"a folder":                        {[]string{"run", "--out", ""}, []string{"folders"}},
		"a shell":                         {[]string{"completion", ""}, []string{"words", "bash", "zsh", "fish"}},
		"a number":                        {[]string{"run", "--requests", ""}, []string{"words"}},
		"a flag that does not exist":      {[]string{"run", "--nonsense=", ""}, []string{"words"}},
		"a word like a file of arguments": {[]string{"series", "@nowhere", "--tar"}, []string{"words", "--target="}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, completions(test.words...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := completions(); !slices.Contains(got, "run") || slices.Contains(got, askedByShells) {
		t.Errorf("nothing typed gives %q", got)
	}
}

// The lists stand beside the flags: each closed list must be that of its flag, and no flag may lack one.
func TestChoicesAreThoseOfTheFlags(t *testing.T) {
	t.Parallel()
	app := kingpin.New(program, "")
	serveCommand(app)
	checkCommands(app)
	runCommand(app)
	seriesCommand(app)
	rulesCommand(app)
	seen := map[string]bool{}
	for _, command := range app.Model().FlattenedCommands() {
		for _, f := range command.Flags {
			name := command.FullCommand + " " + f.Name
			m := regexp.MustCompile(`^enum value must be one of (\S+),`).FindStringSubmatch(fmt.Sprint(f.Value.Set("no such value")))
			if m == nil {
				continue
			}
			seen[name] = true
			if want := strings.Join(closedLists[name], ","); m[1] != want {
				t.Errorf("%s takes %s, and shells are told %s", name, m[1], want)
			}
		}
	}
	if len(seen) < 5 {
		t.Errorf("found only %v", seen)
	}
	for name, values := range closedLists {
		if flag, global := strings.CutPrefix(name, " "); global {
			for _, v := range values {
				if got := execute("--"+flag+"="+v, "schema"); got.code != exitOK {
					t.Errorf("%s=%s: %s", flag, v, got.stderr)
				}
			}
		} else if !seen[name] && name != "check dataset format" { // whose values the room of datasets checks
			t.Errorf("%s is no flag with choices", name)
		}
	}
}

// shell runs a script with the program on its path; it skips the test where the shell is not there.
func shell(t *testing.T, name string, args ...string) []string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s: %v", name, err)
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err = os.Symlink(self, filepath.Join(dir, program)); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"some.yml": twoTargets, "some folder/file": "", "other.yml": ""} {
		if err = os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err = os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1", "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s%s", name, err, out, stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

func TestBashCompletes(t *testing.T) {
	t.Parallel()
	// Words are cut as bash cuts them.
	const script = `source <(aiperf-exporter completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_aiperf_exporter 2>&1
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"`
	for name, test := range map[string]struct {
		words, want []string
	}{
		"a command":           {[]string{"ser"}, []string{"series", "serve"}},
		"a flag":              {[]string{"run", "--tar"}, []string{"--target="}},
		"a target":            {[]string{"--config.file", "=", "some.yml", "run", "--target", ""}, []string{"one", "two"}},
		"a target behind =":   {[]string{"--config.file", "=", "some.yml", "run", "--target", "="}, []string{"one", "two"}},
		"a part of a target":  {[]string{"--config.file", "=", "some.yml", "run", "--target", "=", "t"}, []string{"two"}},
		"files":               {[]string{"check", "config", "some"}, []string{"some folder", "some.yml"}},
		"a file behind =":     {[]string{"--config.file", "=", "some."}, []string{"some.yml"}},
		"folders":             {[]string{"run", "--out", ""}, []string{"some folder"}},
		"a flag after a flag": {[]string{"run", "--format", "=", "json", "--req"}, []string{"--requests="}},
		"nothing":             {[]string{"run", "--requests", "="}, []string{""}},
		"a value with colons": {[]string{"replay", "--listen", "=", "127.0.0.1", ":", "0", "fi"}, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shell(t, "bash", append([]string{"--norc", "-c", script, "bash", program}, test.words...)...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFishCompletes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"ser":                                   {"series", "serve"},
		"run --tar":                             {"--target="},
		"--config.file=some.yml run --target ":  {"one", "two"},
		"--config.file=some.yml run --target=t": {"--target=two"},
		"run --config.file some.yml --format=json ": {""},
		"check config some.":                        {"some.yml"},
		"--config.file=some.":                       {"--config.file=some.yml"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got := shell(t, "fish", "-N", "-c", "source (aiperf-exporter completion fish | psub); complete -C $argv[1]", program+" "+line)
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], "\t")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Zsh only completes where somebody types: what its own functions would be given is printed in their place.
func TestZshCompletes(t *testing.T) {
	t.Parallel()
	const script = `source <(aiperf-exporter completion zsh)
_describe() { print -rl -- $closed $open }
_files() { print -r -- files $* $PREFIX }
compset() { PREFIX=${PREFIX#*=} }
words=("$@"); CURRENT=$#; PREFIX=${words[CURRENT]}
_aiperf_exporter`
	for name, test := range map[string]struct {
		words, want []string
	}{
		"a command":         {[]string{"ser"}, []string{"series:List every series that the configuration exposes", "serve:Run the daemon (the default)"}},
		"a flag":            {[]string{"run", "--tar"}, []string{"--target=:Target to run; may be repeated"}},
		"a target":          {[]string{"--config.file=some.yml", "run", "--target", ""}, []string{"one", "two"}},
		"a target behind =": {[]string{"--config.file=some.yml", "run", "--target=t"}, []string{"two"}},
		"files":             {[]string{"check", "config", "some"}, []string{"files some"}},
		"a file behind =":   {[]string{"--config.file=some."}, []string{"files some."}},
		"folders":           {[]string{"run", "--out="}, []string{"files -/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shell(t, "zsh", append([]string{"-f", "-c", script, "zsh", program}, test.words...)...)
			for i := range got {
				got[i] = strings.TrimSpace(got[i])
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheSchemaIsPrinted(t *testing.T) {
	t.Parallel()
	got := execute("schema")
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	contains(t, "standard output", got.stdout, `"$schema": "https://json-schema.org/draft/2020-12/schema"`, `"target_discovery"`)
}
