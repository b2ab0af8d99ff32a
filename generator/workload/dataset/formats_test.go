package dataset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

const ms = time.Millisecond

// told is a row without its place.
type told = dataset.Row

// talk is a conversation.
type talk = dataset.Conversation

func config(format dataset.Format, file string) *dataset.Config {
	c := dataset.DefaultConfig()
	c.Format, c.File = format, file
	return &c
}

// everything reads all conversations of a file in its order, twice: the second pass must give the same.
func everything(t *testing.T, c *dataset.Config) []talk {
	t.Helper()
	if errs := c.Validate("dataset"); len(errs) > 0 {
		t.Fatal(errs)
	}
	summary, errs := dataset.Check(c, 10)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	d, err := dataset.Open(c, dataset.Options{OnSkip: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	var passes [2][]talk
	for i := range passes {
		for range summary.Conversations {
			conversation, err := d.Next()
			if err != nil {
				t.Fatal(err)
			}
			passes[i] = append(passes[i], *conversation)
		}
	}
	if diff := cmp.Diff(passes[0], passes[1]); diff != "" {
		t.Errorf("the second pass differs (-first +second):\n%s", diff)
	}
	return passes[0]
}

// placeless compares conversations without where their rows stand.
func placeless() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool {
		name := p.Last().String()
		return name == ".File" || name == ".Line"
	}, cmp.Ignore())
}

func said(texts ...string) prompt.Prompt {
	m := prompt.Message{Role: prompt.User}
	for _, text := range texts {
		m.Parts = append(m.Parts, prompt.Part{Text: text})
	}
	return prompt.Prompt{Messages: []prompt.Message{m}}
}

func parts(list ...prompt.Part) prompt.Prompt {
	return prompt.Prompt{Messages: []prompt.Message{{Role: prompt.User, Parts: list}}}
}

func by(role prompt.Role, texts ...string) prompt.Prompt {
	p := said(texts...)
	p.Messages[0].Role = role
	return p
}

func under(system string, p prompt.Prompt) prompt.Prompt {
	p.System = system
	return p
}

func picture(url, id string) prompt.Part { return prompt.Part{Kind: prompt.Image, URL: url, ID: id} }

