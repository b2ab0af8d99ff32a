package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"
)

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

	n := s.sequence.Add(1)
	if s.script.failEvery > 0 && n%s.script.failEvery == 0 {
		return writeError(w, http.StatusInternalServerError, "this request fails by the script")
	}
	s.truth.begin(g)
	// Multiples of the golden ratio, modulo 1, are spread evenly over [0, 1) however many there are.
	_, share := math.Modf(float64(n) * math.Phi)
	first := g.arrived.Add(s.script.firstToken + time.Duration(share*float64(s.script.spread)))
	row, err := s.stream(w, g, first)
	if err != nil {
		s.truth.abort()
		return err
	}
	s.truth.add(row)
	return nil
}

// stream answers in chunks, the first of them at first, and tells when the first and the last were handed to the kernel.
func (s *server) stream(w io.Writer, g *generation, first time.Time) (row, error) {
	a, err := newAnswer(g, &s.script)
	if err != nil {
		return row{}, err
	}
	if _, err := w.Write(a.opening()); err != nil {
		return row{}, err
	}
	var begin, last time.Time
	var events []byte
	next := first
	for sent := 0; sent < g.output; {
		events = events[:0]
		chunks, before := 0, sent
		for ; chunks < s.script.batch && sent < g.output; chunks++ {
			tokens := min(s.script.chunk, g.output-sent)
			sent += tokens
			events = a.event(events, tokens, sent)
		}
		time.Sleep(time.Until(next))
		// Nothing between the clock and the kernel but the call.
		last = time.Now()
		if _, err := w.Write(events); err != nil {
			return row{}, err
		}
		if begin.IsZero() {
			begin = last
		}
		s.truth.sent(last, chunks, sent-before)
		next = next.Add(time.Duration(sent-before) * s.script.gap)
	}
	if _, err := w.Write(a.end()); err != nil {
		return row{}, err
	}
	return newRow(g, begin, last), nil
}
