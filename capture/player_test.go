package capture

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// pipes is a listener whose connections are in memory, so that they live in simulated time.
type pipes struct {
	conns chan net.Conn
	gone  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), gone: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.gone:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.gone)
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// arrival is what a read brought, and when since the request.
type arrival struct {
	At   time.Duration
	Text string
}

// arrivals reads a connection to its end; what comes at one instant is one.
func arrivals(conn io.Reader, asked time.Time) []arrival {
	var out []arrival
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		at := time.Since(asked)
		if last := len(out) - 1; n > 0 && last >= 0 && out[last].At == at {
			out[last].Text += string(buffer[:n])
		} else if n > 0 {
			out = append(out, arrival{at, string(buffer[:n])})
		}
		if err != nil {
			return append(out, arrival{at, "end"})
		}
	}
}

// onTimer sleeps in simulated time.
func onTimer(d time.Duration) { <-time.NewTimer(d).C }

// stream is a capture with three pieces.
func stream(end metrics.TapeEnd) *Capture {
	return &Capture{
		Status: 200, Header: map[string][]string{"X-Server": {"a"}, "Connection": {"close"}, "Content-Length": {"99"}, "Keep-Alive": {"x"}},
		HeaderAt: 100 * time.Millisecond, Body: []byte("onetwothree"),
		Reads: []Piece{{100 * time.Millisecond, 3}, {250*time.Millisecond + 1, 6}, {3 * time.Second, 11}}, End: end, EndAt: 4 * time.Second,
	}
}

const headOfStream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Server: a\r\n\r\n"

func TestPlayerWritesEachPieceAtItsInstant(t *testing.T) {
	t.Parallel()
	three := []arrival{
		{100 * time.Millisecond, headOfStream + "3\r\none\r\n"}, {250*time.Millisecond + 1, "3\r\ntwo\r\n"}, {3 * time.Second, "5\r\nthree\r\n"},
	}
	twice := make([]arrival, 3)
	for i, a := range three {
		twice[i] = arrival{a.At / 2, a.Text}
	}
	silent := &Capture{End: metrics.EndSilence, EndAt: time.Second}
	tests := []struct {
		name    string
		capture *Capture
		speed   float64
		want    []arrival
	}{
		{"complete", stream(metrics.EndComplete), 1, append(three[:3:3], arrival{4 * time.Second, "0\r\n\r\nend"})},
		{"stopped", stream(metrics.EndStopped), 1, append(three[:3:3], arrival{4 * time.Second, "0\r\n\r\nend"})},
		{"twice as fast", stream(metrics.EndComplete), 2, append(twice, arrival{2 * time.Second, "0\r\n\r\nend"})},
		{"cut", stream(metrics.EndCut), 1, append(three[:3:3], arrival{4 * time.Second, "end"})},
		{"reset", stream(metrics.EndReset), 1, append(three[:3:3], arrival{4 * time.Second, "end"})},
		{"malformed", stream(metrics.EndMalformed), 1, append(three[:3:3], arrival{4 * time.Second, "this is no chunk\r\nend"})},
		{"silence, until the client is stopped", stream(metrics.EndSilence), 1, append(three[:3:3], arrival{time.Minute, "end"})},
		{"no answer", &Capture{End: metrics.EndCut, EndAt: time.Second}, 1, []arrival{{time.Second, "end"}}},
		{"silence from the beginning", silent, 1, []arrival{{time.Minute, "end"}}},
		{"no HTTP", &Capture{End: metrics.EndMalformed, EndAt: time.Second}, 1, []arrival{{time.Second, "this is not HTTP\r\n\r\nend"}}},
		{"no content", &Capture{Status: 204, End: metrics.EndComplete, EndAt: time.Second}, 1, []arrival{{0, "HTTP/1.1 204 No Content\r\n\r\nend"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // stops what would be silent for ever
				defer cancel()
				p, listener := NewPlayer(tt.capture, tt.speed), newPipes()
				p.sleep = onTimer
				go p.Serve(ctx, listener)
				conn := listener.dial()
				defer conn.Close()
				asked := time.Now()
				if _, err := io.WriteString(conn, "POST /any HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
					t.Fatal(err)
				}
				got := arrivals(conn, asked)
				if last := len(got) - 2; last >= 0 && got[last].At == got[last+1].At {
					got = append(got[:last], arrival{got[last].At, got[last].Text + got[last+1].Text})
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestPlayerServesOneConnectionAgainAndAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p, listener := NewPlayer(stream(metrics.EndComplete), 1), newPipes()
		p.sleep = onTimer
		go p.Serve(ctx, listener)
		conn := listener.dial()
		defer conn.Close()
		in := bufio.NewReader(conn)
		for range 3 {
			if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil || string(body) != "onetwothree" || response.Header.Get("X-Server") != "a" {
				t.Errorf("body %q, header %v: %v", body, response.Header, err)
			}
		}
	})
}

func TestPlayerRefusesWhatIsNoPost(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n": "HTTP/1.1 405 Method Not Allowed\r\n",
		"hello\r\n\r\n":                     "",
		"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 0\r\nConnection: close\r\n\r\n": "HTTP/1.1 100 Continue\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, listener := NewPlayer(stream(metrics.EndComplete), 1), newPipes()
			p.sleep = onTimer
			go p.Serve(ctx, listener)
			conn := listener.dial()
			defer conn.Close()
			go func() { _, _ = io.WriteString(conn, request) }()
			text, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(text), want) || (want == "") != (len(text) == 0) {
				t.Errorf("%q: got %q, %v, want %q", request, text, err, want)
			}
		})
	}
}

func TestOnlyThisMachineCanAsk(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "192.0.2.1:80": false, "example.com:80": false, "nonsense": false,
	} {
		listener, err := Listen(t.Context(), address)
		if (err == nil) != want {
			t.Errorf("%s: %v, want a listener: %v", address, err, want)
		}
		if err == nil {
			listener.Close()
		}
	}
}
