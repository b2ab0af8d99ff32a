// Package capture keeps incidents: requests that failed or were slow, byte for byte and with the instants at which the bytes came, so that somebody
// can look at them later, keep them as files, and have them served again with the same timing. It is off unless the configuration says so, bounded
// in memory, and removes secrets before it keeps anything; prompts and answers stay.
package capture

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Reason is why a request was kept.
type Reason string

// The reasons.
const (
	Failed Reason = "failed"
	Slow   Reason = "slow" // it succeeded, but missed an objective or took too long
)

// Reasons is the closed list.
var Reasons = []Reason{Failed, Slow}

// Capture is one exchange. Instants are durations since the request had been sent: what a server sees of it begins then.
type Capture struct {
	ID       string // of the request
	Target   string
	Endpoint string // type
	Model    string
	Exporter string    // version that kept it
	Sent     time.Time // by the wall clock
	Reason   Reason
	Outcome  metrics.Outcome
	Class    metrics.ErrorClass
	Detail   string
	Timeline Timeline
	Measured Measured

	Method, URL   string
	RequestHeader map[string][]string
	RequestBody   []byte // its beginning
	RequestBytes  int64  // of the whole

	Status    int // 0 = no answer came
	Header    map[string][]string
	HeaderAt  time.Duration
	Body      []byte // its beginning
	Reads     []Piece
	Bytes     int64 // of the whole answer
	Truncated bool  // the answer was longer than Body
	End       metrics.TapeEnd
	EndAt     time.Duration
}

// Piece is what one read brought of the answer.
type Piece struct {
	At  time.Duration
	End int // index in Body behind its last byte
}

// Timeline is the life of the request, as a record has it; nil = did not happen.
type Timeline struct {
	Scheduled    *seconds `json:"scheduled,omitempty"`
	Admitted     *seconds `json:"admitted,omitempty"`
	Start        *seconds `json:"start,omitempty"`
	ConnStart    *seconds `json:"conn_start,omitempty"`
	ConnDone     *seconds `json:"conn_done,omitempty"`
	DNSStart     *seconds `json:"dns_start,omitempty"`
	DNSDone      *seconds `json:"dns_done,omitempty"`
	ConnectStart *seconds `json:"connect_start,omitempty"`
	ConnectDone  *seconds `json:"connect_done,omitempty"`
	TLSStart     *seconds `json:"tls_start,omitempty"`
	TLSDone      *seconds `json:"tls_done,omitempty"`
	Sent         *seconds `json:"sent,omitempty"`
	FirstByte    *seconds `json:"first_byte,omitempty"`
	Header       *seconds `json:"header,omitempty"`
	FirstEvent   *seconds `json:"first_event,omitempty"`
	FirstOutput  *seconds `json:"first_output,omitempty"`
	End          *seconds `json:"end,omitempty"`
}

// Measured is what the exporter made of it, to compare a replay with; nil = it has no such figure.
type Measured struct {
	TTFT         *float64 `json:"ttft_seconds,omitempty"`
	ITL          *float64 `json:"itl_seconds,omitempty"`
	Latency      *float64 `json:"latency_seconds,omitempty"`
	Events       int      `json:"content_events"`
	InputTokens  *float64 `json:"input_tokens,omitempty"`
	OutputTokens *float64 `json:"output_tokens,omitempty"`
}

// origin is the instant from which a capture counts. What never was sent whole begins with its connection.
func origin(t *metrics.Timeline) int64 { return cmp.Or(t.Sent, t.ConnDone, t.Start) }

// newCapture copies what a record says of an exchange, secrets included, and up to so many bytes of each body.
func newCapture(r *metrics.Record, m *metrics.Measures, maxBytes int) *Capture {
	t, from := r.Tape, origin(&r.Time)
	reads := clip(t, maxBytes)
	length := 0
	if len(reads) > 0 {
		length = reads[len(reads)-1].End
	}
	since := func(at int64) time.Duration { return max(0, time.Duration(at-from)) }
	c := &Capture{
		ID: r.RequestID, Endpoint: t.Endpoint, Model: t.Model, Outcome: r.Outcome, Class: r.Class, Detail: r.Detail,
		Timeline: newTimeline(&r.Time, from),
		Measured: Measured{
			TTFT: figure(m.TTFT), ITL: figure(m.ITL), Latency: figure(m.RequestLatency), Events: len(r.Content),
			InputTokens: figure(m.InputTokens), OutputTokens: figure(m.OutputTokens),
		},
		Method: t.Method, URL: t.URL, RequestBytes: r.RequestBytes,
		Status: t.Status, HeaderAt: since(cmp.Or(r.Time.Header, from)), Bytes: r.ResponseBytes, Truncated: t.Truncated || length < len(t.Body),
		End: t.End, EndAt: since(r.Time.End),
		RequestBody: bytes.Clone(t.RequestBody[:min(len(t.RequestBody), maxBytes)]),
		Body:        bytes.Clone(t.Body[:length]),
		Reads:       make([]Piece, len(reads)),
	}
	for i, read := range reads {
		c.Reads[i] = Piece{At: max(since(read.At), c.HeaderAt), End: read.End}
	}
	if n := len(c.Reads); n > 0 {
		c.EndAt = max(c.EndAt, c.Reads[n-1].At)
	}
	c.EndAt = max(c.EndAt, c.HeaderAt)
	return c
}

// clip gives the reads of a tape for which there is room: others may have wanted more of it.
func clip(t *metrics.Tape, maxBytes int) []metrics.TapeRead {
	for i, read := range t.Reads {
		if read.End+(i+1)*metrics.TapeReadBytes <= maxBytes {
			continue
		}
		kept := slices.Clone(t.Reads[:i])
		if end := maxBytes - (i+1)*metrics.TapeReadBytes; end > 0 && (i == 0 || end > kept[i-1].End) {
			kept = append(kept, metrics.TapeRead{At: read.At, End: end})
		}
		return kept
	}
	return t.Reads
}

func newTimeline(t *metrics.Timeline, from int64) Timeline {
	since := func(at int64) *seconds {
		if at == 0 {
			return nil
		}
		return new(seconds(at - from))
	}
	return Timeline{
		Scheduled: since(t.Sched), Admitted: since(t.Issue), Start: since(t.Start),
		ConnStart: since(t.ConnStart), ConnDone: since(t.ConnDone),
		DNSStart: since(t.DNSStart), DNSDone: since(t.DNSDone), ConnectStart: since(t.ConnectStart), ConnectDone: since(t.ConnectDone),
		TLSStart: since(t.TLSStart), TLSDone: since(t.TLSDone), Sent: since(t.Sent), FirstByte: since(t.FirstByte), Header: since(t.Header),
		FirstEvent: since(t.FirstEvent), FirstOutput: since(t.FirstOutput), End: since(t.End),
	}
}

func figure(v metrics.Value) *float64 {
	if !v.Defined {
		return nil
	}
	return &v.V
}

// size is about what the capture takes in memory, beyond what all of them do.
func (c *Capture) size() int64 {
	n := len(c.RequestBody) + len(c.Body) + metrics.TapeReadBytes*len(c.Reads) + len(c.Detail) + len(c.URL)
	for _, header := range []map[string][]string{c.RequestHeader, c.Header} {
		for name, values := range header {
			n += len(name)
			for _, value := range values {
				n += len(value)
			}
		}
	}
	return int64(n)
}
