package scrape

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// firstRead is the room for a body of unknown length.
const firstRead = 64 << 10

var errEncoding = errors.New("answer is compressed in another way than was asked for, or broken")

// read takes the body of an answer, into buffer if it is large enough.
func read(response *http.Response, buffer []byte) ([]byte, error) {
	from := io.Reader(&limited{from: response.Body, left: maxBody})
	switch encoding := strings.ToLower(response.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		if response.ContentLength > maxBody {
			return nil, errTooLarge
		}
		// One byte more than there is: it takes a read without any to see the end.
		buffer = slices.Grow(buffer[:0], int(max(0, response.ContentLength))+1)
	case "gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, corrupt(err)
		}
		from = &limited{from: z, left: maxBody}
	default:
		return nil, fmt.Errorf("%w: %q", errEncoding, secret.Abridged(encoding, 20))
	}
	return readAll(from, buffer[:0])
}

func readAll(from io.Reader, body []byte) ([]byte, error) {
	for {
		if len(body) == cap(body) {
			body = roomier(body)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, corrupt(err)
		}
	}
}

// roomier has twice the room, though no more than an answer may need: append would make it more, and what is too large would cost several times
// what it may have.
func roomier(body []byte) []byte {
	larger := make([]byte, len(body), min(max(firstRead, 2*len(body)), maxBody+1))
	copy(larger, body)
	return larger
}

// corrupt marks what is wrong with the compression.
func corrupt(err error) error {
	if isCorrupt(err) {
		return fmt.Errorf("%w: %w", errEncoding, err)
	}
	return err
}

// limited reads so many bytes and fails where more come.
type limited struct {
	from io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if len(p) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	if n > l.left {
		return 0, errTooLarge
	}
	l.left -= n
	return n, err
}
