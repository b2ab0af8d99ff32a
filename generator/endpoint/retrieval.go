package endpoint

import (
	"errors"
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// ImageRetrieval is the protocol of the NIMs that find things in images.
const ImageRetrieval Type = "image_retrieval"

// givenImage is an image in the body. Its URL stands directly in it, other than in a chat.
type givenImage struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

func newImageRetrieval(cfg *Config) Codec {
	return &wholeCodec{
		jsonBody: jsonBody{extra: cfg.Extra}, path: always(cfg.pathOr("/v1/infer")), product: metrics.ProductImages, read: readRetrieval,
		fields: func(turn *Turn) (body, error) {
			q, err := newQuestion(turn.Prompt)
			if err != nil {
				return nil, err
			}
			images := q.Of(prompt.Image)
			if len(images) == 0 {
				return nil, errors.New("prompt has no image")
			}
			input := make([]givenImage, len(images))
			for i, p := range images {
				if isElsewhere(p) {
					return nil, fmt.Errorf("image %d: %w", i+1, errElsewhere)
				}
				input[i] = givenImage{"image_url", mediaURL(p)}
			}
			return body{{"input", input}}, nil
		},
	}
}

// readRetrieval counts the images for which an answer says what was found.
func readRetrieval(data []byte, _ *answer.Transcript, chunk *Chunk) error {
	r := newRoot(data)
	images, known := 0, false
	for ok := r.begin(); ok; ok = r.nextMember() {
		switch name := r.name(); string(name) {
		case "data":
			known = r.peek() == '['
			images = r.objects()
		default:
			r.common(name)
		}
	}
	return r.finish(Chunk{Items: images, Terminal: true, Model: shortName(r.model)}, known, "an object without data", chunk)
}
