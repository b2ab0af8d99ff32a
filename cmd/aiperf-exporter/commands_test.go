package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page of the commands is run as far as it neither sends anything nor needs what only a reader has: what is said to come out comes out.
func TestThePageOfTheCommandsIsTrue(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```sh\naiperf-exporter ((?:check config|series|schema)[^\n>|]*)\n```\n(?:\n```text\n(.*?)```\n)?")
	figures := regexp.MustCompile(` +[0-9.]+[kMG]?\b`)
	found := example.FindAllStringSubmatch(string(page), -1)
	for _, m := range found {
		got := execute(strings.Fields(m[1])...)
		if got.code != exitOK || got.stderr != "" {
			t.Errorf("%s: exit code %d and %q", m[1], got.code, got.stderr)
		}
		// Lengths of prompts are drawn.
		if diff := cmp.Diff(figures.ReplaceAllString(m[2], " N"), figures.ReplaceAllString(got.stdout, " N")); m[2] != "" && diff != "" {
			t.Errorf("%s (-page +program):\n%s", m[1], diff)
		}
	}
	if len(found) < 5 {
		t.Errorf("found only %q", found)
	}
}

func TestThePageOfTheCommandsNamesThemAll(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(?m)^(check \S+|[a-z]+)\*? .*\n    `)
	names := listed.FindAllStringSubmatch(execute("--help").stdout, -1)
	for _, m := range names {
		if name := m[1]; name != "help" && !strings.Contains(string(page), "\n## "+name+"\n") {
			t.Errorf("there is nothing about %s", name)
		}
	}
	if len(names) < 10 {
		t.Errorf("found only %q", names)
	}
}
