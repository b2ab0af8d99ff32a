package generator

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// exchange turns the events of one answer into its record. It reads no clock and no socket: every instant comes with an event, so a
// stream can be played to it at any speed and in any pieces.
type exchange struct {
	decoder endpoint.Decoder
	traits  endpoint.Traits
	record  *metrics.Record
	flight  flight
	// firstContent is called at the first content event; nil = nobody wants to know.
	firstContent func()
	// inputTokens is the length of the prompt as far as it is known before the server tells it.
	inputTokens int
	texts       *texts // to count where the server tells no counts; nil = nobody can

	chunk       endpoint.Chunk
	serverError *endpoint.ServerError
	parseError  error
	terminal    bool
	cut         bool // the stream ended inside an event
	// usageFinal: the last usage did not ride on a chunk in mid-stream. usageAfter: how many content events had come with or before it.
	usageFinal  bool
	usageAfter  int
	contentRead int64 // number of the read that completed the last content event
}

// flight hears of a request that is no warm-up while it runs: *metrics.Flight.
type flight interface {
	Start(at, inputTokens int64)
	Content(at int64, output metrics.Count)
}

// Start implements transport.Handler.
func (x *exchange) Start(at int64) {
	if !x.record.Warmup {
		x.flight.Start(at, int64(x.inputTokens))
	}
}

// Event implements transport.Handler.
func (x *exchange) Event(ev *transport.Event) transport.Verdict {
	r := x.record
	if ev.Comment {
		r.KeepAlives++
		return transport.More
	}
	if r.Time.FirstEvent == 0 {
		r.Time.FirstEvent = ev.At
	}
	if ev.Body && len(bytes.TrimSpace(ev.Data)) == 0 {
		return transport.More // an answer without anything is empty, not broken
	}
	x.chunk = endpoint.Chunk{}
	var err error
	if ev.Body {
		err = x.decoder.Body(ev.Data, &x.chunk)
	} else {
		err = x.decoder.Event(ev.Name, ev.Data, &x.chunk)
	}
	if err != nil && ev.Cut {
		x.cut = true
		return transport.More // not broken but cut off
	}
	if err != nil {
		r.ParseErrors++
		if x.parseError == nil {
			x.parseError = err
		}
		return transport.More
	}
	if x.chunk.Err != nil {
		x.serverError = x.chunk.Err
		return transport.Stop
	}
	x.note(ev)
	if len(r.Content) > 0 {
		return transport.Token
	}
	return transport.More
}

// note takes over what the decoded event says.
func (x *exchange) note(ev *transport.Event) {
	r, c := x.record, &x.chunk
	if c.Content() {
		x.content(ev)
	}
	if !c.Usage.Empty() {
		r.Usage = c.Usage
		x.usageFinal = !c.Content() || c.Terminal
		x.usageAfter = len(r.Content)
	}
	if c.Terminal {
		x.terminal = true
	}
	if c.Finish != "" {
		r.Finish = c.Finish
	}
	if c.Model != "" {
		r.ServedModel = c.Model
	}
	if c.Fingerprint != "" {
		r.Fingerprint = c.Fingerprint
	}
}

func (x *exchange) content(ev *transport.Event) {
	r, c := x.record, &x.chunk
	if !c.Partial {
		r.Items += int64(c.Items)
	}
	if len(r.Content) == 0 {
		r.FirstTokens = c.Usage.Output
		if x.firstContent != nil {
			x.firstContent()
		}
	} else if ev.Read == x.contentRead {
		r.Coalesced++
	}
	x.contentRead = ev.Read
	r.Content = append(r.Content, ev.At)
	if !ev.Body { // what comes whole has no decode
		x.flight.Content(ev.At, c.Usage.Output)
	}
	if (c.Text || c.Tool) && r.Time.FirstOutput == 0 {
		r.Time.FirstOutput = ev.At
	}
}

// finish completes the record with what the transport says and decides the outcome.
func (x *exchange) finish(a *transport.Answer) {
	r := x.record
	r.Status = a.Status
	r.Streaming = a.Stream
	r.ConnObtained, r.ConnReused, r.IPFamily = a.ConnObtained, a.ConnReused, a.IPFamily
	r.CertsExpire = a.CertsExpire
	r.ResponseBytes = a.BodyBytes
	r.KernelStamps, r.StampFallbacks = a.KernelStamps, a.StampFallbacks
	r.Outcome, r.Class, r.Detail = x.outcome(a)
	x.sources()
}

