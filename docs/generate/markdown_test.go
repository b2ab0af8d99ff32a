package main

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// document is a Markdown file of the repository.
type document struct {
	path   string // below the module's folder
	prose  []line // outside of code blocks
	blocks []block
}

// line is one line of a document; number is from 1.
type line struct {
	number int
	text   string
}

// block is a fenced code block.
type block struct {
	number int    // of the line with its first character
	info   string // what stands behind the fence: "yaml", "yaml fragment"
	text   string
}

// documents are all Markdown files of the repository, except those that belong to tools and test data.
func documents(t *testing.T) []*document {
	t.Helper()
	var out []*document
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "out") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			out = append(out, readDocument(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readDocument(t *testing.T, path string) *document {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	return parseDocument(filepath.ToSlash(below), string(text))
}

func parseDocument(path, text string) *document {
	d := &document{path: path}
	var open *block
	for i, l := range strings.Split(text, "\n") {
		info, isFence := strings.CutPrefix(strings.TrimSpace(l), "```")
		switch {
		case isFence && open == nil:
			open = &block{number: i + 2, info: strings.TrimSpace(info)}
		case isFence:
			d.blocks = append(d.blocks, *open)
			open = nil
		case open != nil:
			open.text += l + "\n"
		default:
			d.prose = append(d.prose, line{i + 1, l})
		}
	}
	return d
}

// anchors are the fragments by which the headings of a document are linked to.
func (d *document) anchors() map[string]bool {
	out := map[string]bool{}
	for _, l := range d.prose {
		level := len(l.text) - len(strings.TrimLeft(l.text, "#"))
		if level == 0 || !strings.HasPrefix(l.text[level:], " ") {
			continue
		}
		anchor := slug(l.text[level+1:])
		for name, n := anchor, 1; out[anchor]; n++ {
			anchor = name + "-" + strconv.Itoa(n)
		}
		out[anchor] = true
	}
	return out
}

// slug is GitHub's name for a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := map[string]*document{}
	for _, d := range documents(t) {
		all[d.path] = d
	}
	for _, d := range all {
		for _, l := range d.prose {
			for _, found := range link.FindAllStringSubmatch(l.text, -1) {
				if problem := follow(d, found[1], all); problem != "" {
					t.Errorf("%s:%d: link %s: %s", d.path, l.number, found[1], problem)
				}
			}
		}
	}
}

// follow says what is wrong with a link; addresses elsewhere are not opened.
func follow(from *document, target string, all map[string]*document) (problem string) {
	if strings.HasPrefix(target, "mailto:") {
		return ""
	}
	if strings.Contains(target, "://") {
		if u, err := url.Parse(target); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "it is no address"
		}
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	path := from.path
	if file != "" {
		path = filepath.ToSlash(filepath.Join(filepath.Dir(from.path), file))
	}
	d := all[path]
	if d == nil {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			return "there is no such file"
		}
	}
	if anchor != "" && (d == nil || !d.anchors()[anchor]) {
		return "there is no such heading"
	}
	return ""
}

func TestLinksThatLeadNowhereAreFound(t *testing.T) {
	t.Parallel()
	d := parseDocument("docs/a.md", "# One `two`: three!\n## Again\n## Again\n```\n# no heading\n```\n")
	all := map[string]*document{"docs/a.md": d}
	tests := []struct{ name, target, want string }{
		{"a heading", "#one-two-three", ""},
		{"the second heading of a name", "a.md#again-1", ""},
		{"a third heading of a name", "#again-2", "there is no such heading"},
		{"a line of code", "#no-heading", "there is no such heading"},
		{"a folder", "../docs/", ""},
		{"a file that is not there", "nowhere.md", "there is no such file"},
		{"a heading of a file that has none", "../go.mod#x", "there is no such heading"},
		{"an address", "https://example.net/x#y", ""},
		{"an address that cannot be one", "htps://example.net", "it is no address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := follow(d, tt.target, all); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
