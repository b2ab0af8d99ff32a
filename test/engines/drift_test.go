//go:build engines

package engines

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// questions are fixed prompts as a user would write them.
var questions = []string{
	"What is the capital of France?",
	"Count from one to ten.",
	"Write a short poem about the sea.",
	"Explain how a heat pump works in simple words, and when it pays off.",
	"Translate 'good morning' to German.",
	"List three primes.",
	"def fibonacci(n):",
	"Why is the sky blue? Answer in two sentences, without any formula, so that a child understands it.",
}

const (
	learned = 5   // answers to each question before the first comparison, the default
	repeats = 200 // answers to each question of a server that has not changed
	beside  = 3   // other clients in the server's batches
)

// seen is what must show that a server has changed.
type seen int

const (
	byNothing       seen = iota // it has not
	byProbabilities             // the text may show it or not
	byText                      // and by log-probabilities
)

// variants are servers that would not tell that they have changed.
var variants = []struct {
	name, model string
	arguments   []string
	seen        seen
}{
	{"the same server once more", "model/tiny.gguf", nil, byNothing},
	{"other weights", "variants/weights.gguf", nil, byText},
	{"a space in the chat template", "model/tiny.gguf", []string{"--jinja", "--chat-template-file", cache + "variants/template.jinja"}, byText},
	{"another chat template", "model/tiny.gguf", []string{"--chat-template", "chatml"}, byText},
	{"16 bits", "variants/bf16.gguf", nil, byProbabilities},
	{"8 bits", "variants/q8_0.gguf", nil, byText},
	{"5 bits", "variants/q5_0.gguf", nil, byText},
	{"4 bits", "variants/q4_0.gguf", nil, byText},
	{"a cache of keys and values with 8 bits", "model/tiny.gguf", []string{"-ctk", "q8_0", "-ctv", "q8_0", "-fa", "on"}, byProbabilities},
	{"weights that only say !", "variants/broken.gguf", nil, byText},
}

func TestSilentChangesShowWithinOneProbe(t *testing.T) {
	t.Run("llama", func(t *testing.T) {
		folder := t.TempDir()
		prints := newPrints(t, folder)
		unchanged(t, prints)
		for _, v := range variants {
			t.Run(v.name, func(t *testing.T) {
				probed(t, newPrints(t, folder), v.model, v.arguments, v.seen)
			})
		}
	})
}

// prints are fingerprints of the same answers: with their log-probabilities, and by the text alone.
type prints struct{ full, text *answer.Fingerprint }

