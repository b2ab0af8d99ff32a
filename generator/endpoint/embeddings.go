package endpoint

import (
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The protocols whose answers are vectors.
const (
	Embeddings     Type = "embeddings"      // of OpenAI
	ChatEmbeddings Type = "chat_embeddings" // of a conversation (vLLM)
	NIMEmbeddings  Type = "nim_embeddings"  // of texts, images, or both
)

func newEmbeddings(cfg *Config) Codec { return embeddingsOf(cfg, askedTexts) }

func newNIMEmbeddings(cfg *Config) Codec { return embeddingsOf(cfg, nimInputs) }

// embeddingsOf makes a codec of the embeddings protocol by what it makes of a prompt.
func embeddingsOf(cfg *Config, inputs func(*prompt.Prompt) ([]string, error)) Codec {
	return &wholeCodec{
		jsonBody: jsonBody{extra: cfg.Extra}, path: always(cfg.pathOr("/v1/embeddings")), product: metrics.ProductVectors, read: readVectors,
		fields: func(turn *Turn) (body, error) {
			in, err := inputs(turn.Prompt)
			if err != nil {
				return nil, err
			}
			return body{{"model", turn.Model}, {"input", in}}, nil
		},
	}
}

// nimInputs are texts, images, or a text and an image each in one input.
func nimInputs(p *prompt.Prompt) ([]string, error) {
	q, err := newQuestion(p)
	if err != nil {
		return nil, err
	}
	images := q.Of(prompt.Image)
	if len(images) == 0 {
		return askedTexts(p)
	}
	texts := q.inputs()
	if len(texts) > 0 && len(texts) != len(images) {
		return nil, fmt.Errorf("prompt has %d texts and %d images, an input takes one of each", len(texts), len(images))
	}
	inputs := make([]string, len(images))
	for i, image := range images {
		inputs[i] = mediaURL(image)
		if len(texts) > 0 {
			inputs[i] = texts[i] + " " + inputs[i]
		}
	}
	return inputs, nil
}

// chatEmbeddings sends a conversation to be embedded, in the form of a chat.
type chatEmbeddings struct {
	wholeCodec

	chat Codec
}

func newChatEmbeddings(cfg *Config) Codec {
	c := &chatEmbeddings{chat: newChat(&Config{Type: Chat, MaxTokensField: FieldAuto, Extra: cfg.Extra})}
	c.path, c.product, c.read = always(cfg.pathOr("/v1/embeddings")), metrics.ProductVectors, readVectors
	return c
}

// Encode implements Codec.
func (c *chatEmbeddings) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	asked := *turn
	asked.Stream, asked.IncludeUsage, asked.MaxOutputTokens = false, false, 0
	return c.chat.Encode(dst, &asked)
}

// readVectors reads an answer of the embeddings protocol.
func readVectors(data []byte, _ *answer.Transcript, chunk *Chunk) error {
	r := newRoot(data)
	vectors, known := 0, false
	for ok := r.begin(); ok; ok = r.nextMember() {
		switch name := r.name(); string(name) {
		case "data":
			known = r.peek() == '['
			vectors, _ = r.vectorObjects()
		default:
			r.common(name)
		}
	}
	return r.finish(Chunk{Items: vectors, Terminal: true, Model: shortName(r.model)}, known, "an object without data", chunk)
}

// vectorObjects reads a list of objects and counts those with a vector in their member embedding; known tells that there is one with such a
// member.
func (s *scanner) vectorObjects() (n int, known bool) {
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		vectors := 0
		for ok := s.enterObject(); ok; ok = s.nextMember() {
			if string(s.name()) == "embedding" {
				known = true
				vectors = s.vectors()
			} else {
				s.skip()
			}
		}
		n += min(vectors, 1) // some servers put a vector into a list of its own
	}
	return n, known
}

// vectors counts the vectors that a value is, without building them: a list of numbers is one, and so is a string, which holds the floats
// in base64; a list of such lists is several. What holds anything else, such as the null that stands for NaN, is none.
func (s *scanner) vectors() int {
	switch s.peek() {
	case '"':
		if t := s.text(); t.empty() || len(t.bytes())%4 != 0 {
			return 0
		}
		return 1
	case '[':
	default:
		s.skip()
		return 0
	}
	numbers, nested, odd := 0, 0, false
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		switch c := s.peek(); {
		case c == '-' || '0' <= c && c <= '9':
			s.number()
			numbers++
		case c == '[' || c == '"':
			n := s.vectors()
			nested += n
			odd = odd || n == 0
		default:
			s.skip()
			odd = true
		}
	}
	switch {
	case odd || numbers > 0 && nested > 0:
		return 0
	case numbers > 0:
		return 1
	}
	return nested
}
