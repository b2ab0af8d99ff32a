package endpoint

import (
	"bytes"
	"encoding/json"

	"github.com/jmespath/go-jmespath"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// loose reads answers of protocols that only the author of the configuration knows.
type loose struct {
	field *jmespath.JMESPath // where the answer is; nil = it is looked for
	// strict: an answer without the field is a failure, and not looked for elsewhere.
	strict bool
}

// newLoose makes it of a validated configuration.
func newLoose(cfg *Config, strict bool) loose {
	l := loose{strict: strict}
	if cfg.ResponseField != "" {
		l.field, _ = jmespath.Compile(cfg.ResponseField)
	}
	return l
}

// Traits implements Codec. Nobody knows how a stream ends.
func (l *loose) Traits() Traits { return Traits{Unmarked: true} }

// Decoder implements Codec.
func (l *loose) Decoder(keep *answer.Transcript) Decoder { return &looseDecoder{loose: l, keep: keep} }

type looseDecoder struct {
	*loose

	keep  *answer.Transcript
	plain bool // the stream is text without JSON around it
}

// Event implements Decoder. An event in which nothing is found means nothing.
func (d *looseDecoder) Event(name, data []byte, chunk *Chunk) error {
	rest, done := signal(name, data, chunk)
	if done {
		return nil
	}
	if d.plain || !beginsJSON(rest) {
		if !d.plain && isPage(rest) {
			return &ProtocolError{Reason: "markup instead of an answer"}
		}
		d.plain = true
		d.report(finding{known: true, text: string(data)}, Chunk{}, chunk)
		return nil
	}
	r, f, err := d.read(rest)
	if err != nil {
		return err
	}
	c := Chunk{Finish: metrics.ParseFinishReason(f.finish), Terminal: f.finish != ""}
	if c.Terminal {
		c.Model = shortName(r.model)
	}
	if err := r.finish(c, true, "", chunk); err != nil {
		return err
	}
	d.report(f, *chunk, chunk)
	return nil
}

// Body implements Decoder.
func (d *looseDecoder) Body(data []byte, chunk *Chunk) error {
	rest := bytes.Trim(data, space)
	c := Chunk{Terminal: true}
	if !beginsJSON(rest) {
		if isPage(rest) {
			return &ProtocolError{Reason: "markup instead of an answer"}
		}
		d.report(finding{known: true, text: string(rest)}, c, chunk)
		return nil
	}
	r, f, err := d.read(rest)
	if err != nil {
		return err
	}
	c.Finish, c.Model = metrics.ParseFinishReason(f.finish), shortName(r.model)
	missing := "nothing in it looks like an answer"
	if d.strict && d.field != nil {
		missing = "response_field matches nothing in it"
	}
	if err := r.finish(c, f.known, missing, chunk); err != nil {
		return err
	}
	d.report(f, *chunk, chunk)
	return nil
}

// beginsJSON tells whether data must be JSON because of how it begins. A text may begin with anything else, also with a word or a number of
// JSON.
func beginsJSON(data []byte) bool {
	return len(data) > 0 && (data[0] == '{' || data[0] == '[' || data[0] == '"' && json.Valid(data))
}

// read reads a JSON value: what all protocols say in the same words, and what is found in it.
func (d *looseDecoder) read(data []byte) (r root, f finding, err error) {
	r = newRoot(data)
	if r.peek() != '{' {
		r.skip()
	} else {
		for ok := r.begin(); ok; ok = r.nextMember() {
			r.common(r.name())
		}
	}
	if err := r.end(); err != nil {
		return r, f, err
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return r, f, &ProtocolError{Reason: "a number is too large"}
	}
	return r, d.find(value), nil
}

func (d *looseDecoder) find(value any) finding {
	if d.field == nil {
		return detect(value)
	}
	if at, err := d.field.Search(value); err == nil && at != nil {
		return carried(at)
	}
	if d.strict {
		return finding{}
	}
	return detect(value)
}

// report puts what was found into chunk, beside what c says.
func (d *looseDecoder) report(f finding, c Chunk, chunk *Chunk) {
	c.Items, c.Text, c.Reasoning = f.items, f.text != "", f.reasoning != ""
	*chunk = c
	if d.keep != nil {
		d.keep.Text = append(d.keep.Text, f.text...)
		d.keep.Reasoning = append(d.keep.Reasoning, f.reasoning...)
	}
}