func newPrints(t *testing.T, folder string) prints {
	t.Helper()
	load := func(name string) *answer.Fingerprint {
		config := answer.DefaultFingerprintConfig()
		config.Enabled, config.BaselineFile = true, filepath.Join(folder, name)
		f, err := answer.NewFingerprint(&config, questions)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	return prints{load("full.json"), load("text.json")}
}

// tally counts results, and keeps the extremes.
type tally struct {
	results  map[answer.Result]int
	matched  float64
	distance float64
}

func (c *tally) add(d answer.Drift) {
	if c.results == nil {
		c.results, c.matched = map[answer.Result]int{}, 1
	}
	c.results[d.Result]++
	c.matched = min(c.matched, d.Matched)
	if d.Distance > c.distance { // NaN is not
		c.distance = d.Distance
	}
}

func (c *tally) String() string {
	return fmt.Sprintf("%v, %.2f of the text matched at least, %.4f nats at most", c.results, c.matched, c.distance)
}

// probe asks each question once, all together or one after the other, and counts what both fingerprints say.
func (p *prints) probe(t *testing.T, c *talker, together bool, full, text *tally) {
	t.Helper()
	answers := make([]*answer.Transcript, len(questions))
	var all sync.WaitGroup
	for i, question := range questions {
		all.Go(func() {
			transcript, err := c.ask(t.Context(), question, 64, true)
			if err != nil {
				t.Error(err)
			}
			answers[i] = transcript
		})
		if !together {
			all.Wait()
		}
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	note := func(f *answer.Fingerprint, question int, transcript *answer.Transcript, into *tally) {
		drift, err := f.Note(question, transcript)
		if err != nil {
			t.Fatal(err)
		}
		into.add(drift)
	}
	for i, transcript := range answers {
		if failures := c.checks.Judge(&answer.Answer{Transcript: transcript}); len(failures) > 0 {
			c.failures++
		}
		note(p.full, i+1, transcript, full)
		transcript.Logprobs = nil
		note(p.text, i+1, transcript, text)
	}
}

// unchanged learns from a server that has nothing else to do and compares with it when it is busy.
func unchanged(t *testing.T, p prints) {
	t.Helper()
	c := talk(t, startEngine(t, variant("model/tiny.gguf", nil)))
	for range learned {
		p.probe(t, c, false, &tally{}, &tally{})
	}
	others, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range beside {
		all.Go(func() { c.chat(others, uint64(i)) })
	}
	var full, text tally
	began := time.Now()
	for range repeats {
		p.probe(t, c, true, &full, &text)
	}
	stop()
	all.Wait()
	t.Logf("%d repeats of %d questions in %v, with %d clients beside: with log-probabilities %v; by text %v",
		repeats, len(questions), time.Since(began).Round(time.Second), beside, &full, &text)
	want := repeats * len(questions)
	if full.results[answer.Same] != want || text.results[answer.Same] != want {
		t.Errorf("want %d times the same", want)
	}
	if c.failures > 0 {
		t.Errorf("%d healthy answers are said to be loops or garbage", c.failures)
	}
}

// probed compares one probe of a server with the baselines.
func probed(t *testing.T, p prints, model string, arguments []string, want seen) {
	t.Helper()
	c := talk(t, startEngine(t, variant(model, arguments)))
	var full, text tally
	p.probe(t, c, false, &full, &text)
	t.Logf("with log-probabilities %v; by text %v; %d loops or garbage", &full, &text, c.failures)
	if changed := full.results[answer.Changed] > 0; changed != (want >= byProbabilities) {
		t.Errorf("with log-probabilities: changed is %v", changed)
	}
	if changed := text.results[answer.Changed] > 0; changed != (want == byText) && want != byProbabilities {
		t.Errorf("by text: changed is %v", changed)
	}
	if broken := strings.HasSuffix(model, "broken.gguf"); broken && c.failures != len(questions) {
		t.Errorf("%d of %d broken answers are said to be broken", c.failures, len(questions))
	}
}

// variant is llama.cpp's server with another model or other arguments.
func variant(model string, arguments []string) engine {
	e := enginesByName["llama"]
	e.arguments = func(host, port string) []string {
		return append([]string{"--model", cache + model, "--alias", "tiny", "--host", host, "--port", port, "--parallel", "4", "--ctx-size", "8192", "--threads", "1"}, arguments...)
	}
	return e
}

// talker asks a server in the words of the chat protocol.
type talker struct {
	url    string
	codec  endpoint.Codec
	checks *answer.Checks

	failures int // answers that are loops or garbage
}

func talk(t *testing.T, url string) *talker {
	t.Helper()
	config := endpoint.DefaultConfig()
	config.Type = endpoint.Chat
	codec, err := endpoint.New(config)
	if err != nil {
		t.Fatal(err)
	}
	checks, err := answer.NewChecks([]answer.Expect{{NoRepetition: true, NoGarbage: true}})
	if err != nil {
		t.Fatal(err)
	}
	return &talker{url: url + codec.Path("tiny", false), codec: codec, checks: checks}
}

// chat asks for anything until ctx ends.
func (c *talker) chat(ctx context.Context, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	for ctx.Err() == nil {
		words := make([]string, 1+random.IntN(40))
		for i := range words {
			words[i] = fmt.Sprint(random.IntN(1000))
		}
		_, _ = c.ask(ctx, strings.Join(words, " "), 5+random.IntN(75), false) // whatever comes
	}
}

func (c *talker) ask(ctx context.Context, question string, tokens int, logprobs bool) (*answer.Transcript, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	p := prompt.OfText(question)
	turn := endpoint.Turn{Model: "tiny", Prompt: &p, MaxOutputTokens: tokens, Extra: map[string]any{"temperature": 0}}
	if logprobs {
		turn.Extra["logprobs"], turn.Extra["top_logprobs"] = true, 5
	}
	body, contentType, err := c.codec.Encode(nil, &turn)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	transcript := &answer.Transcript{}
	var chunk endpoint.Chunk
	if err := c.codec.Decoder(transcript).Body(content, &chunk); err != nil {
		return nil, fmt.Errorf("status %d: %w", response.StatusCode, err)
	}
	if chunk.Err != nil {
		return nil, fmt.Errorf("status %d: %s", response.StatusCode, chunk.Err.Message)
	}
	if chunk.Finish != metrics.FinishLength {
		return nil, fmt.Errorf("ended with %q", chunk.Finish)
	}
	return transcript, nil
}
