package generator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// script is an answer in exact bytes and instants.
type script struct {
	head    string // status line and headers, sent with the first step
	chunked bool   // each step is one chunk; the empty step is the last chunk
	steps   []step
	silent  bool // nothing ends the answer, the connection stays open until the client closes it
}

// step is one write at an instant, counted from the server's having read the request.
type step struct {
	at    time.Duration
	bytes string
}

// at makes a step of events that share one write.
func at(ms float64, events ...string) step {
	return step{time.Duration(ms * float64(time.Millisecond)), strings.Join(events, "")}
}

// stream is a stream of events that ends, correctly, with its last step.
func stream(steps ...step) script {
	s := silence(steps...)
	s.silent = false
	if last := s.steps[len(s.steps)-1]; last.bytes != "" {
		s.steps = append(s.steps, step{at: last.at})
	}
	return s
}

// silence is a stream that says nothing any more after its last step, and does not end either.
func silence(steps ...step) script {
	return script{
		head:    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
		chunked: true,
		steps:   steps,
		silent:  true,
	}
}

// endOfBody is the step that ends a stream at an instant of its own.
func endOfBody(ms float64) step { return at(ms) }

// reply is an answer that is not a stream. Each header ends with CR LF.
func reply(ms float64, status, headers, body string) script {
	return script{
		head:  fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n", status, headers, len(body)),
		steps: []step{at(ms, body)},
	}
}

// bytesOf are the events of a script without what HTTP puts around them.
func bytesOf(s script) string {
	var out strings.Builder
	for _, step := range s.steps {
		out.WriteString(step.bytes)
	}
	return out.String()
}

// event is a server-sent event with one line of data.
func event(data string) string { return "data: " + data + "\n\n" }

// chunk is a chat chunk with that delta, and more fields behind the choices (each with a comma in front).
func chunk(delta, finish, more string) string {
	return event(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta +
		`,"finish_reason":` + finish + `}]` + more + `}`)
}

func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// role opens an answer and carries no token.
func role() string { return chunk(`{"role":"assistant","content":""}`, "null", "") }

// content carries a piece of the answer.
func content(text string) string { return chunk(`{"content":`+quoted(text)+`}`, "null", "") }

// contentUsed is content with the usage so far.
func contentUsed(text string, prompt, completion int) string {
	return chunk(`{"content":`+quoted(text)+`}`, "null", `,"usage":`+usageObject(prompt, completion))
}

// thought carries a piece of the reasoning, under each of the keys.
func thought(text string, keys ...string) string {
	fields := make([]string, len(keys))
	for i, key := range keys {
		fields[i] = quoted(key) + ":" + quoted(text)
	}
	return chunk(`{`+strings.Join(fields, ",")+`}`, "null", "")
}

// finish says why the answer ended.
func finish(reason string) string { return chunk(`{}`, quoted(reason), "") }

func usageObject(prompt, completion int) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, prompt, completion, prompt+completion)
}

// usage is the chunk without choices that servers send at the end.
func usage(prompt, completion int) string {
	return event(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":` + usageObject(prompt, completion) + `}`)
}

// done is the end marker.
const done = "data: [DONE]\n\n"
