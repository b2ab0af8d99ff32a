package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick is a profile whose answers take a few milliseconds.
func quick(name string) Profile {
	p := DefaultProfile(name)
	p.Engine.StepTime = 100 * time.Microsecond
	p.Engine.DecodeTime = time.Microsecond
	p.Engine.PrefillTime = 0
	p.Engine.Jitter = 0
	return p
}

func newServer(tb testing.TB, profiles ...Profile) *Server {
	tb.Helper()
	return New(Config{Profiles: profiles, Seed: 1})
}

// client speaks to a server over loopback.
type client struct {
	url  string
	http *http.Client
}

// serve starts a server with the profiles.
func serve(tb testing.TB, profiles ...Profile) *client {
	tb.Helper()
	server := httptest.NewServer(newServer(tb, profiles...))
	tb.Cleanup(server.Close)
	return &client{url: server.URL, http: server.Client()}
}

// post sends a body to a path below /v1/. The caller closes the answer.
func (c *client) post(ctx context.Context, tb testing.TB, path, body string) *http.Response {
	tb.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/"+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { resp.Body.Close() })
	return resp
}

// get reads a whole page.
func (c *client) get(tb testing.TB, path string) (status int, body string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, c.url+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// events reads a stream byte by byte until it ends, and gives the data of each event.
func events(r io.Reader) (data []string, err error) {
	lines := bufio.NewReaderSize(iotest.OneByteReader(r), 16)
	for {
		line, err := lines.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF) && line == "":
			return data, nil
		case err != nil:
			return data, err
		case strings.HasPrefix(line, "data: "):
			data = append(data, strings.TrimSuffix(line[len("data: "):], "\n"))
		case line != "\n":
			return data, errors.New("neither an event nor its end: " + line)
		}
	}
}

// chunk is an event of a stream, or a whole answer, as a client reads it.
type chunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Index        int      `json:"index"`
		Delta        *content `json:"delta"`
		Message      *content `json:"message"`
		Text         *string  `json:"text"`
		FinishReason *string  `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage       `json:"usage"`
	Error *errorDetail `json:"error"`
}

type content struct {
	Role             string  `json:"role"`
	Content          *string `json:"content"`
	ReasoningContent string  `json:"reasoning_content"`
}

type usage struct {
	Prompt            int `json:"prompt_tokens"`
	Completion        int `json:"completion_tokens"`
	Total             int `json:"total_tokens"`
	CompletionDetails *struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func parseChunk(tb testing.TB, data string) chunk {
	tb.Helper()
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		tb.Fatalf("%v: %s", err, data)
	}
	return c
}

// answer is what a stream or a body says as a whole.
type answer struct {
	text, reasoning string
	tokens          []int // words in each chunk that has any
	finish          string
	usage           *usage // of the last event
	failure         *errorDetail
	done            bool
	model           string
}

// read joins the events of a stream.
func read(tb testing.TB, data []string) answer {
	tb.Helper()
	var a answer
	for _, d := range data {
		if d == "[DONE]" {
			a.done = true
			continue
		}
		a.add(parseChunk(tb, d))
	}
	return a
}

func (a *answer) add(c chunk) {
	a.usage, a.model = c.Usage, c.Model
	if c.Error != nil {
		a.failure = c.Error
	}
	for _, choice := range c.Choices {
		text, reasoning := "", ""
		if choice.Text != nil {
			text = *choice.Text
		}
		for _, part := range []*content{choice.Delta, choice.Message} {
			if part == nil {
				continue
			}
			reasoning += part.ReasoningContent
			if part.Content != nil {
				text += *part.Content
			}
		}
		a.text += text
		a.reasoning += reasoning
		if n := countWords(text + reasoning); n > 0 {
			a.tokens = append(a.tokens, n)
		}
		if choice.FinishReason != nil {
			a.finish = *choice.FinishReason
		}
	}
}

// countWords counts the tokens of an answer: words with a space in front, and punctuation without.
func countWords(s string) int {
	return strings.Count(s, " ") + strings.Count(s, ",") + strings.Count(s, ".")
}

// ask sends a request and reads the whole answer, streamed or not.
func (c *client) ask(tb testing.TB, path, body string) answer {
	tb.Helper()
	resp := c.post(tb.Context(), tb, path, body)
	if resp.StatusCode != http.StatusOK {
		failure, _ := io.ReadAll(resp.Body)
		tb.Fatalf("status %d: %s", resp.StatusCode, failure)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		data, err := events(resp.Body)
		if err != nil {
			tb.Fatal(err)
		}
		return read(tb, data)
	}
	body2, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	a := answer{done: true}
	a.add(parseChunk(tb, string(body2)))
	return a
}
