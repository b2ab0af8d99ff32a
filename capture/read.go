package capture

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const (
	// maxLineBytes has room for a body of maxStreamBytes in base64, and for headers.
	maxLineBytes = 2 * maxStreamBytes
	// maxHeaderBytes bounds the header of an answer, as the transport does.
	maxHeaderBytes = 1 << 20
)

// Read reads the file of a capture. It takes nothing that Write would not have written, except further fields; errors tell the line.
func Read(from io.Reader) (*Capture, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLineBytes)
	c := &Capture{}
	number := 0
	for take := c.takeHeader; lines.Scan(); take = c.takeLine {
		number++
		if err := take(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: longer than %d bytes", number+1, maxLineBytes)
	case err != nil:
		return nil, err
	case number == 0:
		return nil, errors.New("is empty")
	case c.End == "":
		return nil, errors.New("has no line that tells how it ended, so it is not whole")
	}
	return c, nil
}

func (c *Capture) takeHeader(line []byte) error {
	var h fileHeader
	if err := json.Unmarshal(line, &h); err != nil {
		return fmt.Errorf("is no header of a capture: %w", err)
	}
	switch {
	case h.Format != format:
		return fmt.Errorf("is no header of a capture: format must be %q", format)
	case h.Version != version:
		return fmt.Errorf("version %d of the format is not known to this program, only %d", h.Version, version)
	case !slices.Contains(Reasons, h.Reason):
		return fmt.Errorf("reason %.32q is not known", h.Reason)
	case len(h.Request.Body) > maxStreamBytes:
		return fmt.Errorf("the body of the request has more than %d bytes", maxStreamBytes)
	}
	*c = Capture{
		ID: h.ID, Target: h.Target, Endpoint: h.Endpoint, Model: h.Model, Exporter: h.Exporter, Sent: h.Sent,
		Reason: h.Reason, Outcome: h.Outcome, Class: h.Class, Detail: h.Detail, Timeline: h.Timeline, Measured: h.Measured,
		Method: h.Request.Method, URL: h.Request.URL, RequestHeader: h.Request.Header, RequestBody: h.Request.Body, RequestBytes: h.Request.Bytes,
	}
	if h.Answer == nil {
		return nil
	}
	c.Status, c.Header, c.HeaderAt, c.Bytes, c.Truncated = h.Answer.Status, h.Answer.Header, time.Duration(h.Answer.At), h.Answer.Bytes, h.Answer.Truncated
	if c.Status < 200 || c.Status > 999 {
		return fmt.Errorf("the status of an answer must be 200 to 999, got %d", c.Status)
	}
	if c.HeaderAt < 0 {
		return errors.New("the answer came before the request")
	}
	return checkHeader(c.Header)
}

// checkHeader refuses what could not have been an answer's.
func checkHeader(header map[string][]string) error {
	size := 0
	for name, values := range header {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%.32q is no name of a header", name)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return fmt.Errorf("the value of the header %q is none", name)
			}
			size += len(name) + len(value)
		}
	}
	if size > maxHeaderBytes {
		return fmt.Errorf("the header has more than %d bytes", maxHeaderBytes)
	}
	return nil
}

// takeLine takes a read or the end.
func (c *Capture) takeLine(text []byte) error {
	var line struct {
		At   *seconds         `json:"at"`
		Data []byte           `json:"data"`
		End  *metrics.TapeEnd `json:"end"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	latest := c.HeaderAt
	if n := len(c.Reads); n > 0 {
		latest = c.Reads[n-1].At
	}
	switch {
	case c.End != "":
		return errors.New("follows the end")
	case line.At == nil:
		return errors.New("has no at")
	case time.Duration(*line.At) < latest:
		return errors.New("is earlier than the line before")
	case (line.End == nil) == (len(line.Data) == 0):
		return errors.New("must have data or end")
	case line.End != nil && !slices.Contains(metrics.TapeEnds, *line.End):
		return fmt.Errorf("end %.32q is not known", *line.End)
	case line.End != nil:
		c.End, c.EndAt = *line.End, time.Duration(*line.At)
		return nil
	case c.Status == 0:
		return errors.New("has data, but no answer came")
	case len(c.Body)+len(line.Data)+metrics.TapeReadBytes*(len(c.Reads)+1) > maxStreamBytes:
		return fmt.Errorf("the answer has more than %d bytes", maxStreamBytes)
	}
	c.Body = append(c.Body, line.Data...)
	c.Reads = append(c.Reads, Piece{At: time.Duration(*line.At), End: len(c.Body)})
	return nil
}
