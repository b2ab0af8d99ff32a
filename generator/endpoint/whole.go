package endpoint

import (
	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// wholeCodec is the Codec of a protocol that asks with a JSON object and answers in one piece.
type wholeCodec struct {
	jsonBody

	path    func(model string) string
	product metrics.Product
	// fields are those of the body for a turn, without what authors add.
	fields func(*Turn) (body, error)
	// read reads an answer; keep may be nil.
	read func(data []byte, keep *answer.Transcript, chunk *Chunk) error
}

// always is a path that is the same for all models.
func always(path string) func(string) string { return func(string) string { return path } }

// Traits implements Codec.
func (w *wholeCodec) Traits() Traits { return Traits{Product: w.product} }

// Path implements Codec.
func (w *wholeCodec) Path(model string, _ bool) string { return w.path(model) }

// Streams implements Codec.
func (w *wholeCodec) Streams(*Turn) bool { return false }

// Encode implements Codec.
func (w *wholeCodec) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	return w.encodeFields(dst, turn, w.fields)
}

// Decoder implements Codec.
func (w *wholeCodec) Decoder(keep *answer.Transcript) Decoder {
	return &wholeDecoder{read: w.read, keep: keep}
}

// encodeFields appends the body made of the protocol's fields and what authors add, or the recorded one that the turn brings with it.
func (j *jsonBody) encodeFields(dst []byte, turn *Turn, fields func(*Turn) (body, error)) ([]byte, string, error) {
	if payload := recorded(turn); payload != nil {
		return append(dst, payload...), jsonType, nil
	}
	b, err := fields(turn)
	if err != nil {
		return dst, "", err
	}
	j.merge(&b, turn)
	out, err := b.appendTo(dst)
	return out, jsonType, err
}

// streamsByPath is Streams of protocols whose path asks for the stream: a field stream need not be there.
func (j *jsonBody) streamsByPath(turn *Turn) bool {
	if v, set := j.lookup(turn, "stream"); set {
		return v == true
	}
	return turn.Stream
}

// wholeDecoder reads answers that come in one piece. A server that sends such a piece as an event means the same.
type wholeDecoder struct {
	read func(data []byte, keep *answer.Transcript, chunk *Chunk) error
	keep *answer.Transcript
}

// Event implements Decoder.
func (w *wholeDecoder) Event(name, data []byte, chunk *Chunk) error {
	data, done := signal(name, data, chunk)
	if done {
		return nil
	}
	return w.read(data, w.keep, chunk)
}

// Body implements Decoder.
func (w *wholeDecoder) Body(data []byte, chunk *Chunk) error { return w.read(data, w.keep, chunk) }
