package endpoint

import "github.com/aiperf-exporter/aiperf-exporter/generator/answer"

// openAIKeeper decodes an answer of chat or completions and keeps what it says.
type openAIKeeper struct {
	*openAI
	keeper
}

// Event implements Decoder.
func (k *openAIKeeper) Event(name, data []byte, chunk *Chunk) error {
	err := k.openAI.Event(name, data, chunk)
	if err == nil && chunk.Err == nil && !chunk.Done {
		k.reply(data)
	}
	return err
}

// Body implements Decoder.
func (k *openAIKeeper) Body(data []byte, chunk *Chunk) error {
	err := k.openAI.Body(data, chunk)
	if err == nil && chunk.Err == nil {
		k.reply(data)
	}
	return err
}

// reply reads one object, which is known to be the protocol.
func (k *openAIKeeper) reply(data []byte) {
	s := scanner{data: data}
	var choices []byte
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "id":
			k.identify(s.text())
		case "choices":
			choices = s.raw()
		default:
			s.skip()
		}
	}
	s = scanner{data: choices}
	position := int64(0)
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		k.choice(s.raw(), position)
		position++
	}
}

// choice reads a choice if it is the first one, by its index, or by its position if it has none.
func (k *openAIKeeper) choice(data []byte, index int64) {
	var delta, message, logprobs []byte
	var plain text
	s := scanner{data: data}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "index":
			if n := s.count(); n.Known {
				index = n.N
			}
		case "delta":
			delta = s.raw()
		case "message":
			message = s.raw()
		case "text":
			plain = s.text()
		case "logprobs":
			logprobs = s.raw()
		default:
			s.skip()
		}
	}
	if index != 0 {
		return
	}
	if k.dialect == completionsDialect {
		k.text(plain)
	}
	for _, said := range [][]byte{delta, message} {
		if said != nil && k.dialect == chatDialect {
			k.message(said)
		}
	}
	if logprobs != nil {
		k.logprobsOf(logprobs)
	}
}

// message reads a message or the delta of one. Reasoning that comes under two names is the same text.
func (k *openAIKeeper) message(data []byte) {
	var said, refusal, reasoning, reasoningContent text
	var calls, call []byte
	s := scanner{data: data}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "content":
			said = s.text()
		case "refusal":
			refusal = s.text()
		case "reasoning_content":
			reasoningContent = s.text()
		case "reasoning":
			reasoning = s.text()
		case "tool_calls":
			calls = s.raw()
		case "function_call":
			call = s.raw()
		default:
			s.skip()
		}
	}
	k.text(said)
	k.text(refusal)
	if reasoningContent.empty() {
		reasoningContent = reasoning
	}
	k.reasoning(reasoningContent)
	if calls != nil {
		k.toolCalls(calls)
	}
	if call != nil {
		if f := readFunction(call); !f.name.empty() || !f.arguments.empty() {
			f.add(k.call(legacyCall))
		}
	}
}

// toolCalls reads calls or pieces of them. One without an index is whole, hence a new one. So is one whose index is taken by another call:
// some servers give every call the index 0.
func (k *openAIKeeper) toolCalls(data []byte) {
	s := scanner{data: data}
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		var id text
		var function []byte
		number := int64(-2 - len(k.calls)) // nobody else's
		for ok := s.enterObject(); ok; ok = s.nextMember() {
			switch string(s.name()) {
			case "index":
				if n := s.count(); n.Known && n.N >= 0 {
					number = n.N
				}
			case "id":
				id = s.text()
			case "function":
				function = s.raw()
			default:
				s.skip()
			}
		}
		f := readFunction(function)
		f.id = id
		call := k.call(number)
		if f.isOther(call) {
			call = k.another(number)
		}
		f.add(call)
	}
}

// isOther tells that a fragment begins another call than this one. Only the first fragment of a call has a name; some servers give each
// fragment an id of its own, and some give none.
func (f *fragment) isOther(call *answer.ToolCall) bool {
	if f.name.empty() {
		return false
	}
	otherID := !f.id.empty() && call.ID != "" && call.ID != f.id.decode()
	return otherID || len(call.Arguments) > 0 && call.Name != f.name.decode()
}

// another begins a call whose number is taken; what follows under this number belongs to it.
func (k *openAIKeeper) another(number int64) *answer.ToolCall {
	for i := range k.calls {
		if k.calls[i] == number {
			k.calls[i] = int64(-2 - len(k.calls))
		}
	}
	return k.newCall(number)
}

func readFunction(data []byte) fragment {
	var f fragment
	s := scanner{data: data}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "name":
			f.name = s.text()
		case "arguments":
			f.readArguments(&s)
		default:
			s.skip()
		}
	}
	return f
}

// logprobsOf reads what a choice says of its tokens: a list under content, or lists of tokens, values and alternatives side by side.
func (k *openAIKeeper) logprobsOf(data []byte) {
	var tokens, values, tops []byte
	s := scanner{data: data}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "content":
			k.logprobs(&s)
		case "tokens":
			tokens = s.raw()
		case "token_logprobs":
			values = s.raw()
		case "top_logprobs":
			tops = s.raw()
		default:
			s.skip()
		}
	}
	if tokens != nil && values != nil {
		k.columns(tokens, values, tops)
	}
}

// columns reads the form of completions. A token without a value is the prompt's first one.
func (k *openAIKeeper) columns(tokens, values, tops []byte) {
	t, v, a := scanner{data: tokens}, scanner{data: values}, scanner{data: tops}
	okT, okV, okA := t.enterArray(), v.enterArray(), tops != nil && a.enterArray()
	for okT && okV {
		l := answer.Logprob{Token: t.text().decode()}
		value, known := v.float()
		l.Value = value
		if okA {
			l.Top = readAlternatives(&a)
			okA = a.nextElement()
		}
		if known {
			k.to.Logprobs = append(k.to.Logprobs, l)
		}
		okT, okV = t.nextElement(), v.nextElement()
	}
}

// readAlternatives reads {"token": logprob, …}.
func readAlternatives(s *scanner) []answer.Alternative {
	var top []answer.Alternative
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		name := string(s.name())
		if v, known := s.float(); known {
			top = append(top, answer.Alternative{Token: name, Value: v})
		}
	}
	return ranked(top)
}
