package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// peer stands in front of the server: while it is well it passes on what it gets, while it is ill it does as its script says.
type peer struct {
	listener net.Listener
	server   string
	script   func(c net.Conn)
	ill      atomic.Bool
}

func startPeer(ctx context.Context, server string, script func(c net.Conn)) (*peer, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &peer{listener: l, server: server, script: script}
	go p.serve(ctx)
	return p, nil
}

// serve accepts connections until the listener is closed.
func (p *peer) serve(ctx context.Context) {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if p.ill.Load() {
				p.script(c)
				return
			}
			p.pass(ctx, c)
		}()
	}
}

// pass copies both ways until either side closes.
func (p *peer) pass(ctx context.Context, c net.Conn) {
	var dialer net.Dialer
	to, err := dialer.DialContext(ctx, "tcp", p.server)
	if err != nil {
		return
	}
	go func() {
		defer to.Close()
		_, _ = io.Copy(to, c) // either end may close
	}()
	_, _ = io.Copy(c, to)
}

// Scripts, and what they say.

const (
	token = `data: {"model":"truth","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}` + "\n\n"
	role  = `data: {"model":"truth","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	last  = `data: {"model":"truth","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

// read takes a request whole; false: it does not come.
func read(c net.Conn) bool {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err == nil
}

// write tells whether the other side still listens.
func write(c net.Conn, text string) bool {
	_, err := io.WriteString(c, text)
	return err == nil
}

// swallow takes what comes and never answers.
func swallow(c net.Conn) { _, _ = io.Copy(io.Discard, c) } // until the other side gives up

// hangUp closes the connection.
func hangUp(net.Conn) {}

// say answers with a text that is all there is.
func say(text string) func(c net.Conn) {
	return func(c net.Conn) {
		if read(c) {
			write(c, text)
		}
	}
}

// answer is a whole one with this status.
func answer(status, contentType, body string) func(c net.Conn) {
	return say(fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, contentType, len(body), body))
}

// stream begins one, which goes on as then says and ends by closing the connection.
func stream(events string, then func(c net.Conn)) func(c net.Conn) {
	return func(c net.Conn) {
		if read(c) && write(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"+events) {
			then(c)
		}
	}
}

// keepAlive begins a stream that never says anything.
func keepAlive(c net.Conn) {
	stream(": waiting\n\n", func(c net.Conn) {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for write(c, ": waiting\n\n") {
			<-tick.C
		}
	})(c)
}

// flood is a line without end.
func flood(c net.Conn) {
	for line := strings.Repeat("x", 16<<10); write(c, line); {
		continue
	}
}

// babble says the same for ever.
func babble(c net.Conn) {
	for tokens := strings.Repeat(token, 100); write(c, tokens); {
		continue
	}
}
