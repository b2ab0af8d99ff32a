package endpoint_test

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint/endpointtest"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const conformance = "testdata/conformance"

func codecOf(tb testing.TB, c *endpointtest.Case) endpoint.Codec {
	tb.Helper()
	codec, err := endpoint.New(c.Config.Endpoint())
	if err != nil {
		tb.Fatalf("%s: %v", c.Name, err)
	}
	return codec
}

func TestServersSeeTheRequestsOfTheCases(t *testing.T) {
	t.Parallel()
	for _, c := range endpointtest.Load(t, conformance) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			codec, turn := codecOf(t, &c), c.Turn()
			streams := codec.Streams(&turn)
			url, err := endpoint.URL("http://host", codec.Path(c.Model, streams))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("http://host"+strings.TrimSuffix(c.Request.Path, "/"), url); diff != "" {
				t.Errorf("url (-want +got):\n%s", diff)
			}
			if want := c.Request.Accept == "text/event-stream"; streams != want {
				t.Errorf("Streams is %v, want %v", streams, want)
			}
			if got := codec.OutputLimit(&turn); got != c.Record.Limit {
				t.Errorf("OutputLimit is %d, want %d", got, c.Record.Limit)
			}
			body, media, err := codec.Encode([]byte("before"), &turn)
			if err != nil {
				t.Fatal(err)
			}
			body, found := bytes.CutPrefix(body, []byte("before"))
			if !found {
				t.Fatal("the body is not appended")
			}
			if c.Request.Form != nil {
				if diff := cmp.Diff(c.Request.Form, parts(t, media, body)); diff != "" {
					t.Errorf("form (-want +got):\n%s", diff)
				}
				return
			}
			if diff := cmp.Diff(string(c.Request.Bytes()), string(body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if media != "application/json" {
				t.Errorf("content type is %q", media)
			}
		})
	}
}

// parts takes a form apart.
func parts(t *testing.T, contentType string, body []byte) []endpointtest.FormPart {
	t.Helper()
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/form-data" {
		t.Fatalf("content type is %q: %v", contentType, err)
	}
	var out []endpointtest.FormPart
	for reader := multipart.NewReader(bytes.NewReader(body), parameters["boundary"]); ; {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		one := endpointtest.FormPart{Name: part.FormName(), File: part.FileName(), MediaType: part.Header.Get("Content-Type")}
		if one.File == "" {
			one.Value = string(content)
		} else {
			one.Data = content
		}
		out = append(out, one)
	}
}

func TestAnswersMeanWhatTheCasesSay(t *testing.T) {
	t.Parallel()
	for _, c := range endpointtest.Load(t, conformance) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			codec := codecOf(t, &c)
			got := play(codec, &c, c.Answer.Bytes())
			want := c.Record
			want.Limit = 0
			if want.Outcome == "" {
				want.Outcome = metrics.Success
			}
			if want.Product == "" {
				want.Product = metrics.ProductTokens
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := codec.Traits().Product; got != want.Product && !got.Generates() {
				t.Errorf("product is %q", got)
			}
		})
	}
}

// event is one event of a stream, or a whole answer.
type event struct {
	name, data []byte
	cut        bool // the stream ended in it
}

// events takes a stream apart, as it is written in the cases.
func events(stream []byte) []event {
	var out []event
	for len(stream) > 0 {
		block, rest, whole := bytes.Cut(stream, []byte("\n\n"))
		e := event{cut: !whole}
		for line := range bytes.Lines(block) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
				e.name = name
			}
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				e.data = data
			}
		}
		out = append(out, e)
		stream = rest
	}
	return out
}

