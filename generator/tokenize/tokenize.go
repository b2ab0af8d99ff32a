// Package tokenize asks an inference server how many tokens it makes of a prompt, in the words of whichever server answers. It has connections
// of its own, so that it touches nothing that is measured.
package tokenize

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"
)

const (
	// callTime bounds one call.
	callTime = 5 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes. Some servers tell every token.
	maxAnswer = 4 << 20
)

// Config says which server is asked, and how it is reached.
type Config struct {
	URL   string // with scheme; what stands before /v1 in it is the server's root
	Model string
	// Chat: prompts are the messages of a user, around which the server puts its template.
	Chat bool
	// HTTP holds TLS, proxy and credentials as known from Prometheus; Credential gives one more header, nil = none.
	HTTP       promconfig.HTTPClientConfig
	Credential func() (header, value string, err error)
	Header     http.Header // of each call
}

// Client asks one server. It is not safe for concurrent use.
type Client struct {
	config Config
	root   *url.URL
	http   *http.Client
	known  *way // the one that has been answered; nil = none yet
}

// New makes the client; files of certificates and credentials that cannot be read are errors.
func New(config Config) (*Client, error) {
	root, err := url.Parse(config.URL)
	if err != nil {
		return nil, errors.New("tokenize: is not a URL") // which may hold credentials
	}
	root.Path, _, _ = strings.Cut(root.Path, "/v1")
	root.Path, root.RawPath = strings.TrimRight(root.Path, "/"), ""
	settings := config.HTTP
	settings.FollowRedirects = false // they would carry credentials to another host
	client, err := promconfig.NewClientFromConfig(settings, "tokenize", promconfig.WithKeepAlivesDisabled())
	if err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	client.Timeout = callTime
	return &Client{config: config, root: root, http: client}, nil
}

// Count is how many tokens the server makes of a text. whole tells that they are those of a prompt that is the text; else the template is
// missing that the server puts around it. The first call finds out which of the ways the server understands.
func (c *Client) Count(ctx context.Context, text string) (tokens int, whole bool, err error) {
	if c.known != nil {
		tokens, err = c.known.count(c, ctx, text)
		return tokens, c.known.whole, err
	}
	var errs []error
	for i, w := range ways {
		if w.chat != c.config.Chat {
			continue
		}
		if tokens, err = w.count(c, ctx, text); err == nil {
			c.known = &ways[i]
			return tokens, w.whole, nil
		}
		errs = append(errs, fmt.Errorf("asked as %s: %w", w.name, err))
	}
	return 0, false, errors.Join(errs...)
}

// call posts a question and reads the answer.
func (c *Client) call(ctx context.Context, path string, question any) ([]byte, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	at := *c.root
	at.Path += path
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = c.config.Header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.config.Credential != nil {
		name, value, credentialErr := c.config.Credential()
		if credentialErr != nil {
			return nil, credentialErr
		}
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL, which may hold credentials
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = fmt.Errorf("answer is larger than %d bytes", maxAnswer)
	}
	return answer, err
}
