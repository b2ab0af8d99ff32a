package capture

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const (
	// maxPlayed is how many connections are served at a time; others wait.
	maxPlayed = 256
	// maxRequestBytes bounds what is read of a request.
	maxRequestBytes = 64 << 20
	// requestTimeout is how long a request may take to come, and a kept connection to bring the next.
	requestTimeout = time.Minute
	// acceptPause is the wait after a connection that could not be accepted, for example because there are no file descriptors left.
	acceptPause = 100 * time.Millisecond
)

// Player answers every POST as a captured request was answered: with the same bytes in the same pieces, each as long after the request had been read,
// and with the same end. It speaks just enough HTTP/1.1 for that.
type Player struct {
	steps []step
	end   metrics.TapeEnd
	endAt time.Duration
	last  []byte // what is written at the end, if anything is
	// sleep takes the last bit of a wait.
	sleep func(time.Duration)
}

// step is one write, counted from when the request has been read.
type step struct {
	at    time.Duration
	bytes []byte
}

// hopByHop are the headers that belong to the connection on which the answer came.
var hopByHop = []string{
	"Connection", "Content-Length", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// NewPlayer prepares the answer. speed is by how much it comes faster, 1 = as it came.
func NewPlayer(c *Capture, speed float64) *Player {
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) }
	p := &Player{end: c.End, endAt: scaled(c.EndAt), sleep: exactly}
	if c.Status == 0 {
		if c.End == metrics.EndMalformed {
			p.last = []byte("this is not HTTP\r\n\r\n")
		}
		return p
	}
	p.add(scaled(c.HeaderAt), head(c))
	if bodiless(c.Status) {
		return p
	}
	from := 0
	for _, read := range c.Reads {
		p.add(scaled(read.At), chunk(c.Body[from:read.End]))
		from = read.End
	}
	switch c.End {
	case metrics.EndComplete, metrics.EndStopped:
		p.add(p.endAt, []byte("0\r\n\r\n"))
	case metrics.EndMalformed:
		p.last = []byte("this is no chunk\r\n")
	case metrics.EndCut, metrics.EndReset, metrics.EndSilence:
	}
	return p
}

// add takes a write; what is due at the same instant is one.
func (p *Player) add(at time.Duration, b []byte) {
	if n := len(p.steps); n > 0 && p.steps[n-1].at == at {
		p.steps[n-1].bytes = append(p.steps[n-1].bytes, b...)
		return
	}
	p.steps = append(p.steps, step{at, b})
}

// bodiless tells that an answer of that status has no body.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

func head(c *Capture) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %03d %s\r\n", c.Status, http.StatusText(c.Status))
	header := http.Header{}
	for name, values := range c.Header {
		if !slices.Contains(hopByHop, http.CanonicalHeaderKey(name)) {
			header[name] = values
		}
	}
	if !bodiless(c.Status) {
		header["Transfer-Encoding"] = []string{"chunked"}
	}
	_ = header.Write(&out) // memory
	out.WriteString("\r\n")
	return out.Bytes()
}

// chunk frames a piece for HTTP.
func chunk(piece []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(piece), piece) }

// Listen opens a port that only this machine can reach: the answer may be anybody's.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("address %s is not one of the loopback interface, such as 127.0.0.1:0", address)
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// Serve answers until ctx ends, closes the listener, and returns when the last connection is closed.
func (p *Player) Serve(ctx context.Context, listener net.Listener) {
	var connections sync.WaitGroup
	defer connections.Wait()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })() // nothing was written to it
	slots := make(chan struct{}, maxPlayed)
	for {
		slots <- struct{}{}
		conn, err := listener.Accept()
		switch {
		case err == nil:
			connections.Go(func() {
				defer func() { <-slots }()
				p.serve(ctx, conn)
			})
			continue
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed), !wait(ctx, acceptPause):
			return
		}
		<-slots
	}
}

// serve answers the requests of one connection until something ends it. Whatever fails, its client sees.
func (p *Player) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // ends reads and writes
	in := bufio.NewReader(conn)
	for {
		_ = conn.SetDeadline(time.Now().Add(requestTimeout))
		refusal, last, err := readRequest(in, conn)
		asked := time.Now()
		_ = conn.SetDeadline(time.Time{})
		if err != nil {
			return
		}
		if refusal != "" {
			_, _ = io.WriteString(conn, refusal)
			return
		}
		if !p.play(ctx, conn, asked) || last {
			p.close(conn, in)
			return
		}
	}
}

// readRequest reads a request to its end, and tells how to refuse it, "" = not, and whether its client wants no other after it.
func readRequest(in *bufio.Reader, out io.Writer) (refusal string, last bool, err error) {
	request, err := http.ReadRequest(in)
	if err != nil {
		return "", false, err
	}
	if strings.EqualFold(request.Header.Get("Expect"), "100-continue") {
		_, _ = io.WriteString(out, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	n, err := io.Copy(io.Discard, io.LimitReader(request.Body, maxRequestBytes+1))
	switch {
	case err != nil:
		return "", false, err
	case n > maxRequestBytes:
		return "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", true, nil
	case request.Method != http.MethodPost:
		return "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", true, nil
	}
	return "", request.Close, nil
}

// play writes the answer and tells whether another one may follow.
func (p *Player) play(ctx context.Context, conn net.Conn, asked time.Time) bool {
	for _, s := range p.steps {
		if !p.await(ctx, asked.Add(s.at)) {
			return false
		}
		if _, err := conn.Write(s.bytes); err != nil {
			return false
		}
	}
	if p.end == metrics.EndComplete || p.end == metrics.EndStopped {
		return len(p.steps) > 0
	}
	if !p.await(ctx, asked.Add(p.endAt)) {
		return false
	}
	_, _ = conn.Write(p.last)
	return false
}

// close ends a connection as the captured one ended.
func (p *Player) close(conn net.Conn, in io.Reader) {
	switch p.end {
	case metrics.EndReset:
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // what was written is lost if it has not arrived yet, as it is with any reset
		}
	case metrics.EndSilence:
		_, _ = io.Copy(io.Discard, in) // until the client goes
	case metrics.EndComplete, metrics.EndCut, metrics.EndMalformed, metrics.EndStopped:
	}
}

// lastBit is how long before an instant a timer is to fire: more than it may be late.
const lastBit = 2 * time.Millisecond

// await waits for an instant; false if ctx ends before.
func (p *Player) await(ctx context.Context, until time.Time) bool {
	if left := time.Until(until) - lastBit; left > 0 && !wait(ctx, left) {
		return false
	}
	if left := time.Until(until); left > 0 {
		p.sleep(left)
	}
	return ctx.Err() == nil
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
