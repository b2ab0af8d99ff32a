package config

import (
	"strings"
	"testing"
)

// treeOf parses a text that must be right.
func treeOf(t *testing.T, text string) *node {
	t.Helper()
	root, findings := document(&source{name: "f"}, []byte(text), nil)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return root
}

func TestNumbersKeepTheirTypeAndSize(t *testing.T) {
	t.Parallel()
	root := treeOf(t, "a: [1, -1, 0x10, 1e3, 1.5, 9223372036854775807, 18446744073709551615, 18446744073709551616, 1_000, true, 2024-01-01, yes]\n")
	want := []any{
		1, -1, 16, 1000.0, 1.5, 9223372036854775807, uint64(18446744073709551615), 18446744073709551616.0, 1000, true, "2024-01-01", "yes",
	}
	items := root.fields["a"].items
	if len(items) != len(want) {
		t.Fatalf("got %d items, want %d", len(items), len(want))
	}
	for i, item := range items {
		if item.value != want[i] {
			t.Errorf("item %d: got %#v, want %#v", i, item.value, want[i])
		}
	}
}

func TestAliasesAndMergesGiveWhatTheyStandFor(t *testing.T) {
	t.Parallel()
	root := treeOf(t, `
base: &base {a: 1, b: 1, c: 1}
other: &other {b: 2, d: 2}
one: {<<: *base, b: 3}
two: {b: 3, <<: [*other, *base]}
same: *base
&name key: &value v
again: [*name, *value]
`)
	tests := []struct {
		path string
		want any
		line int
	}{
		{"one.a", 1, 2},
		{"one.b", 3, 4},
		{"two.b", 3, 5},
		{"two.d", 2, 3}, // of two merged maps the first wins where both have a key
		{"two.c", 1, 2},
		{"same.c", 1, 2},
		{"again[0]", "key", 8},
		{"again[1]", "v", 8},
	}
	for _, tt := range tests {
		n, _ := root.find(tt.path)
		if n == nil || n.value != tt.want || n.line != tt.line {
			t.Errorf("%s: got %+v, want %v in line %d", tt.path, n, tt.want, tt.line)
		}
	}
}

func TestAFileWithTooManyValuesIsRefused(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("x,", 60_000)
	tests := map[string]string{
		"as they are":     "x-a: [" + strings.Repeat(many, 9) + "]\n",
		"through aliases": "x-a: &a [" + many + "]\nx-b: [" + strings.Repeat("*a,", 9) + "]\n",
	}
	for name, text := range tests {
		root, findings := document(&source{name: "f"}, []byte(text), nil)
		if root != nil || len(findings) != 1 || !strings.HasSuffix(findings[0].Message, "is beyond the limit of 500000 values, aliases expanded") {
			t.Errorf("%s: got %v", name, findings)
		}
	}
}

func TestFindFollowsAPath(t *testing.T) {
	t.Parallel()
	root := treeOf(t, "m: {gpt-4: {n: 1}, gpt-4.1: {n: 2}, \"a[0]\": 3}\nl: [{n: 4}, 5]\n")
	tests := []struct {
		path        string
		want        any
		throughList bool
	}{
		{"m.gpt-4.n", 1, false},
		{"m.gpt-4.1.n", 2, false},
		{"m.a[0]", 3, false},
		{"l[0].n", 4, true},
		{"l[1]", 5, true},
		{"l[2]", nil, true},
		{"l[-1]", nil, true},
		{"l[x]", nil, true},
		{"l[0", nil, true},
		{"l.n", nil, true},
		{"l[1].n", nil, true},
		{"m.gpt-5", nil, false},
		{"m.gpt-4.n.x", nil, false},
		{"m.gpt", nil, false},
	}
	for _, tt := range tests {
		n, throughList := root.find(tt.path)
		var got any
		if n != nil {
			got = n.value
		}
		if got != tt.want || throughList != tt.throughList {
			t.Errorf("%s: got %v, %v; want %v, %v", tt.path, got, throughList, tt.want, tt.throughList)
		}
	}
}
