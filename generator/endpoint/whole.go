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
