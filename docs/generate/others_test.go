package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// others are the pages for people who come from another program, with lists of all that it has: each entry has to be on its page.
var others = map[string][]string{
	"docs/coming-from-aiperf.md":   {"aiperf-flags.txt", "aiperf-figures.txt"},
	"docs/coming-from-guidellm.md": {"guidellm-flags.txt", "guidellm-keys.txt"},
	"docs/vllm.md":                 {"vllm-flags.txt"},
	"docs/servers.md":              {"server-flags.txt"},
}

func TestPagesOfOtherProgramsLeaveNothingOut(t *testing.T) {
	t.Parallel()
	for path, lists := range others {
		told := map[string]bool{}
		for _, l := range readDocument(t, filepath.Join(root, path)).prose {
			for _, word := range code.FindAllStringSubmatch(l.text, -1) {
				told[word[1]] = true
			}
		}
		for _, list := range lists {
			for _, name := range entries(t, list) {
				if !isTold(name, told) {
					t.Errorf("%s: %s of %s is not told", path, name, list)
				}
			}
		}
	}
}

// isTold tells whether a page has a name, or the one that it stands for with another word in front: total_x is as x, amd_x as nvidia_x.
func isTold(name string, told map[string]bool) bool {
	if told[name] {
		return true
	}
	if rest, ok := strings.CutPrefix(name, "total_"); ok && told[rest] {
		return told["total_"]
	}
	if rest, ok := strings.CutPrefix(name, "amd_"); ok && told["nvidia_"+rest] {
		return told["amd_"]
	}
	return false
}

// entries are the lines of a list that are no comments.
func entries(t *testing.T, list string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", list))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for l := range strings.Lines(string(text)) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s is empty", list)
	}
	return out
}

// foreignFlags are those that the page of another program may name beside ours.
func foreignFlags(t *testing.T, path string) map[string]bool {
	t.Helper()
	out := map[string]bool{"set": true, "set-file": true, "values": true, "namespace": true, "server-side": true} // of Helm and kubectl, on every page
	for _, list := range append(slices.Clone(others[path]), "vllm-flags.txt") {                                   // runbooks, too, say what to tell vLLM
		for _, name := range entries(t, list) {
			if flag, ok := strings.CutPrefix(name, "--"); ok {
				out[strings.TrimPrefix(flag, "no-")] = true
			}
		}
	}
	return out
}
