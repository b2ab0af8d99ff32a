package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// bufferSize is that of a read.
const bufferSize = 16 << 10

// What a good answer begins with, what each event begins with, and what a body in the chunked transfer encoding ends with.
var (
	statusOK   = []byte("HTTP/1.1 200")
	eventStart = []byte("data: ")
	answerEnd  = []byte("0\r\n\r\n")
)

// read makes all requests and counts what comes back. The first error of a connection ends it.
func read(ctx context.Context, o *options) (result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request := prepare(o)
	var left atomic.Int64
	left.Store(int64(o.requests))
	counts := make([]result, o.streams)
	var wait sync.WaitGroup
	for i := range counts {
		delay := o.spread * time.Duration(i) / time.Duration(o.streams)
		wait.Go(func() {
			if err := connection(ctx, o.address, delay, request, &left, &counts[i]); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	if err := context.Cause(ctx); err != nil {
		return result{}, err
	}
	var all result
	for i := range counts {
		all.Requests += counts[i].Requests
		all.Events += counts[i].Events
		all.Reads += counts[i].Reads
		if counts[i].last.After(all.last) {
			all.last = counts[i].last
		}
	}
	return all, nil
}

func prepare(o *options) []byte {
	body := fmt.Sprintf(`{"model":"truth","stream":true,"stream_options":{"include_usage":true},"max_tokens":%d,`+
		`"messages":[{"role":"user","content":"hello"}]}`, o.tokens)
	return fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		o.address, len(body), body)
}

// connection sends requests, after a delay, until none is left.
func connection(ctx context.Context, address string, delay time.Duration, request []byte, left *atomic.Int64, count *result) error {
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil
	}
	if left.Load() <= 0 {
		return nil
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	// Reads end when another connection has failed or the process shall end.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	buf := make([]byte, bufferSize)
	for left.Add(-1) >= 0 {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if err := answer(conn, buf, count); err != nil {
			return err
		}
		count.Requests++
	}
	return nil
}

var errNoStream = errors.New("the server answered with an error")

// answer reads to the end of one answer.
func answer(conn io.Reader, buf []byte, count *result) error {
	kept, first := 0, true
	for {
		n, err := conn.Read(buf[kept:])
		if err != nil {
			return err
		}
		count.last = time.Now()
		count.Reads++
		if first && !bytes.HasPrefix(buf[:n], statusOK) {
			return fmt.Errorf("%w: %q", errNoStream, buf[:min(n, 200)])
		}
		first = false
		got := buf[:kept+n]
		count.Events += int64(bytes.Count(got, eventStart))
		if bytes.HasSuffix(got, answerEnd) {
			return nil
		}
		// An event's start and the end need not lie within one read, so the last bytes, too few to be counted twice, stay in front.
		kept = copy(buf, got[max(0, len(got)-len(eventStart)+1):])
	}
}
