package main

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestTextsOfOthersAreEscapedForATerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want, lines string }{
		"words":                      {`the "model" höher 模型 \n`, `the "model" höher 模型 \n`, `the "model" höher 模型 \n`},
		"lines":                      {"a\nb\tc", `a\nb\tc`, "a\nb\tc"},
		"a sequence of the terminal": {"a\x1b[2Jb\r\x7f\u009b", `a\x1b[2Jb\r\x7f\u009b`, `a\x1b[2Jb\r\x7f\u009b`},
		"embeddings and overrides":   {"\u202a\u202b\u202c\u202d\u202e", `\u202a\u202b\u202c\u202d\u202e`, `\u202a\u202b\u202c\u202d\u202e`},
		"isolates":                   {"\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`, `\u2066\u2067\u2068\u2069`},
		"marks":                      {"\u200e\u200f\u061c", `\u200e\u200f\u061c`, `\u200e\u200f\u061c`},
		"separators and tags":        {"\u2028\u2029\U000e0041", `\u2028\u2029\U000e0041`, `\u2028\u2029\U000e0041`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := printable(test.text); got != test.want {
				t.Errorf("one line: got %s, want %s", got, test.want)
			}
			if got := printableLines(test.text); got != test.lines {
				t.Errorf("lines: got %s, want %s", got, test.lines)
			}
			var back string
			if err := yaml.Unmarshal([]byte(quoted(test.text)), &back); err != nil || back != test.text {
				t.Errorf("%s is read as %q, %v", quoted(test.text), back, err)
			}
			if text := quoted(test.text); printable(text) != text {
				t.Errorf("%s is not printable", text)
			}
		})
	}
}
