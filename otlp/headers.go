package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// maxHeadersFile bounds what is read of a file with headers: a larger one is a wrong path.
const maxHeadersFile = 64 << 10

// headers are what each request carries. Safe for concurrent use.
type headers struct {
	fixed map[string]secret.Secret
	path  string // "" = there is no file

	mu       sync.Mutex
	text     []byte // of the file, as it was last read
	known    metadata.MD
	redactor *secret.Redactor // of what is known, and of what was known before
}

// newHeaders makes those of a configuration. An error is that of the file.
func newHeaders(c *Config) (*headers, error) {
	h := &headers{fixed: c.Headers, path: c.HeadersFile, redactor: &secret.Redactor{}}
	_, err := h.now()
	return h, err
}

// now gives the headers of this moment. With an error about the file, those of before.
func (h *headers) now() (metadata.MD, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var text []byte
	if h.path != "" {
		var err error
		if text, err = readHeaders(h.path); err != nil {
			return h.known, err
		}
	}
	if h.known != nil && bytes.Equal(text, h.text) {
		return h.known, nil
	}
	written, err := parseHeaders(text)
	if err != nil {
		return h.known, fmt.Errorf("headers file %s: %w", h.path, err)
	}
	md := metadata.MD{}
	for name, value := range h.fixed {
		md.Set(name, value.Reveal())
	}
	maps.Copy(md, written)
	h.redactor = redactorOf(h.known, md)
	h.text, h.known = text, md
	return md, nil
}

// redact takes the values out of a text that a collector wrote.
func (h *headers) redact(text string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.redactor.Redact(text)
}

// redactorOf knows values whole, and the words of which they are made: a token stands behind the name of its scheme.
func redactorOf(all ...metadata.MD) *secret.Redactor {
	out := &secret.Redactor{}
	for _, md := range all {
		for _, values := range md {
			for _, value := range append(strings.Fields(values[0]), values[0]) {
				out.Add(secret.Literal("header", secret.Secret(value)))
			}
		}
	}
	return out
}

func readHeaders(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("headers file: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(f, maxHeadersFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("headers file: %w", err)
	case len(text) > maxHeadersFile:
		return nil, fmt.Errorf("headers file %s: larger than %d bytes", path, maxHeadersFile)
	}
	return text, nil
}

// parseHeaders reads a header in each line, `name: value`. Lines that are empty or begin with # say nothing. Errors quote no value.
func parseHeaders(text []byte) (metadata.MD, error) {
	out := metadata.MD{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		err := errors.New("must be name: value")
		if found {
			err = checkHeader(name, value)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		out.Set(name, value)
	}
	return out, nil
}
