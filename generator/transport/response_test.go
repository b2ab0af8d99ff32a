package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// gathered is what a response gave.
type gathered struct {
	status int
	body   []byte
	limit  int // of the body, 0 = none
}

func (g *gathered) head(status int, _ http.Header) error {
	g.status = status
	return nil
}

func (g *gathered) part(p []byte) (bool, error) {
	g.body = append(g.body, p...)
	return g.limit > 0 && len(g.body) >= g.limit, nil
}

// parse gives the bytes in pieces of that size and then the end of the connection.
func parse(wire []byte, piece int) (*gathered, *response, error) {
	g := &gathered{}
	r := &response{sink: g}
	for begin := 0; begin < len(wire); begin += piece {
		if over, err := r.write(wire[begin:min(begin+piece, len(wire))]); over || err != nil {
			return g, r, err
		}
	}
	return g, r, r.end()
}

func TestAnAnswerIsTheSameWhereverItIsCut(t *testing.T) {
	t.Parallel()
	const body = "data: a\n\ndata: b\r\n\r\n"
	for _, tt := range []struct {
		name     string
		wire     string
		status   int
		body     string
		reusable bool
		err      error
	}{
		{"by length", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body), 200, body, true, nil},
		{"by length, cut off", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body)+1, body), 200, body, false, io.ErrUnexpectedEOF},
		{"lines that end with LF alone", "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", 200, "abc", true, nil},
		{"by chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n000\r\n\r\n", 200, "abc0123456789", true, nil},
		{"by chunks, with trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\nZ: \r\n\r\n", 200, "a", true, nil},
		{"by chunks, without the end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", 200, "a", false, io.ErrUnexpectedEOF},
		{"by the end of the connection", "HTTP/1.1 200 OK\r\n\r\nabc", 200, "abc", false, nil},
		{"to be closed", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", 200, "a", false, nil},
		{"after interim answers", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 429 Slow\r\nContent-Length: 2\r\n\r\nno", 429, "no", true, nil},
		{"more than the answer", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", 200, "a", false, nil},
		{"no status line", "SSH-2.0-OpenSSH\r\n", 0, "", false, errMalformed},
		{"a chunk without length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nabc", 200, "", false, errMalformed},
		{"chunks whose lines end with LF alone", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n", 200, "", false, errMalformed},
		{"a chunk that ends with LF alone", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n", 200, "abc", false, errMalformed},
		{"a chunk with a negative length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc", 200, "", false, errMalformed},
		{"a chunk longer than all memory", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc", 200, "", false, errMalformed},
		{"a chunk whose extension does not end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", maxChunkLine), 200, "", false, errMalformed},
		{"a header that does not end", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHeadBytes), 0, "", false, errHeadTooLarge},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", 0, "", false, errMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pieces := []int{len(tt.wire), 4096, 7}
			if len(tt.wire) < 1000 {
				pieces = append(pieces, 1, 2, 3)
			}
			for _, piece := range pieces {
				g, r, err := parse([]byte(tt.wire), piece)
				reusable := r.reusable
				if tt.name == "more than the answer" && piece < len(tt.wire) {
					reusable = false // what came later is found before the connection is used again
				}
				if g.status != tt.status || string(g.body) != tt.body || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) || reusable != tt.reusable {
					t.Errorf("in pieces of %d: status %d, body %q, reusable %v, %v; want %d, %q, %v, %v", piece, g.status, g.body, r.reusable, err, tt.status, tt.body, tt.reusable, tt.err)
				}
			}
		})
	}
}

func TestAnAnswerThatIsEnoughIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	g := &gathered{limit: 3}
	r := &response{sink: g}
	over, err := r.write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef"))
	if !over || err != nil || r.reusable {
		t.Errorf("over %v, reusable %v, %v, want an end and a connection that is not used again", over, r.reusable, err)
	}
}

// FuzzResponse holds the parser against net/http, whatever a server sends and wherever it is cut.
func FuzzResponse(f *testing.F) {
	for _, wire := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.0 404 Not Found\r\n\r\nabc",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 1\n\na",
	} {
		f.Add([]byte(wire), 1)
		f.Add([]byte(wire), 5)
	}
	f.Fuzz(func(t *testing.T, wire []byte, piece int) {
		if piece < 1 || piece > 1<<16 || len(wire) > 1<<16 {
			return
		}
		g, _, err := parse(wire, piece)
		whole, _, wholeErr := parse(wire, max(1, len(wire)))
		if !bytes.Equal(g.body, whole.body) || g.status != whole.status || (err == nil) != (wholeErr == nil) {
			t.Fatalf("in pieces of %d: status %d, body %q, %v; whole: status %d, body %q, %v", piece, g.status, g.body, err, whole.status, whole.body, wholeErr)
		}
		if err != nil {
			return // what is refused here may be tolerated there
		}
		status, body, reference := readByNetHTTP(wire)
		if reference != nil && bytes.Contains(wire, []byte("\n0")) {
			return // it reads trailers, which mean nothing here
		}
		if reference != nil || status != g.status || !bytes.Equal(body, g.body) {
			t.Fatalf("status %d, body %q; net/http: status %d, body %q, %v", g.status, g.body, status, body, reference)
		}
	})
}

func readByNetHTTP(wire []byte) (int, []byte, error) {
	in := bufio.NewReader(bytes.NewReader(wire))
	for {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			return 0, nil, err
		}
		if response.StatusCode < 200 {
			continue
		}
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, body, err
	}
}
