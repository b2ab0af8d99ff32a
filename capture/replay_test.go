package capture_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/capture"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func readRequest(conn io.Reader) bool {
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err == nil
}

// faults are what a server can do wrong, and what it is called.
var faults = []struct {
	name   string
	script func(*net.TCPConn)
	class  metrics.ErrorClass // "" = nothing is wrong
	end    metrics.TapeEnd
}{
	{"a slow success", func(c *net.TCPConn) {
		say(c, chunkedHead+chunk(token("a")))
		pause()
		say(c, chunk(token("b"))+chunk(token("c")))
		pause()
		say(c, chunk(ending)+"0\r\n\r\n")
	}, "", metrics.EndComplete},
	{"an answer that is not a stream", func(c *net.TCPConn) {
		pause()
		say(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n")
		pause()
		say(c, "[1]")
	}, metrics.ErrParse, metrics.EndComplete},
	{"a refusal", func(c *net.TCPConn) {
		say(c, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\nContent-Length: 22\r\n\r\n{\"error\":\"overloaded\"}\n")
	}, metrics.ErrHTTP5xx, metrics.EndComplete},
	{"no content", func(c *net.TCPConn) { say(c, "HTTP/1.1 204 No Content\r\n\r\n") }, metrics.ErrEmpty, metrics.EndComplete},
	{"an error in the stream", func(c *net.TCPConn) {
		say(c, chunkedHead+chunk(token("a"))+chunk("data: {\"error\":{\"message\":\"out of memory\"}}\n\n")+"0\r\n\r\n")
	}, metrics.ErrStream, metrics.EndStopped},
	{"a stream without an end", func(c *net.TCPConn) { say(c, chunkedHead+chunk(token("a"))+"0\r\n\r\n") }, metrics.ErrTruncated, metrics.EndComplete},
	{"a connection that is closed", func(c *net.TCPConn) {
		say(c, chunkedHead+chunk(token("a"))+chunk(token("b")[:9]))
	}, metrics.ErrTruncated, metrics.EndCut},
	{"a connection that is closed before the answer", func(*net.TCPConn) { pause() }, metrics.ErrTruncated, metrics.EndCut},
	{"a connection that is reset", func(c *net.TCPConn) {
		say(c, chunkedHead+chunk(token("a")))
		pause()
		_ = c.SetLinger(0)
	}, metrics.ErrTruncated, metrics.EndReset},
	{"chunks that are none", func(c *net.TCPConn) { say(c, chunkedHead+chunk(token("a"))+"xyz\r\n") }, metrics.ErrParse, metrics.EndMalformed},
	{"an answer that is not HTTP", func(c *net.TCPConn) { say(c, "220 mail.example.net ESMTP\r\n") }, metrics.ErrParse, metrics.EndMalformed},
	{"silence in the stream", func(c *net.TCPConn) {
		say(c, chunkedHead+chunk(token("a")))
		untilGone(c)
	}, metrics.ErrTimeoutIdle, metrics.EndSilence},
	{"silence from the beginning", untilGone, metrics.ErrTimeoutFirstToken, metrics.EndSilence},
}

func say(c net.Conn, text string) { _, _ = io.WriteString(c, text) }

// pause is long enough for what is written before and after it to be two reads on a machine that is not too busy; nothing fails if they are not.
func pause() {
	timer := time.NewTimer(30 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
}

func untilGone(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }

// impatient has no patience with the silence that a fault is, and much with that of a machine which stands still.
func impatient(limit metrics.ErrorClass) func(*generator.TargetConfig) {
	return func(c *generator.TargetConfig) {
		c.Client.Timeouts.Idle, c.Client.Timeouts.FirstToken = time.Minute, time.Minute
		switch limit {
		case metrics.ErrTimeoutIdle:
			c.Client.Timeouts.Idle = 400 * time.Millisecond
		case metrics.ErrTimeoutFirstToken:
			c.Client.Timeouts.FirstToken = 400 * time.Millisecond
		default: // no limit makes this failure
		}
	}
}

// The instants of a replay are compared with the schedule that the capture is, and only for being too early: how late a busy machine is
// proves nothing.
func TestAReplayOfACaptureIsMeasuredAsWhatWasCaptured(t *testing.T) {
	t.Parallel()
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			original := measure(t, serve(t, tt.script), impatient(tt.class))
			if original.record.Class != tt.class || original.capture.End != tt.end {
				t.Fatalf("class %q (%s), end %q, want %q, %q", original.record.Class, original.record.Detail, original.capture.End, tt.class, tt.end)
			}
			again := measure(t, replay(t, original.capture), impatient(tt.class))
			if diff := cmp.Diff(facts(&original.record), facts(&again.record)); diff != "" {
				t.Errorf("record (-original +replay):\n%s", diff)
			}
			if diff := cmp.Diff(bytesOf(original.capture), bytesOf(again.capture)); diff != "" {
				t.Errorf("bytes (-original +replay):\n%s", diff)
			}
			notBefore(t, original.capture, again.capture)
		})
	}
}

// facts is what a record says apart from when.
func facts(r *metrics.Record) map[string]any {
	return map[string]any{
		"outcome": r.Outcome, "class": r.Class, "status": r.Status, "usage": r.Usage, "source": r.OutputSource, "events": len(r.Content),
		"finish": r.Finish, "streaming": r.Streaming, "parse errors": r.ParseErrors, "bytes": r.ResponseBytes, "retry": r.RetryAfter,
	}
}

// bytesOf is what came of an answer apart from when and in which pieces.
func bytesOf(c *capture.Capture) map[string]any {
	return map[string]any{"status": c.Status, "server": c.Header["X-Server"], "type": c.Header["Content-Type"], "body": string(c.Body), "end": c.End}
}

// notBefore checks that no byte of a replay arrived earlier than it was due. It was due so long after the request had been read, and that had begun when
// the request began.
func notBefore(t *testing.T, original, again *capture.Capture) {
	t.Helper()
	from := 0
	for _, piece := range original.Reads {
		for _, read := range again.Reads {
			if read.End <= from {
				continue
			}
			if at := read.At - time.Duration(*again.Timeline.Start); at < piece.At {
				t.Errorf("bytes from %d on arrived %v after the start, were due %v after the request", from, at, piece.At)
			}
			break
		}
		from = piece.End
	}
}
