package capture

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// A capture's file is JSON lines: a header, a line for each read, and one that tells how it ended. docs/incidents.md tells what is in them.
const (
	format = "aiperf-exporter capture"
	// version changes when an older reader would misunderstand a file. Further fields do not change it.
	version = 1
)

// fileHeader is the first line.
type fileHeader struct {
	Format   string             `json:"format"`
	Version  int                `json:"version"`
	Exporter string             `json:"exporter"`
	ID       string             `json:"request_id"`
	Target   string             `json:"target"`
	Endpoint string             `json:"endpoint_type"`
	Model    string             `json:"model"`
	Sent     time.Time          `json:"sent"`
	Reason   Reason             `json:"reason"`
	Outcome  metrics.Outcome    `json:"outcome"`
	Class    metrics.ErrorClass `json:"error_class,omitempty"`
	Detail   string             `json:"detail,omitempty"`
	Timeline Timeline           `json:"timeline"`
	Measured Measured           `json:"measured"`
	Request  fileRequest        `json:"request"`
	Answer   *fileAnswer        `json:"answer,omitempty"` // nil: none came
}

type fileRequest struct {
	Method string              `json:"method"`
	URL    string              `json:"url"`
	Header map[string][]string `json:"header"`
	Bytes  int64               `json:"bytes"` // of the whole body
	Body   []byte              `json:"body"`
}

type fileAnswer struct {
	Status    int                 `json:"status"`
	Header    map[string][]string `json:"header"`
	At        seconds             `json:"at"`
	Bytes     int64               `json:"bytes"` // of the whole body
	Truncated bool                `json:"truncated,omitempty"`
}

// fileRead is a line for a read.
type fileRead struct {
	At   seconds `json:"at"`
	Data []byte  `json:"data"`
}

// fileEnd is the last line.
type fileEnd struct {
	At  seconds         `json:"at"`
	End metrics.TapeEnd `json:"end"`
}

// seconds is a duration that files have in seconds, exact to the nanosecond.
type seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s)/1e9, 'f', -1, 64), nil
}

// maxSpan is far longer than a request can take.
const maxSpan = 24 * time.Hour

// UnmarshalJSON implements json.Unmarshaler.
func (s *seconds) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > maxSpan.Seconds() {
		return fmt.Errorf("%.32q is no number of seconds within a day", text)
	}
	*s = seconds(math.Round(v * 1e9))
	return nil
}

// Write writes the capture as a file that Read takes.
func (c *Capture) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(c.header())
	from := 0
	for _, read := range c.Reads {
		if err == nil {
			err = encoder.Encode(fileRead{seconds(read.At), c.Body[from:read.End]})
		}
		from = read.End
	}
	if err == nil {
		err = encoder.Encode(fileEnd{seconds(c.EndAt), c.End})
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("write capture %s: %w", c.ID, err)
	}
	return nil
}

func (c *Capture) header() *fileHeader {
	h := &fileHeader{
		Format: format, Version: version, Exporter: c.Exporter, ID: c.ID, Target: c.Target, Endpoint: c.Endpoint, Model: c.Model, Sent: c.Sent.UTC(),
		Reason: c.Reason, Outcome: c.Outcome, Class: c.Class, Detail: c.Detail, Timeline: c.Timeline, Measured: c.Measured,
		Request: fileRequest{Method: c.Method, URL: c.URL, Header: c.RequestHeader, Bytes: c.RequestBytes, Body: c.RequestBody},
	}
	if c.Status != 0 {
		h.Answer = &fileAnswer{Status: c.Status, Header: c.Header, At: seconds(c.HeaderAt), Bytes: c.Bytes, Truncated: c.Truncated}
	}
	return h
}