func (x *exchange) outcome(a *transport.Answer) (metrics.Outcome, metrics.ErrorClass, string) {
	r := x.record
	failed := func(class metrics.ErrorClass, detail string) (metrics.Outcome, metrics.ErrorClass, string) {
		return metrics.Failure, class, detail
	}
	switch {
	case a.Cancelled:
		return metrics.Cancelled, "", ""
	case a.Class != "" && !x.whole(a):
		return failed(a.Class, errorText(a.Err))
	case a.Status < 200 || a.Status > 299:
		return x.refused(a)
	case x.serverError != nil:
		return failed(metrics.ErrStream, describe(x.serverError))
	case x.parseError != nil:
		return failed(metrics.ErrParse, x.parseError.Error())
	case a.Stream && !x.terminal && (x.cut || !x.traits.Unmarked):
		return failed(metrics.ErrTruncated, fmt.Sprintf("stream ended after %d content events without a finish reason or end marker", len(r.Content)))
	case len(r.Content) == 0:
		return failed(metrics.ErrEmpty, "answer without anything that was asked for")
	}
	return metrics.Success, "", ""
}

// whole tells that the answer had ended before the connection failed: after the terminal marker it does not matter how that goes on.
func (x *exchange) whole(a *transport.Answer) bool {
	return x.terminal && len(x.record.Content) > 0 && a.Class != metrics.ErrResponseTooLarge
}

// refused classifies an answer that is not 2xx.
func (x *exchange) refused(a *transport.Answer) (metrics.Outcome, metrics.ErrorClass, string) {
	x.serverError = endpoint.DecodeError(a.ErrorBody)
	detail := describe(x.serverError)
	class := metrics.ErrHTTP4xx
	switch {
	case a.Status < 400:
		class, detail = metrics.ErrHTTP3xx, "redirects are not followed, this one leads to "+redirectHost(a.Header)
	case a.Status == 429:
		class = metrics.ErrHTTP429
	case a.Status >= 500:
		class = metrics.ErrHTTP5xx
	case endpoint.ContextOverflow(a.Status, x.serverError):
		class = metrics.ErrContextOverflow
	}
	return metrics.Failure, class, detail
}

// sources says where the counts come from and fills in estimates where the server told none.
func (x *exchange) sources() {
	r := x.record
	if r.Streaming && x.usageAfter < len(r.Content) {
		// Content came after the last usage, so its output count is not that of the answer.
		r.Usage.Output, r.Usage.Reasoning = metrics.Count{}, metrics.Count{}
	}
	told := metrics.SourceUsageChunk
	if x.usageFinal {
		told = metrics.SourceUsage
	}
	r.UsageMissing = r.Outcome == metrics.Success && r.Product.Generates() && !r.Usage.Output.Known
	r.InputSource, r.OutputSource = told, told
	if !r.Usage.Input.Known {
		r.Usage.Input, r.InputSource = x.input()
	}
	if !r.Usage.Output.Known {
		x.countOutput()
	}
}

// input is the length of a prompt whose tokens the server has not told.
func (x *exchange) input() (metrics.Count, metrics.TokenSource) {
	if x.record.Outcome != metrics.Success {
		return metrics.Count{}, metrics.SourceNone
	}
	if n, ok := x.texts.input(); ok {
		return metrics.Tokens(n), metrics.SourceTokenizer
	}
	if x.inputTokens > 0 {
		return metrics.Tokens(int64(x.inputTokens)), metrics.SourceDataset
	}
	return metrics.Count{}, metrics.SourceNone
}

// countOutput fills in the output tokens that the server has not told.
func (x *exchange) countOutput() {
	r := x.record
	r.OutputSource = metrics.SourceNone
	if !r.Product.Generates() || len(r.Content) == 0 {
		return
	}
	if output, reasoning, ok := x.texts.output(); ok {
		r.OutputSource, r.Usage.Output = metrics.SourceTokenizer, metrics.Tokens(output)
		if reasoning > 0 {
			r.Usage.Reasoning = metrics.Tokens(reasoning)
		}
		return
	}
	if r.Streaming {
		r.OutputSource, r.Usage.Output = metrics.SourceEvents, metrics.Tokens(int64(len(r.Content)))
	}
}

// redirectHost is where a redirect leads to: path and query may hold credentials.
func redirectHost(header http.Header) string {
	u, err := url.Parse(header.Get("Location"))
	switch {
	case err != nil || header.Get("Location") == "":
		return "nowhere"
	case u.Host == "":
		return "the same host"
	}
	return u.Host
}

func describe(e *endpoint.ServerError) string {
	if e == nil {
		return ""
	}
	var text strings.Builder
	text.WriteString(e.Message)
	for _, part := range []string{e.Type, e.Code} {
		if part != "" {
			text.WriteString(" [" + part + "]")
		}
	}
	return text.String()
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
