package generator

import (
	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// texts are what was asked and answered, for a tokenizer to count. A nil one counts nothing.
type texts struct {
	count  func(text string) (tokens int, ok bool)
	asked  prompt.Prompt
	answer *answer.Transcript
}

// counts tells whether a tokenizer may have to count, because the last answer has not told its usage or there is none yet. Texts are kept
// only then: where the server tells, a tokenizer costs nothing while answers come in.
func (g *generation) counts() bool { return g.content.Counts() && !g.usageTold.Load() }

// texts are those to count of the turn that is asked; nil = none. Several choices are more than a transcript holds.
func (q *question) texts(wire *endpoint.Turn) *texts {
	if q.transcript == nil || !q.generation.counts() {
		return nil
	}
	if _, several := merged(q.generation.config.Endpoint.Extra, wire.Extra)["n"]; several {
		return nil
	}
	return &texts{count: q.generation.content.Count, asked: q.turn.Prompt, answer: q.transcript}
}

// input is the number of tokens of the texts of the prompt, without the server's template. It is not known where the server makes tokens of
// something else: media, tools, messages and bodies as they were recorded, and rankings, which repeat their query in ways of their own.
func (x *texts) input() (tokens int64, ok bool) {
	if x == nil || x.asked.Payload != nil || x.asked.Tools != nil || len(x.asked.Messages) == 0 {
		return 0, false
	}
	if ok = x.add(&tokens, x.asked.System); !ok {
		return 0, false
	}
	for _, message := range x.asked.Messages {
		if message.Raw != nil {
			return 0, false
		}
		for _, part := range message.Parts {
			if part.Kind != prompt.Text || part.Name != "" || !x.add(&tokens, part.Text) {
				return 0, false
			}
		}
	}
	return tokens, true
}

// output is the number of tokens of the answer, reasoning included. It is not known where tools are called: models write calls in ways of
// their own.
func (x *texts) output() (all, reasoning int64, ok bool) {
	if x == nil || len(x.answer.Tools) > 0 || len(x.answer.Text)+len(x.answer.Reasoning) == 0 {
		return 0, 0, false
	}
	if !x.add(&reasoning, string(x.answer.Reasoning)) {
		return 0, 0, false
	}
	all = reasoning
	return all, reasoning, x.add(&all, string(x.answer.Text))
}

// add adds the tokens of a text.
func (x *texts) add(sum *int64, text string) bool {
	n, ok := x.count(text)
	*sum += int64(n)
	return ok
}
