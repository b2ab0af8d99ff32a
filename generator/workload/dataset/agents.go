package dataset

import "time"

// call is one request of a recorded agent, as the formats that record agents have it.
type call struct {
	at, took time.Duration // when it was asked, and how long the answer took
	think    time.Duration // the recorded pause before it, -1 = not told
	input    int           // tokens
	output   int
	ids      []uint64 // of the blocks of the whole prompt
	line     int
}

// conversation makes the rows of the calls of one agent. Each prompt is made anew from its blocks, live answers are not put into it. What it
// has in common with the prompt before it are the messages of that one, the rest is a message of its own; where it has less in common, the
// agent has dropped some of its context, the later messages are gone.
func (c *settings) conversation(session, file string, calls []call, blockSize int) Conversation {
	out := Conversation{Session: session, Rows: make([]Row, len(calls))}
	var splits []int
	for i := range calls {
		call := &calls[i]
		row := &out.Rows[i]
		*row = Row{
			Session: session, At: call.at, HasAt: true, SelfContained: true, File: file, Line: call.line,
			InputTokens: max(call.input, 1), OutputTokens: max(call.output, 1), HashIDs: call.ids, BlockSize: blockSize,
		}
		if i > 0 {
			before := &calls[i-1]
			row.Delay = max(0, call.at-before.at-before.took)
			if c.ThinkTimeOnly && call.think >= 0 {
				row.Delay = call.think
			}
			splits = cuts(splits, common(before.ids, call.ids), len(call.ids), row.InputTokens > len(call.ids)*blockSize)
			row.Splits = splits
		}
	}
	return out
}

// tolerance is for instants that were rounded on their way into the file.
const tolerance = time.Microsecond

// common is how many ids two lists begin with in common.
func common(a, b []uint64) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// cuts gives the places where the messages of a prompt of so many blocks, and maybe a rest, end, if it has kept blocks in common with the
// prompt whose places are given.
func cuts(before []int, kept, blocks int, rest bool) []int {
	var out []int
	for _, place := range before {
		if place < kept {
			out = append(out, place)
		}
	}
	if kept > 0 && (kept < blocks || rest) {
		out = append(out, kept)
	}
	return out
}

// shift makes everything happen later.
func (c *Conversation) shift(by time.Duration) {
	for i := range c.Rows {
		c.Rows[i].At += by
		for j := range c.Rows[i].Agents {
			c.Rows[i].Agents[j].shift(by)
		}
	}
}

// begin makes the conversation of an agent begin behind the row that was asked last before it began, and makes the first row behind its
// end wait for it. False: nothing was asked before it. The calls are those of the rows of c.
func (c *Conversation) begin(agent Conversation, calls []call, until time.Duration, last int) bool {
	if last < 0 || len(agent.Rows) == 0 {
		return false
	}
	agent.Rows[0].Delay = max(0, agent.Rows[0].At-calls[last].at-calls[last].took)
	c.Rows[last].Agents = append(c.Rows[last].Agents, agent)
	for i := last + 1; i < len(calls); i++ {
		if calls[i].at+tolerance >= until {
			c.Rows[i].Joins = append(c.Rows[i].Joins, agent.Session)
			break
		}
	}
	return true
}
