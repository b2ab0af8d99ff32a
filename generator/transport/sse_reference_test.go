package transport_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
)

// framed is an Event in a form that can be kept and compared.
type framed struct {
	Name, Data string
	Comment    bool
	At, Read   int64
}

// framing is what became of a whole stream.
type framing struct {
	Events   []framed
	TooLarge bool
}

// untimed is the framing without what depends on where reads end.
func (f framing) untimed() framing {
	out := framing{TooLarge: f.TooLarge}
	for _, ev := range f.Events {
		ev.At, ev.Read = 0, 0
		out.Events = append(out.Events, ev)
	}
	return out
}

// singleBytes cuts a stream into reads of one byte.
func singleBytes(stream string) []string {
	reads := make([]string, len(stream))
	for i := range reads {
		reads[i] = stream[i : i+1]
	}
	return reads
}

// arrival is the instant at which the tests let a read arrive.
func arrival(read int64) int64 { return 1_000_000 + 7*read }

// frame sends the reads of a stream through the framer, which is reset first. Each read lies in the same memory, overwritten once the
// framer may no longer look at it.
func frame(tb testing.TB, f *transport.Framer, reads []string) framing {
	tb.Helper()
	var (
		out     framing
		ev      transport.Event
		scratch []byte
	)
	take := func(next func(*transport.Event) (bool, error)) bool {
		ok, err := next(&ev)
		switch {
		case errors.Is(err, transport.ErrEventTooLarge) && !ok:
			out.TooLarge = true
		case err != nil:
			tb.Fatalf("framer: ok=%v, err=%v", ok, err)
		case ok:
			if ev.Body {
				tb.Fatal("a server-sent event is marked as a body")
			}
			out.Events = append(out.Events, framed{string(ev.Name), string(ev.Data), ev.Comment, ev.At, ev.Read})
		}
		return ok
	}
	f.Reset()
	for i, read := range reads {
		scratch = append(scratch[:0], read...)
		f.Write(scratch, arrival(int64(i)), int64(i))
		for take(f.Next) {
		}
		for j := range scratch {
			scratch[j] = '\n'
		}
	}
	if ok, err := f.Next(&ev); ok {
		tb.Fatalf("Next after the last false gave %+v, %v", ev, err)
	}
	take(f.Close)
	if ok, _ := f.Close(&ev); ok {
		tb.Fatalf("a second Close gave %+v", ev)
	}
	return out
}

// referenceLine is a line of a stream, and the offset of the byte that ended it (the length of the stream, if none did).
type referenceLine struct {
	text string
	end  int
}

// referenceLines cuts a whole stream into lines, one byte after the other.
func referenceLines(stream string, start int) (lines []referenceLine) {
	text := ""
	for i := start; i < len(stream); i++ {
		switch c := stream[i]; {
		case c == '\n' && i > start && stream[i-1] == '\r':
			// Second half of CR LF.
		case c == '\n' || c == '\r':
			lines = append(lines, referenceLine{text, i})
			text = ""
		default:
			text += string([]byte{c})
		}
	}
	if text != "" {
		lines = append(lines, referenceLine{text, len(stream)})
	}
	return lines
}

// referenceFraming frames a whole stream the slow way: it knows all bytes before it begins, and copies everything.
func referenceFraming(reads []string, limit int) framing {
	stream := strings.Join(reads, "")
	start := 0
	if strings.HasPrefix(stream, "\xef\xbb\xbf") {
		start = 3
	}
	var (
		out  framing
		data []string
		name string
	)
	deliver := func(end int) {
		text := strings.Join(data, "\n")
		switch {
		case name == "" && data == nil:
		case name == "" && text == "":
			out.Events = append(out.Events, framed{"", "", true, arrivalOf(reads, end), readOf(reads, end)})
		default:
			out.Events = append(out.Events, framed{name, text, false, arrivalOf(reads, end), readOf(reads, end)})
		}
		data, name = nil, ""
	}
	for _, line := range referenceLines(stream, start) {
		if len(strings.Join(data, "\n"))+len(name)+len(line.text) > limit {
			out.TooLarge = true
			return out
		}
		finished := line.end < len(stream)
		field, value, _ := strings.Cut(line.text, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line.text == "":
			deliver(line.end)
		case field == "" && finished:
			out.Events = append(out.Events, framed{"", "", true, arrivalOf(reads, line.end), readOf(reads, line.end)})
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		}
	}
	deliver(len(stream))
	return out
}

// readOf is the number of the read that brought the byte at offset; beyond the end it is the last read that brought any.
func readOf(reads []string, offset int) int64 {
	last := int64(0)
	for i, read := range reads {
		if read == "" {
			continue
		}
		last = int64(i)
		if offset < len(read) {
			break
		}
		offset -= len(read)
	}
	return last
}

func arrivalOf(reads []string, offset int) int64 { return arrival(readOf(reads, offset)) }
