package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A block that nobody runs or reads may say anything.
func TestEachBlockIsExecutedOrHasAReason(t *testing.T) {
	t.Parallel()
	counted := map[string]int{}
	for _, p := range pages(t) {
		for i := range p.blocks {
			b := &p.blocks[i]
			counted[b.language]++
			switch {
			case !languages[b.language]:
				t.Errorf("%s:%d: a block is sh if it is executed, console if it cannot be, text if it is output; %q is none that is known", p.path, b.line, b.info)
			case b.language == "console" && reasonOf(b) == "":
				t.Errorf("%s:%d: nothing in tables_test.go says why this cannot be executed; is it sh?", p.path, b.line)
			case b.language == "sh":
				checkGoals(t, p, b)
			}
		}
	}
	t.Logf("blocks by language: %v", counted)
	if counted["sh"] < 20 {
		t.Errorf("only %d blocks with commands were found", counted["sh"])
	}
}

// checkGoals finds targets of the Makefile that are neither run with the page nor known to be run elsewhere.
func checkGoals(t *testing.T, p *page, b *block) {
	t.Helper()
	for _, command := range commands(b.text) {
		for _, name := range goals(command) {
			if targets[name] == "" && name != "build" && name != "demo" && name != "help" {
				t.Errorf("%s:%d: tables_test.go does not say where make %s is run", p.path, b.line, name)
			}
		}
	}
}

func TestTargetsAreRunWhereTheTableSays(t *testing.T) {
	t.Parallel()
	ci, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	for name, where := range targets {
		if called := regexp.MustCompile(`\bmake [^\n]*\b` + name + `\b`); where == inCI && !called.Match(ci) {
			t.Errorf("make %s is not in %s", name, inCI)
		}
	}
}

func TestPreludesAreForPagesThatAreFollowed(t *testing.T) {
	t.Parallel()
	followed := map[string]bool{}
	for _, p := range pages(t) {
		followed[p.path] = p.followed()
	}
	for path := range prelude {
		if !followed[path] {
			t.Errorf("%s has no commands", path)
		}
	}
	if strings.Contains(prelude["README.md"], "demo") {
		t.Error("README.md starts the demo itself")
	}
}
