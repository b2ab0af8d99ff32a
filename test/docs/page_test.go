package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the module's folder as seen from a test.
const root = "../.."

// page is a Markdown file whose commands a reader follows from top to bottom.
type page struct {
	path   string // below the module's folder, with slashes
	blocks []block
}

// block is a fenced code block.
type block struct {
	line     int    // of the first line inside, from 1
	language string // "sh"
	info     string // what stands behind the fence: "yaml fragment"
	text     string // without the indentation of the fence
}

// fileName finds the name of the file that a block is: its first line is a comment with nothing but that.
var fileName = regexp.MustCompile(`^# ([A-Za-z0-9_./-]+\.(?:ya?ml|json|jsonl|conf))\n`)

// file is the name under which a reader saves the block, "" if it has none.
func (b *block) file() string {
	if found := fileName.FindStringSubmatch(b.text); found != nil && b.language != "sh" {
		return found[1]
	}
	return ""
}

// pages are those of readers: README.md, CONTRIBUTING.md, and all below docs/.
func pages(t *testing.T) []*page {
	t.Helper()
	files := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			below, _ := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(below))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*page, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, parse(file, string(text)))
	}
	return out
}

// parse finds the blocks of a page, also those that are indented as part of a list.
func parse(path, text string) *page {
	p := &page{path: path}
	var open *block
	indent := 0
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		info, isFence := strings.CutPrefix(trimmed, "```")
		switch {
		case isFence && open == nil:
			language, _, _ := strings.Cut(strings.TrimSpace(info), " ")
			open, indent = &block{line: i + 2, language: language, info: strings.TrimSpace(info)}, len(line)-len(trimmed)
		case isFence:
			p.blocks = append(p.blocks, *open)
			open = nil
		case open != nil:
			open.text += line[min(indent, len(line)-len(trimmed)):] + "\n"
		}
	}
	return p
}

// followed tells whether a page has a block that is executed.
func (p *page) followed() bool {
	return slices.ContainsFunc(p.blocks, func(b block) bool { return b.language == "sh" || b.language == "python" && reasonOf(&b) == "" })
}

func TestBlocksOfAPageAreFound(t *testing.T) {
	t.Parallel()
	p := parse("a.md", "1. x\n\n   ```sh\n   ls \\\n     -l\n   ```\n\n```yaml fragment\n# a/b.yml\nx: 1\n```\n```text\n# a.yml is not this\n```\n")
	type seen struct {
		line                 int
		language, file, text string
	}
	want := []seen{
		{4, "sh", "", "ls \\\n  -l\n"},
		{9, "yaml", "a/b.yml", "# a/b.yml\nx: 1\n"},
		{13, "text", "", "# a.yml is not this\n"},
	}
	got := make([]seen, 0, len(p.blocks))
	for _, b := range p.blocks {
		got = append(got, seen{b.line, b.language, b.file(), b.text})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
