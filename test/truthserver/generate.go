package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"
)

const streamHeader = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n" +
	"Transfer-Encoding: chunked\r\n\r\n"

// lastChunk ends an answer in the chunked transfer encoding.
const lastChunk = "0\r\n\r\n"

// generation is the part of a request body that changes the answer.
type generation struct {
	Model               string          `json:"model"`
	Stream              bool            `json:"stream"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            json.RawMessage `json:"messages"`
	StreamOptions       struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`

	id            string
	chat          bool
	arrived       time.Time // when its last byte was there
	input, output int       // tokens
}

// usage is the object of that name after output tokens.
func (g *generation) usage(output int) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, g.input, output, g.input+output)
}

// generate answers one generation request by the script.
func (s *server) generate(w io.Writer, g *generation, body []byte) error {
	if err := json.Unmarshal(body, g); err != nil {
		return writeError(w, http.StatusBadRequest, err.Error())
	}
	g.output = s.script.tokens
	switch {
	case g.MaxCompletionTokens != nil:
		g.output = *g.MaxCompletionTokens
	case g.MaxTokens != nil:
		g.output = *g.MaxTokens
	}
	if !g.Stream || g.output < 1 {
		return writeError(w, http.StatusBadRequest, "the answer must be a stream of at least one token")
	}
	// Four bytes a token is what an English prompt has; all that matters is that usage and truth say the same.
	g.input = max(1, (len(g.Prompt)+len(g.Messages))/4)

	s.truth.begin()
	// Multiples of the golden ratio, modulo 1, are spread evenly over [0, 1) however many there are.
	_, share := math.Modf(float64(s.sequence.Add(1)) * math.Phi)
	first := g.arrived.Add(s.script.firstToken + time.Duration(share*float64(s.script.spread)))
	row, err := s.stream(w, g, first)
	if err != nil {
		s.truth.abort()
		return err
	}
	s.truth.add(row)
	return nil
}

// stream answers in chunks, the first of them at first, and tells when each was handed to the kernel.
func (s *server) stream(w io.Writer, g *generation, first time.Time) (row, error) {
	object, delta := "text_completion", `"text":"%s"`
	if g.chat {
		object, delta = "chat.completion.chunk", `"delta":{"content":"%s"}`
	}
	model, err := json.Marshal(g.Model)
	if err != nil {
		return row{}, err
	}
	head := fmt.Sprintf(`data: {"id":"truth-1f2e3d4c5b6a79880716253443526170","object":"%s","created":1764435600,"model":%s,"choices":[`, object, model)
	if _, err := io.WriteString(w, streamHeader); err != nil {
		return row{}, err
	}
	if g.chat && s.script.role {
		role := chunk(head + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n")
		if _, err := w.Write(role); err != nil {
			return row{}, err
		}
	}

	chunks := make([]time.Time, 0, (g.output+s.script.chunk-1)/s.script.chunk)
	next := first
	for sent := 0; sent < g.output; {
		tokens := min(s.script.chunk, g.output-sent)
		sent += tokens
		finish, usage := "null", ""
		if sent == g.output {
			finish = `"length"`
		}
		if g.StreamOptions.ContinuousUsageStats {
			usage = `,"usage":` + g.usage(sent)
		}
		event := chunk(head + `{"index":0,` + fmt.Sprintf(delta, strings.Repeat("word ", tokens)) +
			`,"logprobs":null,"finish_reason":` + finish + "}]" + usage + "}\n\n")
		time.Sleep(time.Until(next))
		// Nothing between the clock and the kernel but the call.
		chunks = append(chunks, time.Now())
		if _, err := w.Write(event); err != nil {
			return row{}, err
		}
		next = next.Add(time.Duration(tokens) * s.script.gap)
	}

	end := "data: [DONE]\n\n"
	if g.StreamOptions.IncludeUsage {
		end = head + `],"usage":` + g.usage(g.output) + "}\n\n" + end
	}
	if _, err := w.Write(append(chunk(end), lastChunk...)); err != nil {
		return row{}, err
	}
	return newRow(g, chunks), nil
}

// chunk frames data for the chunked transfer encoding.
func chunk(data string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }
