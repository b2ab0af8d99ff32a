// Package endpointtest holds what a scripted server must see and say for each wire protocol, and what must come of it, for tests of the
// codecs alone and of the generator around them.
package endpointtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Case is one request and its answer.
type Case struct {
	Name    string
	Config  Config `json:"endpoint"`
	Model   string
	Ask     Prompt `json:"prompt"`
	Stream  bool
	Limit   int            `json:"max_output_tokens"`
	NoUsage bool           `json:"no_usage"` // usage is not asked for
	Extra   map[string]any // of the turn
	Request Request
	Answer  Answer
	Record  Record
}

// Config is the part of an endpoint's configuration that cases need.
type Config struct {
	Type          endpoint.Type
	Path          string
	IgnoreEOS     bool `json:"ignore_eos"`
	Extra         map[string]any
	Cumulative    endpoint.Cumulative
	Tensors       endpoint.Tensors
	Template      string
	ResponseField string `json:"response_field"`
}

// Endpoint is the configuration as the codec wants it.
func (c *Config) Endpoint() endpoint.Config {
	e := endpoint.DefaultConfig()
	e.Type, e.Path, e.IgnoreEOS, e.Extra = c.Type, c.Path, c.IgnoreEOS, c.Extra
	e.Cumulative, e.Tensors, e.Template, e.ResponseField = c.Cumulative, c.Tensors, c.Template, c.ResponseField
	return e
}

// Prompt is one message of the user, or a recorded body.
type Prompt struct {
	System  string
	Parts   []Part
	Payload string
}

// Part is a piece of the message; its kind is text unless it says another.
type Part struct {
	Kind      string
	Name      string
	Text      string
	MediaType string `json:"media_type"`
	Data      []byte // base64
	URL       string
	Seconds   float64
}

// Prompt is what is asked.
func (p *Prompt) Prompt() prompt.Prompt {
	if p.Payload != "" {
		return prompt.Prompt{Payload: []byte(p.Payload)}
	}
	m := prompt.Message{Role: prompt.User}
	for _, part := range p.Parts {
		kind := map[string]prompt.Kind{"image": prompt.Image, "audio": prompt.Audio, "video": prompt.Video}[part.Kind]
		m.Parts = append(m.Parts, prompt.Part{
			Kind: kind, Name: part.Name, Text: part.Text, MediaType: part.MediaType, Data: part.Data, URL: part.URL, Seconds: part.Seconds,
		})
	}
	return prompt.Prompt{System: p.System, Messages: []prompt.Message{m}}
}

// Turn is what the codec encodes.
func (c *Case) Turn() endpoint.Turn {
	asked := c.Ask.Prompt()
	return endpoint.Turn{
		Model: c.Model, Prompt: &asked, MaxOutputTokens: c.Limit, Stream: c.Stream, IncludeUsage: !c.NoUsage, Extra: c.Extra,
	}
}

// Request is what the server must see, by POST.
type Request struct {
	Path   string // escaped
	Accept string // media type
	// Body is a JSON value whose bytes count, or a string with any other body.
	Body json.RawMessage
	// Form is in place of a body: the parts of a multipart/form-data body, in their order.
	Form []FormPart
}

// FormPart is one part of a form.
type FormPart struct {
	Name, Value string
	File        string // its name, "" = the part is no file
	MediaType   string `json:"media_type"`
	Data        []byte // of the file
}

// Bytes are the body's.
func (r *Request) Bytes() []byte { return verbatim(r.Body) }

// Answer is what the server says.
type Answer struct {
	Status      int    // 0 = 200
	ContentType string `json:"content_type"` // "" = application/json, or text/event-stream if there are events
	// Body is a JSON value whose bytes count, or a string with any other body.
	Body json.RawMessage
	// Events are in place of a body. A string is the lines of an event as they are sent, any other value the data of one.
	Events []json.RawMessage
}

// MediaType is that of the answer.
func (a *Answer) MediaType() string {
	switch {
	case a.ContentType != "":
		return a.ContentType
	case a.Events != nil:
		return "text/event-stream"
	}
	return "application/json"
}

// Bytes are what the server sends.
func (a *Answer) Bytes() []byte {
	if a.Events == nil {
		return verbatim(a.Body)
	}
	var out bytes.Buffer
	for _, e := range a.Events {
		lines := verbatim(e)
		if len(e) > 0 && e[0] != '"' {
			out.WriteString("data: ")
		}
		out.Write(lines)
		out.WriteString("\n\n")
	}
	return out.Bytes()
}

func verbatim(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	return raw
}

// Record is what must come of the answer.
type Record struct {
	Outcome  metrics.Outcome // "" = success
	Class    metrics.ErrorClass
	Product  metrics.Product // "" = tokens
	Contents int             // events with content
	Items    int             // that are no previews
	Previews int
	// Text and Reasoning are what a later turn or a check sees of the answer.
	Text, Reasoning string
	Input, Output   *int64 // as the server tells; nil = it does not
	Finish          metrics.FinishReason
	Served          string // the model's name as the server says it
	Limit           int    // of output tokens, as the request has it
}

// Load reads all cases below a directory, by file.
func Load(tb testing.TB, dir string) []Case {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no cases in %s: %v", dir, err)
	}
	cases := make([]Case, 0, 8*len(paths))
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		var list []Case
		dec := json.NewDecoder(bytes.NewReader(content))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&list); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		for i := range list {
			c := &list[i]
			c.Name = fmt.Sprintf("%s/%s", strings.TrimSuffix(filepath.Base(path), ".json"), c.Name)
		}
		cases = append(cases, list...)
	}
	return cases
}
