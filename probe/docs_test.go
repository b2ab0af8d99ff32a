package probe

import (
	"os"
	"strings"
	"testing"
)

func TestThePageTellsEverySeriesAndEveryReason(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/probe.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range AnswerTable() {
		if !strings.Contains(string(page), "| `"+s.Name+"` |") {
			t.Errorf("%s is not on the page", s.Name)
		}
		if !strings.HasSuffix(s.Help, ".") {
			t.Errorf("%s: the help %q is no sentence", s.Name, s.Help)
		}
	}
	for _, name := range reasonNames() {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the reason %s is not on the page", name)
		}
	}
}
