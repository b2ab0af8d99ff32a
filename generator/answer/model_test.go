package answer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// model is an imaginary server: each context has a fixed distribution over a small vocabulary, which everything that can change about a
// real server moves in its way.
type model struct {
	weights  uint64  // other weights
	template string  // what stands around the prompt
	error    float64 // of quantisation: how far it moves a logit, standard deviation in nats
	grain    float64 // logits are multiples of it; 0 = of nothing

	noise       float64 // of batches: how far a logit moves from request to request; with grain, how often it moves by one step
	temperature float64
	logprobs    bool
	length      int

	known map[string][]float64 // logits before the noise, by context; nil = not kept
}

const (
	modelVocabulary = 40
	modelTops       = 5
)

// answer lets the model answer; random is what differs from request to request.
func (m model) answer(prompt string, random *rand.Rand) *Transcript {
	t := &Transcript{}
	context := m.template + prompt
	for range m.length {
		logits := m.logits(context, random)
		token := m.choose(logits, random)
		name := fmt.Sprintf(" w%d", token)
		if m.logprobs {
			t.Logprobs = append(t.Logprobs, logprob(name, token, logits))
		}
		t.Text = append(t.Text, name...)
		context += name
	}
	return t
}

func (m model) logits(context string, random *rand.Rand) []float64 {
	out := slices.Clone(m.quiet(context))
	for i := range out {
		switch {
		case m.grain == 0:
			out[i] += m.noise * random.NormFloat64()
		case random.Float64() < m.noise:
			out[i] += m.grain
		}
	}
	return out
}

func (m model) quiet(context string) []float64 {
	if known := m.known[context]; known != nil {
		return known
	}
	fixed := rand.New(rand.NewPCG(m.weights, contextHash(context)))
	moved := rand.New(rand.NewPCG(math.Float64bits(m.error), contextHash(context)))
	out := make([]float64, modelVocabulary)
	for i := range out {
		out[i] = 3*fixed.NormFloat64() + m.error*moved.NormFloat64()
		if m.grain > 0 {
			out[i] = math.Round(out[i]/m.grain) * m.grain
		}
	}
	if m.known != nil {
		m.known[context] = out
	}
	return out
}

// choose takes the first of the likeliest, as servers do, or draws.
func (m model) choose(logits []float64, random *rand.Rand) int {
	if m.temperature == 0 {
		return slices.Index(logits, slices.Max(logits))
	}
	drawn := slices.Clone(logits)
	for i := range drawn {
		drawn[i] += m.temperature * -math.Log(-math.Log(random.Float64()))
	}
	return slices.Index(drawn, slices.Max(drawn))
}

func logprob(name string, token int, logits []float64) Logprob {
	var sum float64
	for _, l := range logits {
		sum += math.Exp(l)
	}
	log := math.Log(sum)
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	l := Logprob{Token: name, Value: logits[token] - log}
	for _, i := range order[:modelTops] {
		l.Top = append(l.Top, Alternative{fmt.Sprintf(" w%d", i), logits[i] - log})
	}
	return l
}

func contextHash(context string) uint64 {
	c := chain{h: chainStart}
	for _, r := range context {
		c.next(uint64(r))
	}
	return c.h ^ c.h>>29
}

// modelQuestions are as many fixed prompts as a user would write.
func modelQuestions() []string {
	return strings.Split("capital of France;count to ten;a poem;heat pumps;good morning in German;three primes;fibonacci;the sky", ";")
}
