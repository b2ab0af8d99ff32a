package endpoint

import (
	"bytes"
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// AudioTranscription is the protocol that puts speech into words.
const AudioTranscription Type = "audio_transcription"

// transcription speaks POST /v1/audio/transcriptions.
type transcription struct{ wholeCodec }

func newTranscription(cfg *Config) Codec {
	t := &transcription{}
	t.extra, t.path, t.product = cfg.Extra, always(cfg.pathOr("/v1/audio/transcriptions")), metrics.ProductTranscript
	t.read = readTranscript
	return t
}

// Encode implements Codec.
func (t *transcription) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	if payload := recorded(turn); payload != nil {
		return append(dst, payload...), jsonType, nil
	}
	q, err := newQuestion(turn.Prompt)
	if err != nil {
		return dst, "", err
	}
	clips := q.Of(prompt.Audio)
	if len(clips) != 1 {
		return dst, "", fmt.Errorf("prompt has %d audio clips, a transcription takes one", len(clips))
	}
	data, media, err := inlined(clips[0])
	if err != nil {
		return dst, "", fmt.Errorf("audio clip: %w", err)
	}
	fields := body{{"model", turn.Model}}
	t.mergeForm(&fields, turn, "file")
	// Servers tell the format from the ending of the name.
	return encodeForm(dst, fields, formFile{"file", "audio." + extension(media), media, data})
}

// readTranscript reads an answer of any response_format: json and verbose_json are objects, with text, srt and vtt the answer is the
// transcript itself.
func readTranscript(data []byte, keep *answer.Transcript, chunk *Chunk) error {
	plain := bytes.TrimSpace(data)
	switch {
	case isPage(plain):
		return &ProtocolError{Reason: "markup instead of a transcript"}
	case bytes.HasPrefix(plain, []byte("{")):
		return readTranscriptObject(data, keep, chunk)
	}
	said := plainTranscript(plain)
	*chunk = Chunk{Text: len(said) > 0, Terminal: true}
	if keep != nil {
		keep.Text = append(keep.Text, said...)
	}
	return nil
}

func readTranscriptObject(data []byte, keep *answer.Transcript, chunk *Chunk) error {
	r := newRoot(data)
	var said text
	known := false
	for ok := r.begin(); ok; ok = r.nextMember() {
		switch name := r.name(); string(name) {
		case "text":
			known = r.peek() == '"'
			said = r.text()
		default:
			r.common(name)
		}
	}
	c := Chunk{Text: !said.empty(), Terminal: true, Model: shortName(r.model)}
	if err := r.finish(c, known, "an object without text", chunk); err != nil {
		return err
	}
	if keep != nil {
		keep.Text = said.appendTo(keep.Text)
	}
	return nil
}

// plainTranscript gives what a transcript says that is no object. Frameworks that write every answer as JSON put it in quotes.
func plainTranscript(plain []byte) []byte {
	if bytes.HasPrefix(plain, []byte(`"`)) {
		s := scanner{data: plain}
		if said := s.text(); s.end() == nil {
			return said.appendTo(nil)
		}
	}
	// Nothing but the head of WebVTT: nobody has spoken.
	if rest, found := bytes.CutPrefix(plain, []byte("WEBVTT")); found && len(bytes.TrimSpace(rest)) == 0 {
		return nil
	}
	return plain
}

// isPage tells a page for people from a text. A transcript may begin with a token in angle brackets.
func isPage(data []byte) bool {
	for _, start := range []string{"<!doctype", "<html"} {
		if len(data) >= len(start) && bytes.EqualFold(data[:len(start)], []byte(start)) {
			return true
		}
	}
	return false
}
