package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// The scripts of the shells. They ask the program for what fits, so that they do not change with its flags: see completer.
var (
	//go:embed completion/bash.sh
	bashCompletion string
	//go:embed completion/zsh.zsh
	zshCompletion string
	//go:embed completion/fish.fish
	fishCompletion string
)

// askedByShells is the command that the scripts run: with "--", then the words after the program's name up to the cursor.
const askedByShells = "__complete"

func completionCommands(app *kingpin.Application) []command {
	cmd := app.Command("completion", "Print a script that completes commands, flags, targets and files: source <(aiperf-exporter completion bash).")
	shell := cmd.Arg("shell", "bash, zsh or fish.").Required().Enum(shells...)
	asked := app.Command(askedByShells, "Answer a shell.").Hidden()
	words := asked.Arg("word", "Words of the command line, up to the cursor.").Strings()
	return []command{
		{cmd.FullCommand(), func(s *session) int {
			script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[*shell]
			if _, err := io.WriteString(s.stdout, script); err != nil {
				s.complainf("print script: %v", err)
				return exitFailure
			}
			return exitOK
		}},
		{asked.FullCommand(), func(s *session) int {
			c := &completer{model: app.Model(), session: s}
			fmt.Fprint(s.stdout, c.complete(*words).String())
			return exitOK
		}},
	}
}

var shells = []string{"bash", "zsh", "fish"}

// answer is what a shell is told: in its first line what the others are.
type answer struct {
	kind       answerKind
	candidates []candidate
}

type answerKind string

const (
	fitting answerKind = "words"   // the candidates
	files   answerKind = "files"   // none, the shell knows its files
	folders answerKind = "folders" // likewise
)

// candidate is a word that fits, and what it means. A flag that takes a value ends in "=".
type candidate struct{ text, about string }

// String is the answer as the scripts read it: kind, then lines of text, tab, meaning.
func (a answer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", a.kind)
	for _, c := range a.candidates {
		fmt.Fprintf(&b, "%s\t%s\n", c.text, c.about)
	}
	return b.String()
}

// choices makes candidates of values.
func choices(values []string) answer {
	out := answer{kind: fitting}
	for _, v := range values {
		out.candidates = append(out.candidates, candidate{text: v})
	}
	return out
}

// beginning leaves those that begin with what is typed.
func (a answer) beginning(typed string) answer {
	out := answer{kind: a.kind}
	for _, c := range a.candidates {
		if strings.HasPrefix(c.text, typed) {
			out.candidates = append(out.candidates, c)
		}
	}
	return out
}
