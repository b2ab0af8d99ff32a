package tokenize

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// way is how some servers are asked.
type way struct {
	name  string // of those servers
	chat  bool   // for prompts that are messages
	whole bool   // the count is that of a prompt
	count func(c *Client, ctx context.Context, text string) (int, error)
}

// ways are tried in this order.
var ways = []way{
	{"vLLM", true, true, (*Client).messages},
	{"llama.cpp", true, true, (*Client).templated},
	{"SGLang or TGI", true, false, (*Client).bare},
	{"vLLM, SGLang, llama.cpp or TGI", false, true, (*Client).special},
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func say(text string) []message { return []message{{Role: "user", Content: text}} }

// messages has the server put its template around a message.
func (c *Client) messages(ctx context.Context, text string) (int, error) {
	answer, err := c.call(ctx, "/tokenize", struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}{c.config.Model, say(text)})
	if err != nil {
		return 0, err
	}
	return counted(answer, true)
}

// templated does so in two steps.
func (c *Client) templated(ctx context.Context, text string) (int, error) {
	answer, err := c.call(ctx, "/apply-template", struct {
		Messages []message `json:"messages"`
	}{say(text)})
	if err != nil {
		return 0, err
	}
	var applied struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(answer, &applied); err != nil {
		return 0, fmt.Errorf("answer of /apply-template: %w", err)
	}
	return c.plain(ctx, applied.Prompt, true)
}

// bare counts a text as it stands within a prompt.
func (c *Client) bare(ctx context.Context, text string) (int, error) {
	return c.plain(ctx, text, false)
}

// special counts a text that is a prompt, with the tokens that open one.
func (c *Client) special(ctx context.Context, text string) (int, error) {
	return c.plain(ctx, text, true)
}

// plain asks in the words of all servers at once: each ignores those of the others.
func (c *Client) plain(ctx context.Context, text string, special bool) (int, error) {
	answer, err := c.call(ctx, "/tokenize", struct {
		Model            string `json:"model"`
		Prompt           string `json:"prompt"`             // vLLM, SGLang
		AddSpecialTokens bool   `json:"add_special_tokens"` // likewise
		Content          string `json:"content"`            // llama.cpp
		AddSpecial       bool   `json:"add_special"`        // likewise
		ParseSpecial     bool   `json:"parse_special"`      // likewise
		Inputs           string `json:"inputs"`             // TGI
	}{c.config.Model, text, special, text, special, special, text})
	if err != nil {
		return 0, err
	}
	return counted(answer, special)
}

var errNone = errors.New("answer without tokens")

// counted reads an answer.
func counted(answer []byte, special bool) (int, error) {
	read := readObject
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("[")) {
		read = readList
	}
	n, err := read(answer, special)
	if err == nil && n <= 0 {
		err = errNone
	}
	return n, err
}

// readObject reads {"count", "tokens"} of vLLM and SGLang, or {"tokens"} of llama.cpp. They have special tokens only if those were asked for.
func readObject(answer []byte, _ bool) (int, error) {
	var told struct {
		Count  int
		Tokens []json.RawMessage
	}
	err := json.Unmarshal(answer, &told)
	if told.Count != 0 {
		return told.Count, err
	}
	return len(told.Tokens), err
}

// readList reads the tokens of TGI, which has the special ones in any case. They stand for nothing of the text.
func readList(answer []byte, special bool) (n int, err error) {
	var tokens []struct{ Start, Stop int }
	err = json.Unmarshal(answer, &tokens)
	for _, token := range tokens {
		if special || token.Stop > token.Start {
			n++
		}
	}
	return n, err
}
