package workload

import (
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// noText stands in a history for an answer without text, as of a model that only reasoned or only called tools: servers refuse empty
// messages.
const noText = "..."

// say adds messages to what was said before and puts it all into a turn.
func (c *conversation) say(turn *Turn, messages ...prompt.Message) *Turn {
	turn.Prompt.System = c.system
	if len(c.history) == 0 {
		turn.Prompt.Messages = messages
	} else {
		turn.Prompt.Messages = slices.Concat(c.history, messages)
	}
	turn.PreviousID = c.previousID
	if c.asked+1 < c.turns {
		c.asking = messages
		turn.KeepAnswer = true
	}
	return turn
}

// answered takes the turn that was asked and its answer into the history: the text alone, never the reasoning, and calls of tools not at
// all.
func (c *conversation) answered(turn *Turn, end *End, perByte float64) {
	if !turn.KeepAnswer {
		return
	}
	text := noText
	if end.Answer != nil {
		c.previousID = end.Answer.ID
		if len(end.Answer.Text) > 0 {
			text = string(end.Answer.Text)
		}
	}
	said := prompt.TextMessage(prompt.Assistant, text)
	c.history = append(append(c.history, c.asking...), said)
	for i := range c.asking {
		c.bytes += c.asking[i].Size()
	}
	c.bytes += len(text)
	c.asking = nil
	if end.Tokens > 0 {
		c.tokens = int(end.Tokens)
	} else {
		c.tokens += int(perByte * float64(len(text)))
	}
}
