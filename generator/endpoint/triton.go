package endpoint

import (
	"net/url"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
)

// The generate extension of Triton.
const (
	TritonGenerate Type = "triton_generate"
	Generate       Type = "generate" // another name of triton_generate
)

// triton speaks POST /v2/models/MODEL/generate and, for streams, POST /v2/models/MODEL/generate_stream.
type triton struct {
	jsonBody

	path       string
	ignoreEOS  bool
	cumulative Cumulative
}

func newTriton(cfg *Config) Codec {
	return &triton{
		jsonBody: jsonBody{extra: cfg.Extra, limits: []string{string(FieldMaxTokens)}}, path: cfg.Path, ignoreEOS: cfg.IgnoreEOS,
		cumulative: cfg.Cumulative,
	}
}

// Traits implements Codec. The end of a stream is the end of the connection's answer, nothing says so before.
func (t *triton) Traits() Traits { return Traits{Unmarked: true} }

// Path implements Codec.
func (t *triton) Path(model string, stream bool) string {
	switch {
	case t.path != "":
		return t.path
	case stream:
		return modelPath(model) + "/generate_stream"
	}
	return modelPath(model) + "/generate"
}

// modelPath is the path under which Triton has a model.
func modelPath(model string) string { return "/v2/models/" + url.PathEscape(model) }

// Encode implements Codec.
func (t *triton) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	return t.encodeFields(dst, turn, t.fields)
}

func (t *triton) fields(turn *Turn) (body, error) {
	text, err := askedText(turn.Prompt)
	if err != nil {
		return nil, err
	}
	b := body{{"text_input", text}}
	if turn.MaxOutputTokens > 0 {
		b.set(t.limits[0], turn.MaxOutputTokens)
	}
	b.set("stream", t.Streams(turn))
	if limit := t.OutputLimit(turn); t.ignoreEOS && limit > 0 {
		b.set("ignore_eos", true)
		b.set("min_tokens", limit)
	}
	return b, nil
}

// Decoder implements Codec.
func (t *triton) Decoder(keep *answer.Transcript) Decoder {
	return &tritonDecoder{keep: keep, growth: newGrowth(t.cumulative)}
}

type tritonDecoder struct {
	keep   *answer.Transcript
	growth growth
	named  bool // the model's name has been told
}

// Event implements Decoder.
func (d *tritonDecoder) Event(name, data []byte, chunk *Chunk) error {
	data, done := signal(name, data, chunk)
	if done {
		return nil
	}
	var a tritonAnswer
	a.read(data)
	text := a.text.bytes()
	// What next learns of an event that is not the protocol does not matter: the answer has failed then.
	c := Chunk{Text: d.growth.next(text)}
	if c.Text && !d.named {
		c.Model, d.named = shortName(a.model), true
	}
	if err := a.finish(c, true, "", chunk); err != nil {
		return err
	}
	if d.keep != nil {
		d.keep.Text = d.growth.keep(d.keep.Text, text)
	}
	return nil
}

// Body implements Decoder.
func (d *tritonDecoder) Body(data []byte, chunk *Chunk) error {
	var a tritonAnswer
	a.read(data)
	c := Chunk{Text: !a.text.empty(), Terminal: true, Model: shortName(a.model)}
	if err := a.finish(c, a.known, "an object without text_output", chunk); err != nil {
		return err
	}
	if d.keep != nil {
		d.keep.Text = a.text.appendTo(d.keep.Text)
	}
	return nil
}

// tritonAnswer is what an event or a whole answer says.
type tritonAnswer struct {
	root

	text  text
	known bool // there is a text, if only an empty one
}

func (a *tritonAnswer) read(data []byte) {
	a.root = newRoot(data)
	for ok := a.begin(); ok; ok = a.nextMember() {
		switch name := a.name(); string(name) {
		case "text_output":
			a.text, a.known = a.firstText()
		default:
			a.common(name)
		}
	}
}

// firstText reads a string, or the first one of a list of them: Triton writes a tensor of one element as the element.
func (s *scanner) firstText() (first text, known bool) {
	if s.peek() == '"' {
		return s.text(), true
	}
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		if s.peek() == '"' && !known {
			first, known = s.text(), true
		} else {
			s.skip()
		}
	}
	return first, known
}