// play gives an answer to a decoder and decides the outcome as the generator does.
func play(codec endpoint.Codec, c *endpointtest.Case, sent []byte) endpointtest.Record {
	var kept answer.Transcript
	decoder := codec.Decoder(&kept)
	r := endpointtest.Record{Product: codec.Traits().Product, Outcome: metrics.Failure}
	if r.Product == "" {
		r.Product = metrics.ProductTokens
	}
	if c.Answer.Status != 0 {
		r.Class = metrics.ErrHTTP4xx
		if c.Answer.Status == 429 {
			r.Class = metrics.ErrHTTP429
		}
		return r
	}
	if c.Answer.Events == nil {
		var chunk endpoint.Chunk
		err := decoder.Body(sent, &chunk)
		r.Class = tally(&r, &chunk, err)
	} else {
		terminal := codec.Traits().Unmarked
		for _, e := range events(sent) {
			var chunk endpoint.Chunk
			err := decoder.Event(e.name, e.data, &chunk)
			if err != nil && e.cut {
				terminal = terminal && !codec.Traits().Unmarked
				break
			}
			if r.Class = tally(&r, &chunk, err); r.Class != "" {
				break
			}
			terminal = terminal || chunk.Terminal
		}
		if !terminal && r.Class == "" {
			r.Class = metrics.ErrTruncated
		}
	}
	if r.Class == "" && r.Contents == 0 {
		r.Class = metrics.ErrEmpty
	}
	if r.Class == "" {
		r.Outcome = metrics.Success
	}
	r.Text, r.Reasoning = string(kept.Text), string(kept.Reasoning)
	return r
}

// tally adds what an event says to a record.
func tally(r *endpointtest.Record, chunk *endpoint.Chunk, err error) metrics.ErrorClass {
	switch {
	case err != nil:
		return metrics.ErrParse
	case chunk.Err != nil:
		return metrics.ErrStream
	}
	if chunk.Content() {
		r.Contents++
	}
	if chunk.Partial {
		r.Previews += chunk.Items
	} else {
		r.Items += chunk.Items
	}
	for _, count := range []struct {
		told metrics.Count
		to   **int64
	}{{chunk.Usage.Input, &r.Input}, {chunk.Usage.Output, &r.Output}} {
		if count.told.Known {
			*count.to = &count.told.N
		}
	}
	if chunk.Finish != "" {
		r.Finish = chunk.Finish
	}
	if chunk.Model != "" {
		r.Served = chunk.Model
	}
	return ""
}

// An answer that is cut must never look complete: a whole one anywhere, a stream inside an event, and one whose protocol has an end marker
// also between events. Where a protocol has none, a stream that ends between events has ended.
func TestAnswersCutAtAnyByteDoNotLookComplete(t *testing.T) {
	t.Parallel()
	for _, c := range endpointtest.Load(t, conformance) {
		if c.Record.Outcome != "" || c.Answer.Events == nil && !isJSON(c.Answer.Bytes()) || strings.Contains(c.Name, "plain text") {
			continue
		}
		codec := codecOf(t, &c)
		sent := c.Answer.Bytes()
		whole := bytes.TrimRight(sent, "\n")
		for n := range len(whole) {
			got := play(codec, &c, whole[:n])
			if got.Outcome == metrics.Success && !complete(codec, &c, whole[:n]) {
				t.Errorf("%s: success of %q", c.Name, whole[:n])
			}
		}
	}
}

func isJSON(data []byte) bool { return len(data) > 0 && (data[0] == '{' || data[0] == '[') }

// complete tells whether a cut stream may be taken for a whole one: if its protocol marks the end, that has come, and otherwise it ends
// between events.
func complete(codec endpoint.Codec, c *endpointtest.Case, sent []byte) bool {
	if c.Answer.Events == nil {
		return false
	}
	unmarked := codec.Traits().Unmarked
	ended := unmarked
	all, decoder := events(c.Answer.Bytes()), codec.Decoder(nil)
	for i, e := range events(sent) {
		if !bytes.Equal(e.data, all[i].data) {
			return ended && (!unmarked || len(e.data) == 0)
		}
		var chunk endpoint.Chunk
		_ = decoder.Event(all[i].name, all[i].data, &chunk)
		ended = ended || chunk.Terminal
	}
	return ended
}
