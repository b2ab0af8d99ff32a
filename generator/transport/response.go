package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	// maxHeadBytes bounds status line and header of an answer, and the trailers of a chunked body.
	maxHeadBytes = 1 << 20
	// maxChunkLine bounds the line before a chunk, its length in hexadecimal digits and extensions that mean nothing here, and one trailer.
	maxChunkLine = 4 << 10
)

var (
	// errMalformed tells that an answer is not HTTP.
	errMalformed = errors.New("malformed answer")
	// errHeadTooLarge tells that an answer's header is.
	errHeadTooLarge = errors.New("header too large")
)

// malformed makes an error that says what is not HTTP about an answer, without too much of the answer itself.
func malformed(format string, args ...any) error {
	const most = 200
	text := fmt.Sprintf(format, args...)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return fmt.Errorf("%w: %s", errMalformed, text)
}

// stage is where in an answer the next byte belongs.
type stage uint8

const (
	inHead stage = iota
	inLength
	inRest // the end of the connection is that of the body
	inChunkLine
	inChunk
	inChunkEnd
	inTrailer
	complete
)

// responseSink takes an answer in parts.
type responseSink interface {
	// head takes the header, once.
	head(status int, header http.Header) error
	// part takes a part of the body and tells whether that is enough.
	part(p []byte) (enough bool, err error)
}

// response cuts one HTTP/1.1 answer out of the bytes of a connection, as they arrive and wherever they are cut. Bytes of the body are
// not copied. What a header means is left to net/http.
type response struct {
	sink  responseSink
	stage stage
	line  []byte // an incomplete header or line of earlier reads
	left  int64  // of the body or the chunk
	// trailing is how much of the trailers has been read.
	trailing int
	// reusable: another answer may follow on the connection.
	reusable bool
}

// write takes the bytes of one read. over tells that the answer is complete or enough of it is known; an error that it is broken.
func (r *response) write(p []byte) (over bool, err error) {
	for len(p) > 0 && r.stage != complete {
		var n int
		n, over, err = r.step(p)
		if over || err != nil {
			r.reusable = false
			return true, err
		}
		p = p[n:]
	}
	if r.stage == complete && len(p) > 0 {
		r.reusable = false // nobody has asked for more
	}
	return r.stage == complete, nil
}

// end tells that the connection has ended: an error, unless that ends the answer.
func (r *response) end() error {
	r.reusable = false
	if r.stage == inRest || r.stage == complete {
		r.stage = complete
		return nil
	}
	return io.ErrUnexpectedEOF
}

// step consumes the first n bytes.
func (r *response) step(p []byte) (n int, enough bool, err error) {
	switch r.stage {
	case inHead:
		n, err = r.stepHead(p)
	case inChunkLine, inTrailer:
		n, err = r.stepLine(p)
	case inLength, inChunk:
		n = int(min(int64(len(p)), r.left))
		r.left -= int64(n)
		enough, err = r.sink.part(p[:n])
		switch {
		case r.left > 0:
		case r.stage == inLength:
			r.stage = complete
		default:
			r.stage = inChunkEnd
		}
	case inRest:
		n = len(p)
		enough, err = r.sink.part(p)
	case inChunkEnd:
		n, err = r.stepChunkEnd(p)
	case complete:
	}
	return n, enough, err
}

// stepHead gathers the header until its blank line.
func (r *response) stepHead(p []byte) (int, error) {
	from := max(0, len(r.line)-3)
	r.line = append(r.line, p...)
	end := headEnd(r.line, from)
	if end < 0 {
		if len(r.line) > maxHeadBytes {
			return 0, fmt.Errorf("%w: more than %d bytes", errHeadTooLarge, maxHeadBytes)
		}
		return len(p), r.checkStart()
	}
	used := len(p) - (len(r.line) - end)
	head := r.line[:end]
	r.line = r.line[:0]
	return used, r.begin(head)
}

