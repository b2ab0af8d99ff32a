package answer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// said is an answer of a text.
func said(text string) *Answer {
	return &Answer{Transcript: &Transcript{Text: []byte(text)}, OutputTokens: -1, Finish: metrics.FinishStop}
}

func called(offered string, calls ...ToolCall) *Answer {
	return &Answer{Transcript: &Transcript{Tools: calls}, Finish: metrics.FinishToolCalls, Offered: json.RawMessage(offered)}
}

func ofTokens(n int64) *Answer {
	a := said("some words")
	a.OutputTokens = n
	return a
}

const (
	chatTools      = `[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},{"type":"function","function":{"name":"now"}}]`
	responsesTools = `[{"type":"function","name":"weather","parameters":{"type":"object","required":["city"]}}]`
	messagesTools  = `[{"name":"weather","input_schema":{"type":"object","required":["city"]}}]`
)

func TestJudge(t *testing.T) {
	t.Parallel()
	person := map[string]any{
		"type": "object", "required": []any{"name"}, "properties": map[string]any{"name": map[string]any{"type": "string", "pattern": "^[A-Z]"}, "age": map[string]any{"minimum": 0}},
	}
	self := map[string]any{"$ref": "#"}
	ambiguous := map[string]any{"type": "array", "anyOf": []any{map[string]any{"items": self, "minItems": 2}, map[string]any{"items": self}}}
	paris := ToolCall{Name: "weather", Arguments: []byte(`{"city":"Paris"}`)}
	anyCall := Expect{ToolCall: &ToolCallExpect{}}
	for name, c := range map[string]struct {
		expect Expect
		answer *Answer
		want   []Failure
	}{
		"a text that is there":                  {Expect{Contains: "ok"}, said("It is ok."), nil},
		"a text that is not there":              {Expect{Contains: "ok"}, said("It is OK."), []Failure{{CheckContains, `does not contain "ok"`}}},
		"case does not matter":                  {Expect{Contains: "ok. (é)", IgnoreCase: true}, said("It is OK. (É)"), nil},
		"a text is no expression":               {Expect{Contains: "o.", IgnoreCase: true}, said("ok"), []Failure{{CheckContains, `does not contain "o."`}}},
		"a text in the reasoning only":          {Expect{Contains: "ok"}, &Answer{Transcript: &Transcript{Reasoning: []byte("ok")}}, []Failure{{CheckContains, `does not contain "ok"`}}},
		"an expression that matches":            {Expect{Regex: `^\d+$`}, said("42"), nil},
		"an expression that does not match":     {Expect{Regex: `^\d+$`}, said("42."), []Failure{{CheckRegex, `does not match "^\\d+$"`}}},
		"an expression without case":            {Expect{Regex: `^yes`, IgnoreCase: true}, said("YES!"), nil},
		"JSON that matches":                     {Expect{JSONSchema: person}, said(" {\"name\": \"Ada\"}\n"), nil},
		"any JSON":                              {Expect{JSONSchema: map[string]any{}}, said("[1]"), nil},
		"JSON without a member":                 {Expect{JSONSchema: person}, said(`{}`), []Failure{{CheckJSONSchema, `breaks "required" of the schema at "/"`}}},
		"JSON with a value that does not match": {Expect{JSONSchema: person}, said(`{"name": "secret"}`), []Failure{{CheckJSONSchema, `breaks "pattern" of the schema at "/name"`}}},
		"JSON in a code fence":                  {Expect{JSONSchema: person}, said("```json\n{}\n```"), []Failure{{CheckJSONSchema, "is not JSON: wrong at byte 1 of 14"}}},
		"JSON that was cut":                     {Expect{JSONSchema: person}, said(`{"name": "A`), []Failure{{CheckJSONSchema, "is not JSON: ends too early, after 11 bytes"}}},
		"two JSON values":                       {Expect{JSONSchema: person}, said(`{"name":"A"} {}`), []Failure{{CheckJSONSchema, "is not JSON: there is something behind byte 12, where it ends"}}},
		"JSON with something behind it":         {Expect{JSONSchema: person}, said(`{"name":"A"}]`), []Failure{{CheckJSONSchema, "is not JSON: there is something behind byte 12, where it ends"}}},
		"no answer at all":                      {Expect{JSONSchema: person}, said(""), []Failure{{CheckJSONSchema, "is not JSON: ends too early, after 0 bytes"}}},
		"JSON that is nested too deep":          {Expect{JSONSchema: map[string]any{}}, said(strings.Repeat("[", 65) + strings.Repeat("]", 65)), []Failure{{CheckJSONSchema, "is not JSON: is nested more than 64 deep"}}},
		"a number that would fill the memory":   {Expect{JSONSchema: person}, said(`{"name":"A","age":1e999999999}`), []Failure{{CheckJSONSchema, "is not JSON: has a number of more than 64 bytes or beyond 1e±999"}}},
		"a small number of the same kind":       {Expect{JSONSchema: person}, said(`{"name":"A","age":1e-999999999}`), []Failure{{CheckJSONSchema, "is not JSON: has a number of more than 64 bytes or beyond 1e±999"}}},
		"JSON that has too many ways to match": {
			Expect{JSONSchema: ambiguous},
			said(strings.Repeat("[", 60) + "1" + strings.Repeat("]", 60)),
			[]Failure{{CheckJSONSchema, "is too complex to be compared with the schema"}},
		},
		"JSON that has few":          {Expect{JSONSchema: ambiguous}, said("[[[[[[[]]]]]]]"), nil},
		"enough tokens":              {Expect{MinTokens: 3, MaxTokens: 3}, ofTokens(3), nil},
		"too few tokens":             {Expect{MinTokens: 3}, ofTokens(2), []Failure{{CheckMinTokens, "has 2 tokens, should have at least 3"}}},
		"too many tokens":            {Expect{MaxTokens: 3}, ofTokens(4), []Failure{{CheckMaxTokens, "has 4 tokens, should have at most 3"}}},
		"tokens that nobody counted": {Expect{MinTokens: 3, MaxTokens: 4}, ofTokens(-1), nil},
		"a reason that is wanted":    {Expect{FinishReason: []metrics.FinishReason{"length", "stop"}}, said("a"), nil},
		"a reason that is not":       {Expect{FinishReason: []metrics.FinishReason{"length", "tool_calls"}}, said("a"), []Failure{{CheckFinishReason, `ended with "stop", should end with one of ["length" "tool_calls"]`}}},
		"everything at once": {
			Expect{Contains: "x", Regex: "y", MinTokens: 5, FinishReason: []metrics.FinishReason{"length"}},
			ofTokens(1),
			[]Failure{
				{CheckContains, `does not contain "x"`},
				{CheckRegex, `does not match "y"`},
				{CheckMinTokens, "has 1 tokens, should have at least 5"},
				{CheckFinishReason, `ended with "stop", should end with one of ["length"]`},
			},
		},

		"a call":                              {anyCall, called(chatTools, paris), nil},
		"a call, as responses offers tools":   {anyCall, called(responsesTools, paris), nil},
		"a call, as messages offers tools":    {anyCall, called(messagesTools, paris), nil},
		"a call of unknown tools":             {anyCall, called("", ToolCall{Name: "x", Arguments: []byte("{}")}), nil},
		"a call of a tool without parameters": {anyCall, called(chatTools, ToolCall{Name: "now"}), nil},
		"the named one of two calls":          {Expect{ToolCall: &ToolCallExpect{Name: "now"}}, called(chatTools, paris, ToolCall{Name: "now", Arguments: []byte(" {} ")}), nil},
		"no call":                             {anyCall, said("I would call the weather."), []Failure{{CheckToolCall, "calls no tool"}}},
		"another call":                        {Expect{ToolCall: &ToolCallExpect{Name: "now"}}, called(chatTools, paris), []Failure{{CheckToolCall, `does not call the tool "now"`}}},
		"a tool that was not offered":         {anyCall, called(chatTools, ToolCall{Name: "wether", Arguments: []byte("{}")}), []Failure{{CheckToolCall, "tool call 1 names no tool of the request"}}},
		"a call without a name":               {anyCall, called("", ToolCall{Arguments: []byte("{}")}), []Failure{{CheckToolCall, "tool call 1 names no tool of the request"}}},
		"arguments that are no JSON":          {anyCall, called(chatTools, ToolCall{Name: "now", Arguments: []byte(`{"a`)}), []Failure{{CheckToolCall, "tool call 1 has arguments that are no JSON: ends too early, after 3 bytes"}}},
		"arguments that are no object":        {anyCall, called(chatTools, ToolCall{Name: "now", Arguments: []byte(`"a"`)}), []Failure{{CheckToolCall, "tool call 1 has arguments that are no JSON object"}}},
		"arguments that break the tool's own schema": {
			anyCall, called(chatTools, paris, ToolCall{Name: "weather", Arguments: []byte(`{"city":7}`)}),
			[]Failure{{CheckToolCall, `tool call 2 breaks "type" of the schema at "/city"`}},
		},
		"arguments that break what is expected": {
			Expect{ToolCall: &ToolCallExpect{Name: "weather", Arguments: map[string]any{"properties": map[string]any{"city": map[string]any{"const": "Rome"}}}}},
			called(chatTools, paris),
			[]Failure{{CheckToolCall, `tool call 1 breaks "const" of the schema at "/city"`}},
		},
		"a schema of a tool that is wrong itself": {anyCall, called(`[{"name":"weather","input_schema":{"type":7}}]`, paris), nil},
		"tools that are no list":                  {anyCall, called(`{}`, paris), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks, err := NewChecks([]Expect{c.expect})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // what is kept between answers changes nothing
				if diff := cmp.Diff(c.want, checks.Judge(c.answer)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestEntriesMustAllHold(t *testing.T) {
	t.Parallel()
	checks, err := NewChecks([]Expect{{Contains: "a"}, {Contains: "b"}, {Contains: "c"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Failure{{CheckContains, `does not contain "a"`}, {CheckContains, `does not contain "c"`}}
	if diff := cmp.Diff(want, checks.Judge(said("b"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none, err := NewChecks(nil)
	if err != nil || none.Judge(said("b")) != nil {
		t.Errorf("no expectations: %v", err)
	}
}

func TestDetailsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("né", 5000)
	checks, err := NewChecks([]Expect{{Contains: long, Regex: long, JSONSchema: map[string]any{"additionalProperties": false}}, {ToolCall: &ToolCallExpect{Name: long}, FinishReason: []metrics.FinishReason{"stop"}}})
	if err != nil {
		t.Fatal(err)
	}
	a := said(`{"` + long + `":1}`)
	a.Finish = metrics.FinishReason(long)
	a.Tools = []ToolCall{{Name: "x"}}
	failures := checks.Judge(a)
	if len(failures) != 3 { // the long text is there, and matches
		t.Errorf("got %d failures: %v", len(failures), failures)
	}
	for _, f := range failures {
		if len(f.Detail) > maxDetailBytes || strings.ToValidUTF8(f.Detail, "") != f.Detail {
			t.Errorf("detail of %d bytes: %q", len(f.Detail), f.Detail)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good.json", `{"type": "object"}`)
	broken := file("broken.json", `{"type": "object"`)
	for name, c := range map[string]struct {
		expect Expect
		want   []string // "" at the end: only the start is compared
	}{
		"everything": {
			Expect{
				Contains: "a", Regex: "b", IgnoreCase: true, JSONSchema: map[string]any{"type": "object"}, JSONSchemaFile: good, MinTokens: 1, MaxTokens: 2,
				FinishReason: []metrics.FinishReason{"stop"}, ToolCall: &ToolCallExpect{}, NoRepetition: true, NoGarbage: true,
			}, nil,
		},
		"nothing":                    {Expect{}, []string{"e: expects nothing: set at least one of contains, regex, json_schema, min_tokens, finish_reason, …"}},
		"only ignore_case":           {Expect{IgnoreCase: true}, []string{"e: expects nothing: set at least one of contains, regex, json_schema, min_tokens, finish_reason, …"}},
		"ignore_case without use":    {Expect{IgnoreCase: true, MinTokens: 1}, []string{"e.ignore_case: is of use with contains or regex only"}},
		"an expression of Perl":      {Expect{Regex: `(?=a)`}, []string{"e.regex: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"}},
		"negative tokens":            {Expect{MinTokens: -1, MaxTokens: -2}, []string{"e.min_tokens: must be > 0, leave the key out if it is not wanted", "e.max_tokens: must be > 0, leave the key out if it is not wanted"}},
		"more at least than at most": {Expect{MinTokens: 3, MaxTokens: 2}, []string{"e.max_tokens: must not be below min_tokens (3), got 2"}},
		"an unknown reason":          {Expect{FinishReason: []metrics.FinishReason{"stopp"}}, []string{`e.finish_reason: unknown finish reason "stopp", use stop, length, tool_calls, content_filter or other`}},
		"a schema that is none":      {Expect{JSONSchema: map[string]any{"type": "objekt"}}, []string{"e.json_schema: ", ""}},
		"a schema from the network":  {Expect{JSONSchema: map[string]any{"$ref": "https://example.net/schema.json"}}, []string{"e.json_schema: ", ""}},
		"a schema from a file":       {Expect{JSONSchema: map[string]any{"$ref": "file://" + good}}, []string{"e.json_schema: ", ""}},
		"a file that is not there":   {Expect{JSONSchemaFile: filepath.Join(folder, "none.json")}, []string{"e.json_schema_file: open " + folder + "/none.json: no such file or directory"}},
		"a file that is no JSON":     {Expect{JSONSchemaFile: broken}, []string{"e.json_schema_file: " + broken + ": ends too early, after 17 bytes"}},
		"arguments without a name":   {Expect{ToolCall: &ToolCallExpect{Arguments: map[string]any{}}}, []string{"e.tool_call: arguments need the name of the tool whose arguments they are"}},
		"arguments that are no schema": {
			Expect{ToolCall: &ToolCallExpect{Name: "a", Arguments: map[string]any{"type": 1}}}, []string{"e.tool_call: arguments: ", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := messages(c.expect.Validate("e"))
			if n := len(c.want); n > 0 && c.want[n-1] == "" {
				if len(got) != 1 || !strings.HasPrefix(got[0], c.want[0]) || len(got[0]) > maxDetailBytes+100 {
					t.Errorf("got %q, want %q", got, c.want[0])
				}
			} else if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			_, err := NewChecks([]Expect{c.expect})
			if wrong := len(c.want) > 0 && !strings.Contains(name, "ignore_case") && name != "nothing" && !strings.HasPrefix(name, "more"); wrong != (err != nil) {
				t.Errorf("NewChecks: %v", err)
			}
		})
	}
}

func TestChecksAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	checks, err := NewChecks([]Expect{{ToolCall: &ToolCallExpect{}}, {NoRepetition: true, NoGarbage: true}})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 300 { // more sets of tools than are kept
				offered := strings.Replace(messagesTools, "weather", "weather"+strings.Repeat("x", i%(maxToolSets+worker+1)), 1)
				a := called(offered, ToolCall{Name: "weather" + strings.Repeat("x", i%(maxToolSets+worker+1)), Arguments: []byte(`{"city":"Paris"}`)})
				if got := checks.Judge(a); got != nil {
					t.Errorf("got %v", got)
				}
			}
		})
	}
	all.Wait()
}

func TestEachCheckHasAKey(t *testing.T) {
	t.Parallel()
	made := map[Check]bool{}
	for i := range makers {
		made[makers[i].check] = true
	}
	for _, check := range AllChecks {
		if !made[check] {
			t.Errorf("nothing makes %s", check)
		}
		delete(made, check)
	}
	if len(made) > 0 {
		t.Errorf("not in the closed list: %v", made)
	}
}
