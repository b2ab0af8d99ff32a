package endpoint

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// The protocols whose answers are images.
const (
	ImageGeneration Type = "image_generation"
	ImageEdit       Type = "image_edit"
)

// imageFields are the fields that a request for images begins with.
func imageFields(turn *Turn) (body, error) {
	text, err := askedText(turn.Prompt)
	return body{{"prompt", text}, {"model", turn.Model}, {"response_format", "b64_json"}, {"n", 1}}, err
}

// imageGeneration speaks POST /v1/images/generations.
type imageGeneration struct {
	jsonBody

	path string
}

func newImageGeneration(cfg *Config) Codec {
	return &imageGeneration{jsonBody{extra: cfg.Extra}, cfg.pathOr("/v1/images/generations")}
}

// Traits implements Codec.
func (g *imageGeneration) Traits() Traits { return Traits{Product: metrics.ProductImages} }

// Path implements Codec.
func (g *imageGeneration) Path(string, bool) string { return g.path }

// Encode implements Codec. Servers that cannot stream may refuse the field, hence it is only there if a stream is wanted.
func (g *imageGeneration) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	return g.encodeFields(dst, turn, func(turn *Turn) (body, error) {
		b, err := imageFields(turn)
		if turn.Stream {
			b.set("stream", true)
		}
		return b, err
	})
}

// Decoder implements Codec.
func (g *imageGeneration) Decoder(*answer.Transcript) Decoder { return imageDecoder{} }

// imageEdit speaks POST /v1/images/edits.
type imageEdit struct{ wholeCodec }

func newImageEdit(cfg *Config) Codec {
	e := &imageEdit{}
	e.extra, e.path, e.product = cfg.Extra, always(cfg.pathOr("/v1/images/edits")), metrics.ProductImages
	return e
}

// Decoder implements Codec.
func (e *imageEdit) Decoder(*answer.Transcript) Decoder { return imageDecoder{} }

// Encode implements Codec.
func (e *imageEdit) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	if payload := recorded(turn); payload != nil {
		return append(dst, payload...), jsonType, nil
	}
	fields, err := imageFields(turn)
	if err != nil {
		return dst, "", err
	}
	links, files, err := imagesToEdit(turn.Prompt.Last().Of(prompt.Image))
	if err != nil {
		return dst, "", err
	}
	fields = append(fields, links...)
	e.mergeForm(&fields, turn, "prompt", "image", "image[]", "url", "mask")
	return encodeForm(dst, fields, files...)
}

// imagesToEdit gives images as files, and those that are elsewhere as fields, which SGLang takes.
func imagesToEdit(images []*prompt.Part) (links body, files []formFile, err error) {
	if len(images) == 0 {
		return nil, nil, errors.New("prompt has no image")
	}
	name := "image"
	if len(images) > 1 {
		name = "image[]"
	}
	for i, p := range images {
		if isElsewhere(p) {
			links = append(links, field{"url", p.URL})
			continue
		}
		data, media, err := inlined(p)
		if err != nil {
			return nil, nil, fmt.Errorf("image %d: %w", i+1, err)
		}
		files = append(files, formFile{name, "image." + extension(media), media, data})
	}
	return links, files, nil
}

// extension is the ending of a file of this type.
func extension(mediaType string) string {
	switch mediaType {
	case "image/jpeg":
		return "jpg"
	case "audio/mpeg":
		return "mp3"
	case "audio/mp4":
		return "m4a"
	case "audio/x-wav", "audio/wave":
		return "wav"
	}
	_, sub, _ := strings.Cut(mediaType, "/")
	sub, _, _ = strings.Cut(strings.TrimPrefix(sub, "x-"), "+")
	return sub
}

// imageDecoder counts the images of an answer.
type imageDecoder struct{}

// Event implements Decoder.
func (imageDecoder) Event(name, data []byte, chunk *Chunk) error {
	data, done := signal(name, data, chunk)
	if done {
		return nil
	}
	var a imageAnswer
	a.read(data)
	c := Chunk{Items: a.images}
	if !a.inline.empty() || !a.url.empty() {
		// A server that does not name its events numbers what is not final.
		c.Partial = a.isPreview()
		c.Items++
	}
	c.Terminal = c.Items > 0 && !c.Partial
	if c.Terminal {
		c.Model = shortName(a.model)
	}
	return a.finish(c, true, "", chunk)
}

// Body implements Decoder.
func (imageDecoder) Body(data []byte, chunk *Chunk) error {
	var a imageAnswer
	a.read(data)
	c := Chunk{Items: a.images, Terminal: true, Model: shortName(a.model)}
	return a.finish(c, a.known, "an object without data", chunk)
}

// imageAnswer is what an event or a whole answer says.
type imageAnswer struct {
	root

	images int  // in `data`
	known  bool // there is such a list
	inline text // `b64_json`, if the object is an image itself
	url    text // the same
	number bool // it has a number among the previews
	event  text // `type`
}

func (a *imageAnswer) isPreview() bool {
	event := a.event.bytes()
	return bytes.HasSuffix(event, []byte(".partial_image")) || a.number && !bytes.HasSuffix(event, []byte(".completed"))
}

func (a *imageAnswer) read(data []byte) {
	a.root = newRoot(data)
	for ok := a.begin(); ok; ok = a.nextMember() {
		switch name := a.name(); string(name) {
		case "data":
			a.known = a.peek() == '['
			a.images = a.imageObjects()
		case "b64_json":
			a.inline = a.text()
		case "url":
			a.url = a.text()
		case "partial_image_index":
			a.number = a.count().Known
		case "type":
			a.event = a.text()
		default:
			a.common(name)
		}
	}
}

// imageObjects counts the objects in a list that hold an image or say where it is.
func (s *scanner) imageObjects() int {
	n := 0
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		var inline, url text
		for ok := s.enterObject(); ok; ok = s.nextMember() {
			switch string(s.name()) {
			case "b64_json":
				inline = s.text()
			case "url":
				url = s.text()
			default:
				s.skip()
			}
		}
		if !inline.empty() || !url.empty() {
			n++
		}
	}
	return n
}
