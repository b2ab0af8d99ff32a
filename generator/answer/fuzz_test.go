package answer

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func FuzzJudge(f *testing.F) {
	checks, err := NewChecks([]Expect{{
		Contains: "é", Regex: "(a|b)*c", IgnoreCase: true, MinTokens: 1, FinishReason: []metrics.FinishReason{"stop"}, NoRepetition: true, NoGarbage: true,
		JSONSchema: map[string]any{"$defs": map[string]any{"n": map[string]any{"type": []any{"object", "number"}, "minimum": 0.5, "additionalProperties": map[string]any{"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"},
		ToolCall:   &ToolCallExpect{},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("ok"), []byte("thinking"), "weather", []byte(`{"city":"Paris"}`), []byte(chatTools))
	f.Add([]byte(`{"a":{"b":1e9}}`), []byte("!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"), "", []byte(`[`), []byte(messagesTools))
	f.Add([]byte("\xff\xfe the the the the the"), []byte(nil), "now", []byte(``), []byte(`[{"name":"now","parameters":{"$ref":"#"}}]`))
	f.Fuzz(func(t *testing.T, text, reasoning []byte, name string, arguments, offered []byte) {
		a := &Answer{
			Transcript: &Transcript{Text: text, Reasoning: reasoning, Tools: []ToolCall{{Name: name, Arguments: arguments}}}, Offered: offered,
		}
		first := checks.Judge(a)
		for _, failure := range first {
			if failure.Detail == "" || len(failure.Detail) > maxDetailBytes {
				t.Errorf("detail %q", failure.Detail)
			}
		}
		if diff := cmp.Diff(first, checks.Judge(a)); diff != "" {
			t.Errorf("judged again:\n%s", diff)
		}
	})
}

func FuzzParseExpect(f *testing.F) {
	for _, raw := range []string{
		`{"contains": "ok", "ignore_case": true}`, `[{"regex": "a+"}]`, `{"json_schema": {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [true]}}}}`,
		`{"tool_call": {"name": "a", "arguments": {"type": "object"}}, "finish_reason": ["stop"]}`, `null`, `{"json_schema": {"$ref": "https://example.net/"}}`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := ParseExpect(raw)
		if err != nil {
			return
		}
		if _, err = NewChecks(entries); err != nil {
			t.Errorf("is valid and cannot be made: %v", err)
		}
		text, err := json.Marshal(entries)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text) {
			t.Errorf("cannot be written: %s", text)
		}
	})
}

func FuzzBaseline(f *testing.F) {
	b := baseline{}
	s := sketchOf(model{length: 3, logprobs: true}.answer("a", newRandom(1)))
	b.start(&s)
	raw, err := json.Marshal(baselineFile{Version: baselineVersion, Questions: map[string]questionRecord{questionKey("a"): b.record()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"version": 1, "questions": {"a": {"answers": 5, "agreed": 1, "text": "AAA=", "tokens": [{"token": 1, "ranked": 1, "tops": [{"token": 1, "logprob": -1e308}]}]}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		known, err := decodeBaselines(raw)
		if err != nil {
			return
		}
		for key, b := range known {
			fingerprint := &Fingerprint{config: DefaultFingerprintConfig(), keys: []string{key}, baselines: []baseline{b}}
			fingerprint.config.Answers = 2
			drift, err := fingerprint.Note(1, &Transcript{Text: []byte("a"), Logprobs: []Logprob{{Token: "a", Value: -1}}})
			if err != nil || math.IsNaN(drift.Matched) || drift.Matched < 0 || drift.Matched > 1 {
				t.Errorf("got %v, %v", drift, err)
			}
			// What is written is what was read.
			again, err := json.Marshal(baselineFile{Version: baselineVersion, Questions: map[string]questionRecord{key: b.record()}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decodeBaselines(again); err != nil {
				t.Errorf("cannot be read again: %v\n%s", err, again)
			}
		}
	})
}
