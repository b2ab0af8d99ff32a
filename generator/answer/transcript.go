// Package answer is what came back, in terms that no wire protocol owns, and what may be expected of it: checks of each answer, and
// whether fixed questions are still answered as they were.
package answer

// Transcript is what an answer says, for those who have to look at it: the next turn of a conversation, and checks. It is not kept longer
// than that, and never logged.
type Transcript struct {
	// ID is the server's name of the answer, by which a later turn can refer to it.
	ID string
	// Text is the answer without reasoning, of the first choice. Reasoning is kept apart, so that a later turn repeats the answer only.
	Text, Reasoning []byte
	Tools           []ToolCall
	// Logprobs are those of the tokens of the answer, where the server tells them.
	Logprobs []Logprob
}

// ToolCall is a call that the model wants.
type ToolCall struct {
	ID, Name  string
	Arguments []byte // as generated, JSON if the model is right
}

// Logprob is the natural log-probability of a generated token, and those of the tokens that were likeliest in its place.
type Logprob struct {
	Token string
	Value float64
	Top   []Alternative // best first; nil = not told
}

// Alternative is a token that could have been generated.
type Alternative struct {
	Token string
	Value float64
}
