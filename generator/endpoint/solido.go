package endpoint

import (
	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
)

// SolidoRAG is the protocol of Solido's assistant, which answers out of documents.
const SolidoRAG Type = "solido_rag"

// solido speaks POST /rag/api/prompt.
type solido struct {
	jsonBody

	path string
}

func newSolido(cfg *Config) Codec {
	return &solido{jsonBody{extra: cfg.Extra}, cfg.pathOr("/rag/api/prompt")}
}

// Traits implements Codec.
func (s *solido) Traits() Traits { return Traits{Unmarked: true} }

// Path implements Codec.
func (s *solido) Path(string, bool) string { return s.path }

// solidoFilters choose the documents.
type solidoFilters struct {
	Family string `json:"family"`
	Tool   string `json:"tool"`
}

// Encode implements Codec.
func (s *solido) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	return s.encodeFields(dst, turn, func(turn *Turn) (body, error) {
		query, err := askedTexts(turn.Prompt)
		return body{{"query", query}, {"filters", solidoFilters{"Solido", "SDE"}}, {"inference_model", turn.Model}}, err
	})
}

// Streams implements Codec. The Accept header asks for the stream.
func (s *solido) Streams(turn *Turn) bool { return s.streamsByPath(turn) }

// Decoder implements Codec.
func (s *solido) Decoder(keep *answer.Transcript) Decoder { return &solidoDecoder{keep} }

type solidoDecoder struct{ keep *answer.Transcript }

// Event implements Decoder.
func (d *solidoDecoder) Event(name, data []byte, chunk *Chunk) error {
	data, done := signal(name, data, chunk)
	if done {
		return nil
	}
	return d.read(data, true, chunk)
}

// Body implements Decoder.
func (d *solidoDecoder) Body(data []byte, chunk *Chunk) error { return d.read(data, false, chunk) }

func (d *solidoDecoder) read(data []byte, event bool, chunk *Chunk) error {
	r := newRoot(data)
	var said text
	known := event
	for ok := r.begin(); ok; ok = r.nextMember() {
		switch name := r.name(); string(name) {
		case "content":
			known = event || r.peek() == '"'
			said = r.text()
		default:
			r.common(name)
		}
	}
	if err := r.finish(Chunk{Text: !said.empty(), Terminal: !event}, known, "an object without content", chunk); err != nil {
		return err
	}
	if d.keep != nil {
		d.keep.Text = said.appendTo(d.keep.Text)
	}
	return nil
}
