package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThePageShowsTheScriptsAsTheyAre(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "outputs.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report_to_mlflow.py", "report_to_wandb.py"} {
		script, err := os.ReadFile(filepath.Join("..", "..", "examples", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "```python\n"+string(script)+"```\n") {
			t.Errorf("docs/outputs.md shows another %s", name)
		}
	}
}
