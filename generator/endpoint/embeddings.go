package endpoint

import (
	"errors"
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The protocols whose answers are vectors.
const (
	Embeddings     Type = "embeddings"      // of OpenAI
	ChatEmbeddings Type = "chat_embeddings" // of a conversation (vLLM)
	NIMEmbeddings  Type = "nim_embeddings"  // of texts, images, or one of each together
	NVCLIP         Type = "nvclip"          // of texts and images, each by itself
)

func newEmbeddings(cfg *Config) Codec { return embeddingsOf(cfg, askedTexts) }

func newNIMEmbeddings(cfg *Config) Codec { return embeddingsOf(cfg, nimInputs) }

func newNVCLIP(cfg *Config) Codec { return embeddingsOf(cfg, clipInputs) }

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

// clipInputs are texts, and behind them images.
func clipInputs(p *prompt.Prompt) ([]string, error) {
	q, err := newQuestion(p)
	if err != nil {
		return nil, err
	}
	inputs := q.inputs()
	for _, image := range q.Of(prompt.Image) {
		inputs = append(inputs, mediaURL(image))
	}
	if len(inputs) == 0 {
		return nil, errors.New("prompt has neither text nor image")
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
		case "usage":
			r.usage = r.inputUsage()
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
		if t := s.text(); !t.empty() && len(t.bytes())%4 == 0 {
			return 1
		}
		return 0
	case '[':
		return s.vectorList()
	}
	s.skip()
	return 0
}

// vectorList is vectors for a list.
func (s *scanner) vectorList() int {
	numbers, nested, odd := 0, 0, false
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		if c := s.peek(); c == '-' || '0' <= c && c <= '9' {
			s.number()
			numbers++
			continue
		}
		n := s.vectors()
		nested += n
		odd = odd || n == 0
	}
	if odd || numbers > 0 && nested > 0 {
		return 0
	}
	return min(numbers, 1) + nested
}