// headEnd is the index behind the blank line that ends a header, -1 if there is none at or after from; lines may end with LF alone.
func headEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		next := bytes.IndexByte(b[i:], '\n')
		if next < 0 {
			return -1
		}
		i += next
		switch rest := b[i+1:]; {
		case len(rest) > 0 && rest[0] == '\n':
			return i + 2
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return i + 3
		}
	}
	return -1
}

// checkStart refuses at once what cannot become a status line, so that it is not waited for.
func (r *response) checkStart() error {
	const start = "HTTP/"
	if n := min(len(r.line), len(start)); string(r.line[:n]) != start[:n] {
		return malformed("it does not begin with %q", start)
	}
	return nil
}

// begin takes a complete header.
func (r *response) begin(head []byte) error {
	parsed, err := http.ReadResponse(bufio.NewReaderSize(bytes.NewReader(head), 256), nil) //nolint:bodyclose // it is not read
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = errors.New("header is incomplete")
		}
		return malformed("%v", err)
	}
	if parsed.StatusCode == http.StatusSwitchingProtocols {
		return malformed("it switches protocols")
	}
	if parsed.StatusCode < 200 {
		return nil // an interim answer, the next one follows
	}
	switch {
	case parsed.StatusCode == http.StatusNoContent, parsed.StatusCode == http.StatusNotModified: // whatever the header says
		r.stage = complete
	case len(parsed.TransferEncoding) > 0:
		r.stage = inChunkLine
	case parsed.ContentLength > 0:
		r.stage, r.left = inLength, parsed.ContentLength
	case parsed.ContentLength == 0:
		r.stage = complete
	default:
		r.stage = inRest
	}
	r.reusable = !parsed.Close && r.stage != inRest
	return r.sink.head(parsed.StatusCode, parsed.Header)
}

// stepLine gathers a line of the chunked encoding.
func (r *response) stepLine(p []byte) (int, error) {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		r.line = append(r.line, p...)
		if len(r.line) > maxChunkLine {
			return 0, malformed("a line of the chunked encoding is too long")
		}
		return len(p), nil
	}
	line := p[:end]
	if len(r.line) > 0 {
		r.line = append(r.line, line...)
		line, r.line = r.line, r.line[:0]
	}
	line, whole := bytes.CutSuffix(line, []byte{'\r'})
	if !whole {
		return 0, malformed("a line of the chunked encoding ends with LF alone")
	}
	if r.stage == inTrailer {
		if r.trailing += len(line); r.trailing > maxHeadBytes {
			return 0, fmt.Errorf("%w: more than %d bytes of trailers", errHeadTooLarge, maxHeadBytes)
		}
		if len(line) == 0 {
			r.stage = complete
		}
		return end + 1, nil
	}
	size, err := chunkSize(line)
	if err != nil {
		return 0, err
	}
	r.left, r.stage = size, inChunk
	if size == 0 {
		r.stage = inTrailer
	}
	return end + 1, nil
}

// chunkSize reads the length at the start of a chunk's line.
func chunkSize(line []byte) (int64, error) {
	digits, _, _ := bytes.Cut(line, []byte{';'})
	digits = bytes.TrimRight(digits, " \t")
	if len(digits) == 0 || len(digits) > 15 {
		return 0, malformed("a chunk has no length")
	}
	var size int64
	for _, c := range digits {
		i := strings.IndexByte("0123456789abcdef", c|0x20)
		if i < 0 || c < '0' {
			return 0, malformed("the length of a chunk is no number")
		}
		size = size<<4 | int64(i)
	}
	return size, nil
}

// stepChunkEnd passes the line break behind a chunk.
func (r *response) stepChunkEnd(p []byte) (int, error) {
	switch {
	case p[0] == '\n' && len(r.line) > 0:
		r.stage = inChunkLine
		r.line = r.line[:0]
	case p[0] == '\r' && len(r.line) == 0:
		r.line = append(r.line, '\r')
	default:
		return 0, malformed("a chunk is longer than its length")
	}
	return 1, nil
}
