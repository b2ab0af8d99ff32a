package history

import (
	"bytes"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

const (
	// maxBody bounds what is kept of a request's and of an answer's body.
	maxBody = 16 << 10
	// maxSecret is how long a secret can be. One that begins before the end of what is looked at is not seen whole, hence not removed.
	maxSecret = 8 << 10
	// maxDetail bounds the words about a failure, maxName those that a dataset or a server calls something.
	maxDetail, maxName = 4 << 10, 256
)

// bodies are what was asked and answered; "" = it is not kept.
type bodies struct{ prompt, answer string }

// Tape is how many bytes of the bodies of a target's exchanges are to be recorded for it; the marks of reads of 16 bytes and more have room beside them.
func (h *History) Tape(string) int {
	if !h.config.Load().KeepBodies {
		return 0
	}
	return 2 * (maxBody + maxSecret)
}

// asked is the beginning of a request's body, without secrets either in the fields that are called like one. cut: it went on.
func (h *History) asked(raw []byte, cut bool) string {
	raw = bytes.Clone(raw[:min(len(raw), maxBody+maxSecret+1)]) // others see the tape, too
	secret.BlotFields(raw)
	return h.body(raw, cut)
}

// body is the beginning of a body without secrets. cut: it went on.
func (h *History) body(raw []byte, cut bool) string {
	whole := !cut && len(raw) <= maxBody+maxSecret
	raw = raw[:min(len(raw), maxBody+maxSecret)]
	text := string(raw)
	if h.deps.Redact != nil {
		text = h.deps.Redact(text)
	}
	if !whole {
		text = text[:max(0, len(text)-maxSecret)] // half a secret may be there
	}
	return clip(text, maxBody)
}

// clip keeps the first bytes of a text, without half a character at its end, and lets go of the rest.
func clip(text string, maxBytes int) string {
	if len(text) > maxBytes {
		text = strings.Clone(text[:maxBytes])
	}
	return strings.ToValidUTF8(text, "")
}
