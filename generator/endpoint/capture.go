package endpoint

import (
	"slices"
	"strconv"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
)

// keeper puts what an answer says into a transcript. It reads each event a second time, after a decoder has found it to be the protocol, so
// that answers that nobody looks at cost nothing.
type keeper struct {
	to    *answer.Transcript
	calls []int64 // how the server numbers each call of to.Tools
}

// legacyCall is the number of the one call of the form before tool_calls.
const legacyCall = -1

// identify notes how the server calls the answer.
func (k *keeper) identify(id text) {
	if k.to.ID == "" && !id.empty() {
		k.to.ID = id.decode()
	}
}

func (k *keeper) text(t text)      { k.to.Text = t.appendTo(k.to.Text) }
func (k *keeper) reasoning(t text) { k.to.Reasoning = t.appendTo(k.to.Reasoning) }

// call finds the call with this number, or begins it.
func (k *keeper) call(number int64) *answer.ToolCall {
	if i := slices.Index(k.calls, number); i >= 0 {
		return &k.to.Tools[i]
	}
	return k.newCall(number)
}

func (k *keeper) newCall(number int64) *answer.ToolCall {
	k.calls = append(k.calls, number)
	k.to.Tools = append(k.to.Tools, answer.ToolCall{})
	return &k.to.Tools[len(k.to.Tools)-1]
}

// fragment is what one event says about a call.
type fragment struct {
	id, name, arguments text
	object              []byte // arguments that are no string but what the string should hold
}

// add joins a fragment to its call. Names and ids come whole, arguments in pieces.
func (f *fragment) add(call *answer.ToolCall) {
	if !f.id.empty() && call.ID == "" {
		call.ID = f.id.decode()
	}
	if !f.name.empty() {
		call.Name = f.name.decode()
	}
	call.Arguments = append(f.arguments.appendTo(call.Arguments), f.object...)
}

// readArguments reads the arguments of a call.
func (f *fragment) readArguments(s *scanner) {
	f.arguments, f.object = text{}, nil
	switch s.peek() {
	case '"':
		f.arguments = s.text()
	case '{':
		f.object = s.raw()
	default:
		s.skip()
	}
}

// logprobs reads a list of {token, logprob, top_logprobs}, the form of chat and responses.
func (k *keeper) logprobs(s *scanner) {
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		l, top, told := readLogprob(s)
		if !told {
			continue
		}
		k.to.Logprobs = append(k.to.Logprobs, answer.Logprob{Token: l.Token, Value: l.Value, Top: ranked(top)})
	}
}

// readLogprob reads one of them; told is false if it has no value.
func readLogprob(s *scanner) (l answer.Alternative, top []answer.Alternative, told bool) {
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "token":
			l.Token = s.text().decode()
		case "logprob":
			l.Value, told = s.float()
		case "top_logprobs":
			top = nil
			for ok := s.enterArray(); ok; ok = s.nextElement() {
				if one, _, known := readLogprob(s); known {
					top = append(top, one)
				}
			}
		default:
			s.skip()
		}
	}
	return l, top, told
}

// ranked puts alternatives in order, best first. Servers mostly have done so; equals stay as they stand.
func ranked(top []answer.Alternative) []answer.Alternative {
	slices.SortStableFunc(top, func(a, b answer.Alternative) int {
		switch {
		case a.Value > b.Value:
			return -1
		case a.Value < b.Value:
			return 1
		}
		return 0
	})
	return top
}

// float reads a number; any other value is unknown.
func (s *scanner) float() (v float64, known bool) {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		s.skip()
		return 0, false
	}
	v, err := strconv.ParseFloat(string(s.number()), 64)
	return v, err == nil
}
