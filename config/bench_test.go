package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkHostileFiles shows what files at the limits cost: none may take much longer than a file of its size needs to be parsed.
func BenchmarkHostileFiles(b *testing.B) {
	rep := func(s string) string { return strings.Repeat(s, maxFileBytes/len(s)-100) }
	var unknownKeys, aliases strings.Builder
	for i := range 300_000 {
		unknownKeys.WriteString("k" + strings.Repeat("y", i%7) + string(rune('a'+i%26)) + strings.Repeat("x", i%5) + ": 1\n")
	}
	aliases.WriteString("x-a: &a [" + strings.Repeat("x,", 40) + "]\ntargets: [")
	aliases.WriteString(strings.Repeat("*a,", 9000) + "]\n")
	for name, text := range map[string]string{
		"open brackets":  rep("["),
		"dashes":         rep("- "),
		"question marks": rep("? "),
		"list":           "x-a: [" + rep("a,") + "]",
		"unknown keys":   unknownKeys.String(),
		"empty targets":  "targets: [" + rep("{},") + "]",
		"aliases":        aliases.String(),
		"one long key":   strings.Repeat("k", maxFileBytes-10) + ": 1",
		"one long text":  "x-a: " + strings.Repeat("k", maxFileBytes-10),
		"dollars":        "x-a: '" + rep("${A:-b}") + "'",
		"anchors":        "x-a: [" + rep("&a x,") + "]",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				root, findings := document(&source{name: "f"}, []byte(text), newEnvironment(nil))
				if root == nil && len(findings) == 0 {
					b.Fatal("nothing")
				}
			}
		})
	}
}

func BenchmarkLoad500Targets(b *testing.B) {
	var text strings.Builder
	text.WriteString("loads: {l: {rate: 1}}\nslos: {s: {time_to_first_token: 1s}}\ntargets:\n")
	for i := range 500 {
		fmt.Fprintf(&text, "  - {name: t%d, url: 'http://127.0.0.1:8000', model: m, endpoint: {type: chat}, load: l, slo: s, labels: {team: ml}}\n", i)
	}
	file := filepath.Join(b.TempDir(), "c.yml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(Options{Files: []string{file}}); err != nil {
			b.Fatal(err)
		}
	}
}
