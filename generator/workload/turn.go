package workload

import (
	"encoding/json"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// Turn is one thing to ask.
type Turn struct {
	Prompt prompt.Prompt
	// PromptBytes is the size of the texts that the server counts the tokens of; 0 = its count teaches nothing.
	PromptBytes int
	// InputTokens is the nominal length of the prompt; what the server counts is learned from its usage.
	InputTokens int
	// OutputTokens is the wished length of the answer; 0 = no limit.
	OutputTokens int
	Model        string          // as the recording has it; "" = the target's
	Extra        map[string]any  // for the top level of the body, beyond that of the configuration
	Expect       json.RawMessage // checks of this answer, in the form of the configuration's `expect`; nil = none
	// Session is the same for all turns of a conversation, and no other's: a UUID.
	Session string
	// Parent is the Session of the conversation that began this one as a sub-agent; "" = none did.
	Parent string
	// Index is the place of the turn in its conversation, from 0.
	Index int
	// PreviousID is the server's name of the answer to the turn before.
	PreviousID string
	// KeepAnswer: a later turn repeats the answer, so Done needs its text.
	KeepAnswer bool
	// Fixed tells which of the fixed questions this is, counted from 1; 0 = it is none.
	Fixed int

	conversation *conversation
	textTokens   float64 // of the prompt without the server's template, if a tokenizer has counted them
}

// Pick says which turn an arrival wants.
type Pick struct {
	// Now is the instant of the arrival, in nanoseconds of the caller's clock.
	Now int64
	// User is the number of the user whose conversation goes on, from 1; 0 = whichever is due.
	User uint64
	// Entry is the key of the recorded turn, from Recording.Next; 0 = none.
	Entry uint64
}

// End is what became of a turn.
type End struct {
	Now int64 // in nanoseconds of the caller's clock
	OK  bool  // it was answered, and rightly: the conversation can go on
	// Unsent: it was never asked, so that the conversation asks it at its next opportunity.
	Unsent bool
	// Tokens is what the server counted for prompt and answer together; 0 = it did not tell.
	Tokens int64
	// Answer is what was said, where KeepAnswer asked for it.
	Answer *answer.Transcript
}
