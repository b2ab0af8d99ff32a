package generator_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// scriptServer is an HTTP/1.1 server on a raw listener. It reads a request to its last byte, and then writes the exact bytes of an answer,
// each step of its script in one write at its instant. It keeps what it saw and when it wrote: the truth that records are compared with.
type scriptServer struct {
	url      string
	listener net.Listener
	answer   func(request *scriptRequest) script
	stopped  chan struct{}
	running  sync.WaitGroup

	mu       sync.Mutex // guards everything below, and the fields of requests that are marked so
	requests []*scriptRequest
	conns    map[net.Conn]bool
	accepted int
	parallel int // requests that were read and whose last byte has not been written
	most     int // of parallel
}

// scriptRequest is one request, and what became of it.
type scriptRequest struct {
	number int // in the order in which requests were read, from 0
	conn   int // number of its connection, from 0
	path   string
	header http.Header
	body   []byte
	read   time.Time // when its last byte had been read: t=0 of the script

	ended chan struct{} // closed once the script has been played or the client has gone
	// Guarded by the server's mutex.
	writes []written
	gone   time.Time // silent only: when the client closed the connection
}

// written tells between which instants the bytes of a step were handed to the kernel.
type written struct{ before, after time.Time }

// startScriptServer serves until the test ends. The answer to a request is asked for on the goroutine of its connection.
func startScriptServer(tb testing.TB, answer func(*scriptRequest) script) *scriptServer {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &scriptServer{
		url:      "http://" + listener.Addr().String(),
		listener: listener,
		answer:   answer,
		stopped:  make(chan struct{}),
		conns:    map[net.Conn]bool{},
	}
	s.running.Go(s.accept)
	tb.Cleanup(s.stop)
	return s
}

func (s *scriptServer) stop() {
	close(s.stopped)
	s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func (s *scriptServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		number := s.accepted
		s.accepted++
		s.conns[conn] = true
		s.mu.Unlock()
		s.running.Go(func() { s.serve(conn, number) })
	}
}

// serve answers the requests of one connection until the client, the script or the end of the test closes it.
func (s *scriptServer) serve(conn net.Conn, number int) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	reader := bufio.NewReader(conn)
	for {
		request, err := readRequest(reader)
		if err != nil {
			return
		}
		request.conn = number
		s.mu.Lock()
		request.number = len(s.requests)
		s.requests = append(s.requests, request)
		s.parallel++
		s.most = max(s.most, s.parallel)
		s.mu.Unlock()
		keep := s.play(conn, reader, request)
		close(request.ended)
		if !keep {
			return
		}
	}
}

func readRequest(reader *bufio.Reader) (*scriptRequest, error) {
	parsed, err := http.ReadRequest(reader)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(parsed.Body)
	if err != nil {
		return nil, err
	}
	return &scriptRequest{
		read: time.Now(), path: parsed.URL.Path, header: parsed.Header, body: body, ended: make(chan struct{}),
	}, nil
}

// play writes the answer and tells whether the connection may be used again.
func (s *scriptServer) play(conn net.Conn, reader *bufio.Reader, request *scriptRequest) bool {
	script := s.answer(request)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i, step := range script.steps {
		timer.Reset(time.Until(request.read.Add(step.at)))
		select {
		case <-timer.C:
		case <-s.stopped:
			return false
		}
		bytes := step.bytes
		if script.chunked && bytes == "" {
			bytes = "0\r\n\r\n"
		} else if script.chunked {
			bytes = fmt.Sprintf("%x\r\n%s\r\n", len(bytes), bytes)
		}
		if i == 0 {
			bytes = script.head + bytes
		}
		if i == len(script.steps)-1 && !script.silent {
			// Before and not after the write, which frees the client for its next request.
			s.mu.Lock()
			s.parallel--
			s.mu.Unlock()
		}
		before := time.Now()
		if _, err := io.WriteString(conn, bytes); err != nil {
			return false
		}
		s.mu.Lock()
		request.writes = append(request.writes, written{before, time.Now()})
		s.mu.Unlock()
	}
	if script.silent {
		_, _ = reader.Peek(1) // returns when the client closes the connection
		s.mu.Lock()
		request.gone = time.Now()
		s.mu.Unlock()
		return false
	}
	return true
}

// seen returns all requests read so far.
func (s *scriptServer) seen() []*scriptRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// wait returns the request of that number once its answer is over, with the instants of its writes.
func (s *scriptServer) wait(tb testing.TB, number int) (*scriptRequest, []written) {
	tb.Helper()
	all := s.seen()
	if number >= len(all) {
		tb.Fatalf("the server has seen %d requests, want at least %d", len(all), number+1)
	}
	<-all[number].ended
	s.mu.Lock()
	defer s.mu.Unlock()
	return all[number], slices.Clone(all[number].writes)
}

// mostParallel is how many requests, each on a connection of its own, were being answered at most at one instant.
func (s *scriptServer) mostParallel() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}