func file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEachFormatGivesWhatItsFileSays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format dataset.Format
		file   string
		want   func(t *testing.T) []talk
	}{
		{dataset.SingleTurn, "good/single_turn.jsonl", singleTurns},
		{dataset.MultiTurn, "good/multi_turn.jsonl", multiTurns},
		{dataset.MooncakeTrace, "good/mooncake_trace.jsonl", mooncake},
		{dataset.BailianTrace, "good/bailian_trace.jsonl", bailian},
		{dataset.BurstGPTTrace, "good/burst_gpt_trace.csv", burst},
		{dataset.RawPayload, "good/raw_payload.jsonl", bodies},
		{dataset.RawPayload, "bodies", foldersOfBodies},
		{dataset.InputsJSON, "good/inputs_json.json", inputs},
		{dataset.ShareGPT, "good/sharegpt.json", shareGPT},
		{dataset.SpeedBench, "good/speed_bench.jsonl", speedBench},
		{dataset.RandomPool, "good/random_pool.jsonl", pool},
		{dataset.RandomPool, "pool", pools},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			got := everything(t, config(test.format, filepath.Join("testdata", test.file)))
			if diff := cmp.Diff(test.want(t), got, placeless()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// standing makes conversations of one row that stand alone and know nothing of each other.
func standing(rows ...told) []talk {
	out := make([]talk, len(rows))
	for i := range rows {
		rows[i].SelfContained = true
		out[i] = talk{Rows: rows[i : i+1]}
	}
	return out
}

func singleTurns(t *testing.T) []talk {
	t.Helper()
	first := by("developer", "First.", "Second.")
	pair := []told{
		{Session: "s1", SelfContained: true, Prompt: said("One")},
		{Session: "s1", SelfContained: true, Prompt: said("Two"), Delay: 250 * ms, Expect: json.RawMessage(`{"contains":"2"}`)},
	}
	out := standing(
		told{Prompt: said("Name three rivers."), OutputTokens: 24, Extra: map[string]any{"temperature": json.Number("0"), "seed": json.Number("9007199254740993")}},
		told{Prompt: first, HasAt: true, At: 1500500 * time.Microsecond},
	)
	out = append(out, talk{Session: "s1", Rows: pair})
	return append(out, standing(
		told{Prompt: said("between")},
		told{Prompt: parts(prompt.Part{Text: "Look."}, picture("https://example.com/a.png", ""), picture("data:image/png;base64,QUJD", ""),
			prompt.Part{Kind: prompt.Image, MediaType: "image/png", Data: file(t, "good/media/dot.png")})},
		told{Prompt: parts(picture("https://example.com/b.png", "u1"), picture("", "u2"))},
		told{Prompt: parts(picture("", "u3"))},
		told{Prompt: parts(prompt.Part{Kind: prompt.Audio, MediaType: "audio/wav", Data: append(file(t, "good/media/tone.wav")[:0:0], wav(4)...), Seconds: 4. / 16000})},
		told{Prompt: parts(
			prompt.Part{Kind: prompt.Audio, MediaType: "audio/wav", Data: file(t, "good/media/tone.wav"), Seconds: .1},
			prompt.Part{Kind: prompt.Video, Name: "clip", URL: "https://example.com/v.mp4"},
		)},
		told{Prompt: parts(prompt.Part{Name: "query", Text: "q"}, prompt.Part{Name: "passages", Text: "p1"}, prompt.Part{Name: "passages", Text: "p2"},
			prompt.Part{Text: "plain"})},
		told{Prompt: parts(prompt.Part{Text: "t"}, picture("https://example.com/c.png", "u4"), picture("", "u5"))},
		told{Prompt: said("a \"quoted\" \\ café 😀"), HasAt: true},
	)...)
}

// wav is a sound of 8 kHz and 16 bit with this many bytes of silence.
func wav(silence byte) []byte {
	head := []byte("RIFF\x28\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data")
	return append(append(head, silence, 0, 0, 0), make([]byte, silence)...)
}

func multiTurns(*testing.T) []talk {
	withImage := parts(prompt.Part{Text: "a"}, picture("https://example.com/a.png", ""))
	withImage.Messages[0].Role = prompt.System
	return []talk{
		{Session: "a1", Rows: []told{
			{Session: "a1", Prompt: under("Be short.", said("Hi"))},
			{Session: "a1", Prompt: under("Be short.", said("And why?")), Delay: 800 * ms},
			{Session: "a1", Prompt: by(prompt.System, "Be long.")},
			{Session: "a1", Prompt: said("More."), OutputTokens: 7},
		}},
		{Rows: []told{{Prompt: said("alone")}}},
		{Session: "multi_turn.jsonl:3", Rows: []told{
			{Session: "multi_turn.jsonl:3", Prompt: said("no name")},
			{Session: "multi_turn.jsonl:3", Prompt: said("two turns")},
		}},
		{Session: "two-systems", Rows: []told{
			{Session: "two-systems", Prompt: by(prompt.System, "a")},
			{Session: "two-systems", Prompt: by(prompt.System, "b")},
			{Session: "two-systems", Prompt: said("c")},
		}},
		{Session: "only-system", Rows: []told{{Session: "only-system", Prompt: by(prompt.System, "a")}}},
		{Session: "system-with-image", Rows: []told{
			{Session: "system-with-image", Prompt: withImage},
			{Session: "system-with-image", Prompt: said("b")},
		}},
		{Session: "system-with-limit", Rows: []told{
			{Session: "system-with-limit", Prompt: by(prompt.System, "a"), OutputTokens: 5},
			{Session: "system-with-limit", Prompt: said("b")},
		}},
		{Session: "two-texts", Rows: []told{{Session: "two-texts", Prompt: under("a\nb", said("c"))}}},
	}
}

func mooncake(*testing.T) []talk {
	hashed := func(session string, length int, whole bool, delay time.Duration, ids ...uint64) told {
		out := told{Session: session, InputTokens: length, SelfContained: whole, Delay: delay, HashIDs: ids}
		if ids != nil {
			out.BlockSize = 512
		}
		return out
	}
	first, second := hashed("", 1100, false, 0, 11, 12, 13), hashed("", 1536, false, 0, 11, 12, 14)
	first.At, first.HasAt, first.OutputTokens = 1500*ms, true, 60
	second.At, second.HasAt, second.OutputTokens = 1000*ms, true, 1
	return []talk{
		{Rows: []told{first}},
		{Rows: []told{second}},
		{Rows: []told{hashed("", 600, false, 0, 1<<64-1)}},
		{Rows: []told{{Prompt: said("How deep is the sea?"), OutputTokens: 4}}},
		{Rows: []told{{
			SelfContained: true, OutputTokens: 8, Extra: map[string]any{"top_p": json.Number("0.5")},
			Prompt: prompt.Prompt{
				Messages: []prompt.Message{
					{Raw: json.RawMessage(`{"role":"system","content":"s"}`)},
					{Raw: json.RawMessage(`{"role":"user","content":[{"type":"text","text":"u"}]}`)},
				},
				Tools: json.RawMessage(`[{"type":"function","function":{"name":"f"}}]`),
			},
		}}},
		{Rows: []told{{
			SelfContained: true, HasAt: true, At: time.Second, Model: "m", OutputTokens: 50, PayloadStream: true,
			Prompt: prompt.Prompt{Payload: []byte(`{"model":"m","prompt":"Hello","max_tokens":50,"stream":true}`)},
		}}},
		{Session: "whole", Rows: []told{hashed("whole", 512, true, 0, 1), hashed("whole", 1000, true, 40*ms, 1, 3)}},
		{Session: "delta", Rows: []told{hashed("delta", 512, true, 0, 2), hashed("delta", 100, false, 2500*time.Microsecond)}},
	}
}

func bailian(*testing.T) []talk {
	row := func(session string, at time.Duration, input, output int, ids ...uint64) told {
		return told{
			Session: session, At: at, HasAt: true, InputTokens: input, OutputTokens: output, HashIDs: ids, BlockSize: 16, SelfContained: true,
		}
	}
	return []talk{
		{Session: "7", Rows: []told{
			row("7", 3250*ms, 40, 12, 5, 6, 7),
			row("7", 5000001*time.Microsecond, 70, 3, 5, 6, 7, 8),
			row("7", 7000*ms, 95, 5), // by its turn before the one that it follows
			row("7", 6000*ms, 90, 4),
		}},
		{Session: "8", Rows: []told{row("8", 3500*ms, 16, 1, 9)}},
		{Session: "10", Rows: []told{row("10", 4000*ms, 80, 2, 5, 6, 7, 8)}}, // its parent stands behind it
		{Session: "13", Rows: []told{row("13", 8000*ms, 5, 6)}},
		{Session: "14", Rows: []told{row("14", 9000*ms, 5, 7)}},
	}
}

func burst(*testing.T) []talk {
	return []talk{
		{Rows: []told{{HasAt: true, At: 12500 * ms, InputTokens: 300, OutputTokens: 45}}},
		{Rows: []told{{HasAt: true, At: 14250 * ms, InputTokens: 20, OutputTokens: 5}}},
	}
}

func bodies(*testing.T) []talk {
	return standing(
		told{Model: "m1", OutputTokens: 4, PayloadStream: true, Prompt: prompt.Prompt{
			Payload: []byte(`{"model":"m1", "messages":[{"role":"user","content":"ping"}], "max_tokens":4, "stream":true}`),
		}},
		told{Prompt: prompt.Prompt{Payload: []byte(`{"messages":[]}`)}},
	)
}

func foldersOfBodies(t *testing.T) []talk {
	t.Helper()
	b := talk{Session: "b"}
	for _, c := range bodies(t) {
		c.Rows[0].Session = "b"
		b.Rows = append(b.Rows, c.Rows[0])
	}
	return []talk{
		{Session: "a", Rows: []told{{Session: "a", SelfContained: true, OutputTokens: 2, Prompt: prompt.Prompt{
			Payload: []byte(`{"messages":[{"role":"user","content":"first file"}],"max_completion_tokens":2}`),
		}}}},
		b,
	}
}

func inputs(*testing.T) []talk {
	return []talk{
		{Session: "i1", Rows: []told{
			{Session: "i1", SelfContained: true, OutputTokens: 3, Prompt: prompt.Prompt{Payload: []byte(`{"messages": [], "max_tokens": 3}`)}},
			{Session: "i1", SelfContained: true, Prompt: prompt.Prompt{Payload: []byte(`{"messages": [{"role": "user", "content": "]}"}]}`)}},
		}},
		{Rows: []told{{SelfContained: true, PayloadStream: true, Prompt: prompt.Prompt{Payload: []byte(`{"prompt": "of an older tool", "stream": true}`)}}}},
	}
}

func shareGPT(*testing.T) []talk {
	return []talk{
		{Session: "c1", Rows: []told{
			{Session: "c1", Prompt: said("What is dew, really?"), InputTokens: 5, OutputTokens: 12},
			{Session: "c1", Prompt: said("And what is frost?"), InputTokens: 5, OutputTokens: 8},
		}},
		{Session: "odd", Rows: []told{{Session: "odd", Prompt: said("Asked twice, with answer"), InputTokens: 6, OutputTokens: 5}}},
		{Session: "nameless", Rows: []told{{Session: "nameless", Prompt: said("Whoever asks this here"), InputTokens: 6, OutputTokens: 6}}},
	}
}

func speedBench(*testing.T) []talk {
	const id = "0123456789abcdef0123456789abcdef"
	return []talk{{Session: id, Rows: []told{
		{Session: id, Prompt: by(prompt.System, "Be terse.")},
		{Session: id, Prompt: said("Sort a list.")},
	}}}
}

func pool(*testing.T) []talk { return standing(told{Prompt: said("Best pump for cold water?")}) }

func pools(*testing.T) []talk {
	merged := told{OutputTokens: 9, Prompt: parts(
		prompt.Part{Name: prompt.Passages, Text: "Pumps."}, prompt.Part{Name: prompt.Passages, Text: "Water."},
		prompt.Part{Name: prompt.Query, Text: "and this"}, prompt.Part{Name: prompt.Query, Text: "Best pump for cold water?"},
		prompt.Part{Kind: prompt.Image, Name: "pictures", URL: "https://example.com/p.png"},
	)}
	return standing(merged, merged, merged) // there are three rows to draw
}
