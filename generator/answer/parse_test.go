package answer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestParseExpect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw  string
		want []Expect
	}{
		"an object": {
			`{"contains": "ok", "ignore_case": true, "min_tokens": 2, "finish_reason": ["stop"]}`,
			[]Expect{{Contains: "ok", IgnoreCase: true, MinTokens: 2, FinishReason: []metrics.FinishReason{"stop"}}},
		},
		"a list":   {` [{"regex": "a"}, {"no_garbage": true}] `, []Expect{{Regex: "a"}, {NoGarbage: true}}},
		"a schema": {`{"json_schema": {"type": "object"}}`, []Expect{{JSONSchema: map[string]any{"type": "object"}}}},
		"a call":   {`{"tool_call": {}}`, []Expect{{ToolCall: &ToolCallExpect{}}}},
		"no entry": {`[]`, []Expect{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseExpect([]byte(c.raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseExpectErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ raw, want string }{
		"nothing":                  {``, "expect: EOF"},
		"null":                     {`null`, "expect: expects nothing: set at least one of contains, regex, json_schema, min_tokens, finish_reason, …"},
		"an unknown key":           {`{"contain": "a"}`, `expect: json: unknown field "contain"`},
		"an unknown key in a list": {`[{"contains": "a"}, {"contain": "a"}]`, `expect: json: unknown field "contain"`},
		"something behind it":      {`{"contains": "a"} 1`, "expect: has something behind its end"},
		"a file":                   {`{"json_schema_file": "/etc/passwd"}`, "expect.json_schema_file: a row names no file, use json_schema"},
		"two mistakes": {
			`[{"contains": "a"}, {"regex": "("}, {"min_tokens": -1}]`,
			"expect[1].regex: error parsing regexp: missing closing ): `(`\nexpect[2].min_tokens: must be > 0, leave the key out if it is not wanted",
		},
		"too long": {`{"contains": "` + strings.Repeat("a", 1<<20) + `"}`, "expect: is longer than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseExpect([]byte(c.raw))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
