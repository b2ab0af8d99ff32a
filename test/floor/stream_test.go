package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const body = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
	"e\r\ndata: {\"a\":1}\n\r\n" + "1c\r\ndata: {\"b\":2}\n\ndata: [DONE]\n\r\n" + "0\r\n\r\n"

func TestEventsAreCountedHoweverReadsCutThem(t *testing.T) {
	t.Parallel()
	for size := 12; size <= len(body); size++ { // the status has to come in one read
		var count result
		parts := &pieces{text: body, size: size}
		if err := answer(parts, make([]byte, bufferSize), &count); err != nil {
			t.Fatalf("%d bytes per read: %v", size, err)
		}
		want := result{Events: 3, Reads: int64((len(body) + size - 1) / size)}
		if diff := cmp.Diff(want, count, cmpopts.IgnoreUnexported(result{})); diff != "" {
			t.Errorf("%d bytes per read (-want +got):\n%s", size, diff)
		}
		if count.last.IsZero() {
			t.Error("no time of the last read")
		}
	}
}

// pieces is a reader that gives at most size bytes at a time.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	if n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

func TestAnAnswerThatIsNoStreamIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer io.Reader
		want   error
	}{
		"refused":   {strings.NewReader("HTTP/1.1 400 Bad Request\r\n\r\n"), errNoStream},
		"cut short": {strings.NewReader(body[:60]), io.EOF},
		"reset":     {iotest.ErrReader(io.ErrClosedPipe), io.ErrClosedPipe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := answer(test.answer, make([]byte, bufferSize), new(result)); !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
		})
	}
}

func TestRunMakesTheRequestsAndPrintsWhatTheyTook(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			MaxTokens int  `json:"max_tokens"`
			Stream    bool `json:"stream"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || !asked.Stream {
			http.Error(w, "no stream asked for", http.StatusBadRequest)
			return
		}
		io.WriteString(w, strings.Repeat("data: {}\n\n", asked.MaxTokens))
		w.(http.Flusher).Flush()
	}))
	defer server.Close()
	var stdout, stderr bytes.Buffer
	args := []string{"-address", server.Listener.Addr().String(), "-streams", "3", "-requests", "7", "-tokens", "5", "-spread", "3ms"}
	if code := run(args, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var got result
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Requests != 7 || got.Events != 35 || got.CPU <= 0 || got.Wall <= 0 || got.Wall > time.Minute.Seconds() {
		t.Errorf("got %+v, want 7 requests, 35 events and times above 0", got)
	}
}

func TestRunFailsWithoutAServer(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-address", "127.0.0.1:0"}, &stdout, &stderr); code != 1 || stderr.Len() == 0 {
		t.Errorf("got exit code %d and %q, want 1 and a reason", code, stderr.String())
	}
}
