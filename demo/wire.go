package demo

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"time"
)

// words are the tokens of all answers. Their number is a power of two, and none needs escaping in JSON.
var words = [...]string{
	" the", " a", " of", " and", " in", " to", " is", " it", " as", " with", " that", " for", " on", " by", " at", " so",
	" time", " load", " queue", " batch", " token", " model", " cache", " step", " rate", " prompt", " answer", " stream", " server",
	" client", " budget", " window", " slow", " fast", " early", " late", " first", " next", " last", " long", " short", " small",
	" large", " steady", " waits", " grows", " falls", " moves", " holds", " gives", " takes", " shows", " reads", " writes", " starts",
	" ends", " counts", " keeps", " each", " some", " more", " less", ",", ".",
}

// wire writes one answer's bytes: by hand, because a stream costs as much per token as its chunks do.
type wire struct {
	ask  *ask
	rng  *rand.Rand
	head []byte // of each chunk, up to the list of choices

	reasoning int // how many tokens from the start are reasoning
	written   int // tokens so far
}

// newWire draws the answer's identifier.
func newWire(j *job, now time.Time) *wire {
	w := &wire{ask: j.ask, rng: j.rng}
	if j.ask.chat {
		w.reasoning = int(j.model.profile.ReasoningShare * float64(j.ask.limit))
	}
	w.head = w.appendIdentity([]byte("data: "), j.model.quoted, now)
	w.head = append(w.head, `,"choices":[`...)
	return w
}

// appendIdentity begins a JSON object with the fields that all chunks of an answer share.
func (w *wire) appendIdentity(b, quotedModel []byte, now time.Time) []byte {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], w.rng.Uint64())
	binary.BigEndian.PutUint64(id[8:], w.rng.Uint64())
	b = append(b, `{"id":"`...)
	if w.ask.chat {
		b = append(b, "chatcmpl-"...)
	} else {
		b = append(b, "cmpl-"...)
	}
	b = hex.AppendEncode(b, id[:])
	b = append(b, `","object":"`...)
	switch {
	case !w.ask.chat:
		b = append(b, "text_completion"...)
	case w.ask.stream:
		b = append(b, "chat.completion.chunk"...)
	default:
		b = append(b, "chat.completion"...)
	}
	b = append(b, `","created":`...)
	b = strconv.AppendInt(b, now.Unix(), 10)
	b = append(b, `,"model":`...)
	return append(b, quotedModel...)
}

// appendRole adds the chunk that names the role and has no token.
func (w *wire) appendRole(b []byte) []byte {
	b = append(b, w.head...)
	b = append(b, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	return w.appendChunkEnd(b)
}

// appendTokens adds a chunk with the next n tokens, which may be 0, and the reason why the answer ends there, "" if it does not.
func (w *wire) appendTokens(b []byte, n int, finish string) []byte {
	b = append(b, w.head...)
	b = append(b, `{"index":0,`...)
	if w.ask.chat {
		b = append(b, `"delta":{`...)
		b = w.appendContent(b, n)
		b = append(b, '}')
	} else {
		b = append(b, `"text":"`...)
		b = w.appendWords(b, n)
		b = append(b, '"')
	}
	if finish == "" {
		b = append(b, `,"logprobs":null,"finish_reason":null}]`...)
	} else {
		b = append(b, `,"logprobs":null,"finish_reason":"`...)
		b = append(b, finish...)
		b = append(b, `"}]`...)
	}
	return w.appendChunkEnd(b)
}

// appendContent adds the fields that hold the next n tokens of a chat message: one of them, or both where reasoning ends.
func (w *wire) appendContent(b []byte, n int) []byte {
	thoughts := max(0, min(n, w.reasoning-w.written))
	if thoughts > 0 {
		b = append(b, `"reasoning_content":"`...)
		b = w.appendWords(b, thoughts)
		b = append(b, '"')
	}
	if n == thoughts {
		return b
	}
	if thoughts > 0 {
		b = append(b, ',')
	}
	b = append(b, `"content":"`...)
	b = w.appendWords(b, n-thoughts)
	return append(b, '"')
}

func (w *wire) appendWords(b []byte, n int) []byte {
	for range n {
		b = append(b, words[w.rng.Uint64()%uint64(len(words))]...)
	}
	w.written += n
	return b
}

func (w *wire) appendChunkEnd(b []byte) []byte {
	if w.ask.continuousUsage {
		b = w.appendUsage(b)
	}
	return append(b, "}\n\n"...)
}

// appendUsage adds the field with the counts so far.
func (w *wire) appendUsage(b []byte) []byte {
	b = append(b, `,"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(w.ask.promptTokens), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(w.written), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(w.ask.promptTokens+w.written), 10)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":0}`...)
	if w.reasoning > 0 {
		b = append(b, `,"completion_tokens_details":{"reasoning_tokens":`...)
		b = strconv.AppendInt(b, int64(min(w.written, w.reasoning)), 10)
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendEnd adds what follows a stream's last token.
func (w *wire) appendEnd(b []byte) []byte {
	if w.ask.includeUsage {
		b = append(b, w.head...)
		b = append(b, ']')
		b = w.appendUsage(b)
		b = append(b, "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

// appendWhole adds an answer of n tokens that is not streamed.
func (w *wire) appendWhole(b []byte, n int, finish string) []byte {
	b = append(b, w.head[len("data: "):]...)
	b = append(b, `{"index":0,`...)
	if w.ask.chat {
		b = append(b, `"message":{"role":"assistant",`...)
		b = w.appendMessage(b, n)
		b = append(b, '}')
	} else {
		b = append(b, `"text":"`...)
		b = w.appendWords(b, n)
		b = append(b, '"')
	}
	b = append(b, `,"logprobs":null,"finish_reason":"`...)
	b = append(b, finish...)
	b = append(b, `"}]`...)
	b = w.appendUsage(b)
	return append(b, '}')
}

// appendMessage is appendContent for a whole message, whose content is there even when it is empty.
func (w *wire) appendMessage(b []byte, n int) []byte {
	if n > w.reasoning {
		return w.appendContent(b, n)
	}
	b = append(b, `"content":""`...)
	if n > 0 {
		b = append(b, ',')
	}
	return w.appendContent(b, n)
}
