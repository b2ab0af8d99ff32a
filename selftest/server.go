package selftest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxRequestBytes bounds what is read of a request, whoever sends it.
	maxRequestBytes = 1 << 20
	// maxAnswer is how long a connection may take from its beginning to its end.
	maxAnswer = 10 * time.Second
	// acceptPause is the wait after a connection that could not be accepted, for example because there are no file descriptors left.
	acceptPause = 100 * time.Millisecond
)

// server answers each request with the same stream of chat completions, each content event at its planned instant. It knows just enough
// HTTP/1.1 for that; what a full server does beside would be in the error.
type server struct {
	listener net.Listener
	preamble string // header of the answer, and the event with the role
	content  string // one content event
	ending   string // finish reason, usage, end of the stream
	// caught is told of a panic: anybody on this machine can connect, and what they send must not end the program.
	caught func(cause any)
}

// listen opens a port that only this machine can reach.
func listen(ctx context.Context, caught func(cause any)) (*server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("null target: %w", err)
	}
	choice := func(delta, finish string) string {
		return chunk(`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`)
	}
	usage := fmt.Sprintf(`{"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, promptTokens, contentEvents)
	return &server{
		listener: listener,
		caught:   caught,
		preamble: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" +
			choice(`{"role":"assistant","content":""}`, "null"),
		content: choice(`{"content":"x"}`, "null"),
		ending:  choice(`{}`, `"stop"`) + chunk(usage) + chunk("[DONE]") + "0\r\n\r\n",
	}, nil
}

// chunk frames the data of an event for the stream, and that for HTTP.
func chunk(data string) string {
	event := "data: " + data + "\n\n"
	return fmt.Sprintf("%x\r\n%s\r\n", len(event), event)
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() }

// serve answers until ctx ends, and returns when the last connection is closed.
func (s *server) serve(ctx context.Context) {
	var answers sync.WaitGroup
	defer answers.Wait()
	defer context.AfterFunc(ctx, func() { _ = s.listener.Close() })() // nothing was written to it
	for {
		conn, err := s.listener.Accept()
		switch {
		case err == nil:
			answers.Go(func() { s.answer(ctx, conn) })
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed), !wait(ctx, acceptPause):
			return
		}
	}
}

// answer serves one connection. Whatever fails in it, its client sees and counts.
func (s *server) answer(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer func() {
		if cause := recover(); cause != nil {
			s.caught(cause)
		}
	}()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // ends reads and writes
	if conn.SetDeadline(time.Now().Add(maxAnswer)) != nil || readRequest(conn) != nil {
		return
	}
	asked := time.Now()
	if _, err := io.WriteString(conn, s.preamble); err != nil {
		return
	}
	for i := range contentEvents {
		if !wait(ctx, time.Until(asked.Add(planned(i)))) {
			return
		}
		if _, err := io.WriteString(conn, s.content); err != nil {
			return
		}
	}
	_, _ = io.WriteString(conn, s.ending) // see above
}

// readRequest reads a request to its end.
func readRequest(r io.Reader) error {
	request, err := http.ReadRequest(bufio.NewReader(io.LimitReader(r, maxRequestBytes)))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err
}

// wait returns false if ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
