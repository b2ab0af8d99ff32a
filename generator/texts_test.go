package generator_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const tokenizerFile = "workload/tokenizer/testdata/tokenizer.json"

// counted are texts with their tokens by the Python package.
type counted struct {
	Texts []string
	Kinds []struct{ Counts []int64 } // the first is that of the file
}

func reference(t *testing.T) *counted {
	t.Helper()
	data, err := os.ReadFile("workload/tokenizer/testdata/counts.json")
	if err != nil {
		t.Fatal(err)
	}
	var c counted
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// tellsNothing answers the request of each number with the chunks that answer gives for it, and never with usage.
func tellsNothing(t *testing.T, answer func(number int) string) string {
	t.Helper()
	var mu sync.Mutex
	number := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		chunks := answer(number)
		number++
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, role()+chunks+finish("stop")+done)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// pieces are the chunks of a text, each of a few letters.
func pieces(text string, chunk func(string) string) string {
	var out strings.Builder
	runes := []rune(text)
	for from := 0; from < len(runes); from += 7 {
		out.WriteString(chunk(string(runes[from:min(from+7, len(runes))])))
	}
	return out.String()
}

func withTokenizer(c *generator.TargetConfig) { c.Workload.Tokenizer.File = tokenizerFile }

func TestATokenizerCountsWhatTheServerDoesNotTell(t *testing.T) {
	t.Parallel()
	texts := reference(t)
	tok, err := tokenizer.Load(tokenizerFile)
	if err != nil {
		t.Fatal(err)
	}
	thoughts := len(texts.Texts) - 1 // each answer is thought about by the text that is as far from the end
	url := tellsNothing(t, func(number int) string {
		reasoning := func(s string) string { return thought(s, "reasoning_content") }
		if number > thoughts {
			return content("a")
		}
		return pieces(texts.Texts[thoughts-number], reasoning) + pieces(texts.Texts[number], content)
	})
	r := newRig(t, url, withTokenizer)
	target := r.target(t)
	for range texts.Texts {
		target.Once(t.Context())
	}
	for i, got := range r.records() {
		reasoning := texts.Kinds[0].Counts[thoughts-i]
		output := texts.Kinds[0].Counts[i] + reasoning
		usage := got.record.Usage
		if got.record.OutputSource != metrics.SourceTokenizer || usage.Output != metrics.Tokens(output) || usage.Reasoning.N != reasoning {
			t.Errorf("%q: %+v by %s, want %d tokens, %d of them reasoning", texts.Texts[i], usage, got.record.OutputSource, output, reasoning)
		}
		if !got.record.UsageMissing || got.measures.ITL.Defined != (output > 1) {
			t.Errorf("%q: usage missing %v, inter-token latency %v", texts.Texts[i], got.record.UsageMissing, got.measures.ITL)
		}
		if n := usage.Input.N; got.record.InputSource != metrics.SourceTokenizer || n < 120 || n > 136 {
			t.Errorf("%d input tokens by %s, want about 128", n, got.record.InputSource)
		}
	}
	target.Ask(t.Context(), &workload.Turn{InputTokens: 99, Prompt: prompt.Prompt{System: "Be brief.", Messages: []prompt.Message{
		prompt.TextMessage(prompt.User, "Why?"), prompt.TextMessage(prompt.Assistant, "So."), prompt.TextMessage(prompt.User, "Why not?"),
	}}})
	all := r.records()
	want := int64(tok.Count("Be brief.") + tok.Count("Why?") + tok.Count("So.") + tok.Count("Why not?"))
	if got := all[len(all)-1].record.Usage.Input; got != metrics.Tokens(want) {
		t.Errorf("a conversation has %+v input tokens, want %d", got, want)
	}
}

func TestWhatATokenizerCannotKnowIsEstimated(t *testing.T) {
	t.Parallel()
	ask := func(change func(*prompt.Prompt)) *workload.Turn {
		p := prompt.OfText("hello")
		change(&p)
		return &workload.Turn{InputTokens: 99, Prompt: p}
	}
	keep := func(*prompt.Prompt) {}
	two := ask(keep)
	two.Extra = map[string]any{"n": 2}
	call := chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}`, "null", "")
	for name, test := range map[string]struct {
		turn          *workload.Turn
		chunks        string
		input, output metrics.TokenSource
	}{
		"an image": {ask(func(p *prompt.Prompt) {
			p.Messages[0].Parts = append(p.Messages[0].Parts, prompt.Part{Kind: prompt.Image, URL: "http://x/a.png"})
		}), content("a"), metrics.SourceDataset, metrics.SourceTokenizer},
		"tools": {ask(func(p *prompt.Prompt) { p.Tools = json.RawMessage(`[]`) }), content("a"), metrics.SourceDataset, metrics.SourceTokenizer},
		"a recorded message": {ask(func(p *prompt.Prompt) {
			p.Messages[0] = prompt.Message{Raw: json.RawMessage(`{"role":"user","content":"a"}`)}
		}), content("a"), metrics.SourceDataset, metrics.SourceTokenizer},
		"a call of a tool":    {ask(keep), content("a") + call, metrics.SourceTokenizer, metrics.SourceEvents},
		"an answer of a call": {ask(keep), call, metrics.SourceTokenizer, metrics.SourceEvents},
		"two choices":         {two, content("a"), metrics.SourceDataset, metrics.SourceEvents},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tellsNothing(t, func(int) string { return test.chunks }), withTokenizer)
			r.target(t).Ask(t.Context(), test.turn)
			got := r.records()[0].record
			if got.Outcome != metrics.Success || got.InputSource != test.input || got.OutputSource != test.output {
				t.Errorf("%s, input by %s, output by %s, want %s and %s", got.Detail, got.InputSource, got.OutputSource, test.input, test.output)
			}
		})
	}
}

func TestTheServersCountComesFirst(t *testing.T) {
	t.Parallel()
	url := tellsNothing(t, func(number int) string {
		if number%3 == 0 {
			return content("a b c") + usage(77, 55)
		}
		return content("a b c")
	})
	r := newRig(t, url, withTokenizer)
	target := r.target(t)
	for range 5 {
		target.Once(t.Context())
	}
	var got []metrics.TokenSource
	for _, o := range r.records() {
		got = append(got, o.record.OutputSource)
	}
	// The text of an answer is kept as long as the one before has told nothing.
	for i, want := range []metrics.TokenSource{metrics.SourceUsage, metrics.SourceEvents, metrics.SourceTokenizer, metrics.SourceUsage, metrics.SourceEvents} {
		if got[i] != want {
			t.Errorf("answer %d is counted by %s, want %s", i, got[i], want)
		}
	}
}
