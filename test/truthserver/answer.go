package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

const streamHeader = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n" +
	"Transfer-Encoding: chunked\r\n\r\n"

// lastChunk ends an answer in the chunked transfer encoding.
const lastChunk = "0\r\n\r\n"

// answer writes the events of one stream. Events that are equal are made once: the server shares the processors with the clients that
// are measured.
type answer struct {
	g      *generation
	script *script
	head   string // of the JSON of every event
	delta  string // format of the member that holds the text
	common []byte // an event with as many tokens as most have and no usage, framed
}

func newAnswer(g *generation, s *script) (*answer, error) {
	model, err := json.Marshal(g.Model)
	if err != nil {
		return nil, err
	}
	object, delta := "text_completion", `"text":"%s"`
	if g.chat {
		object, delta = "chat.completion.chunk", `"delta":{"content":"%s"}`
	}
	head := fmt.Sprintf(`data: {"id":"truth-1f2e3d4c5b6a79880716253443526170","object":"%s","created":1764435600,"model":%s,"choices":[`, object, model)
	a := &answer{g: g, script: s, head: head, delta: delta}
	a.common = a.content(s.chunk, "null", "")
	return a, nil
}

// opening is the header, and the chunk with only the role where the script has one.
func (a *answer) opening() []byte {
	opening := []byte(streamHeader)
	if a.g.chat && a.script.role {
		role := a.head + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n"
		opening = append(opening, chunk(role)...)
	}
	return opening
}

// event appends the event after which sent tokens have been sent, some of them with it.
func (a *answer) event(to []byte, tokens, sent int) []byte {
	finish, usage := "null", ""
	if sent == a.g.output {
		finish = `"length"`
	}
	if a.g.StreamOptions.ContinuousUsageStats && a.script.continuous {
		usage = `,"usage":` + a.g.usage(sent)
	}
	if usage == "" && sent < a.g.output {
		return append(to, a.common...) // only the last event can have fewer tokens
	}
	return append(to, a.content(tokens, finish, usage)...)
}

func (a *answer) content(tokens int, finish, usage string) []byte {
	return chunk(a.head + `{"index":0,` + fmt.Sprintf(a.delta, strings.Repeat("word ", tokens)) +
		`,"logprobs":null,"finish_reason":` + finish + "}]" + usage + "}\n\n")
}

// end is the usage, if it was asked for, the marker and the end of the body.
func (a *answer) end() []byte {
	end := "data: [DONE]\n\n"
	if a.g.StreamOptions.IncludeUsage {
		end = a.head + `],"usage":` + a.g.usage(a.g.output) + "}\n\n" + end
	}
	return append(chunk(end), lastChunk...)
}

// chunk frames data for the chunked transfer encoding.
func chunk(data string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }
