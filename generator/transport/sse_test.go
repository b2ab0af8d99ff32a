package transport_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
)

const roomy = 1 << 20

// event, named and comment are the events of a stream without instants.
func event(data string) framed       { return framed{Data: data} }
func named(name, data string) framed { return framed{Name: name, Data: data} }
func comment() framed                { return framed{Comment: true} }

// streams are the forms in which servers write events, and the events in them.
var streams = []struct {
	name   string
	stream string
	want   []framed
}{
	{"LF ends lines", "data: a\n\ndata: b\n\n", []framed{event("a"), event("b")}},
	{"CR LF ends lines", "data: a\r\n\r\ndata: b\r\n\r\n", []framed{event("a"), event("b")}},
	{"CR ends lines", "data: a\r\rdata: b\r\r", []framed{event("a"), event("b")}},
	{"line ends are mixed", "data: a\n\r\ndata: b\r\n\ndata: c\r\n\rdata: d\n\rdata: e\r\r\n", []framed{event("a"), event("b"), event("c"), event("d"), event("e")}},
	{"CR LF CR is a line end and an empty line", "data: a\r\n\rdata: b\n\n", []framed{event("a"), event("b")}},
	{"one CR LF does not end an event", "data: a\r\ndata: b\r\n\r\n", []framed{event("a\nb")}},
	{"a byte order mark stands first", "\ufeffdata: a\n\n", []framed{event("a")}},
	{"a second byte order mark belongs to the field name", "\ufeff\ufeffdata: a\n\ndata: b\n\n", []framed{event("b")}},
	{"a byte order mark stands later", "data: a\n\n\ufeffdata: b\n\n", []framed{event("a")}},
	{"half a byte order mark is not one", "\xef\xbbdata: a\n\ndata: b\n\n", []framed{event("b")}},
	{"half a byte order mark is all there is", "\xef\xbb", nil},
	{"a byte order mark is all there is", "\ufeff", nil},
	{"a value has no space, one or two", "data:a\n\ndata: b\n\ndata:  c\n\n", []framed{event("a"), event("b"), event(" c")}},
	{"a value holds colons", "data:{\"a\":1}\n\n", []framed{event(`{"a":1}`)}},
	{"several data lines are joined", "data: a\ndata:\ndata: b\ndata\n\n", []framed{event("a\n\nb\n")}},
	{"an event has a name", "event: ping\ndata: {}\n\ndata: b\n\n", []framed{named("ping", "{}"), event("b")}},
	{"the name follows the data", "data: {}\nevent:error\n\n", []framed{named("error", "{}")}},
	{"the last name wins", "event: a\nevent: b\ndata: x\n\nevent: c\nevent:\ndata: y\n\n", []framed{named("b", "x"), event("y")}},
	{"a name without data is delivered", "event: error\n\ndata: b\n\n", []framed{named("error", ""), event("b")}},
	{"a name with empty data is delivered", "event: ping\ndata:\n\n", []framed{named("ping", "")}},
	{"empty data without a name is a sign of life", "data:\n\ndata\n\ndata: \n\n", []framed{comment(), comment(), comment()}},
	{"blank lines alone are nothing", "\n\n\r\n\r\n\r\r", nil},
	{"other fields are ignored", "id: 7\nretry: 100\ndata: a\nid\nunknown: x\n\nid: 8\n\n", []framed{event("a")}},
	{"field names are exact", "Data: a\n data: b\ndata : c\ndatas: d\n\n", nil},
	{"comments stand between events", ": keep-alive\n\n:\ndata: a\n\n:x\n", []framed{comment(), comment(), event("a"), comment()}},
	{"a comment inside an event does not break it", "data: a\n: x\nevent: n\n: y\ndata: b\n\n", []framed{comment(), comment(), named("n", "a\nb")}},
	{"the end cuts off the blank line", "data: a\n\ndata: [DONE]\n", []framed{event("a"), event("[DONE]")}},
	{"the end cuts off the line end", "data: a\n\ndata: [DONE]", []framed{event("a"), event("[DONE]")}},
	{"the end cuts off a name", "event: error", []framed{named("error", "")}},
	{"the end cuts off an unfinished second line", "data: a\ndata: b", []framed{event("a\nb")}},
	{"the end cuts off a comment", "data: a\n: keep", []framed{event("a")}},
	{"the end is a CR", "data: a\r", []framed{event("a")}},
	{"characters of several bytes", "data: é€😀\r\n\r\ndata: \u0085\u2028x\n\n", []framed{event("é€😀"), event("\u0085\u2028x")}},
	{"bytes that are not UTF-8", "data: \xff\xc3\n\n", []framed{event("\xff\xc3")}},
	{"bytes of zero", "data: a\x00b\n\n\x00\n", []framed{event("a\x00b")}},
	{"the stream is empty", "", nil},
	{
		"an answer of a chat server",
		"data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\ndata: [DONE]\n\n",
		[]framed{event(`{"choices":[{"delta":{"content":"A"}}]}`), event(`{"choices":[],"usage":{"prompt_tokens":1}}`), event("[DONE]")},
	},
}

func TestFramerCutsEvents(t *testing.T) {
	t.Parallel()
	for _, tc := range streams {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := frame(t, transport.NewFramer(roomy), []string{tc.stream}).untimed()
			if diff := cmp.Diff(framing{Events: tc.want}, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFramerDoesNotDependOnReads cuts each stream at every byte, at every pair of bytes, and into single bytes, and compares events,
// instants and read numbers with the reference.
func TestFramerDoesNotDependOnReads(t *testing.T) {
	t.Parallel()
	for _, tc := range streams {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := transport.NewFramer(roomy)
			check := func(reads []string) {
				t.Helper()
				got := frame(t, f, reads)
				if diff := cmp.Diff(referenceFraming(reads, roomy), got); diff != "" {
					t.Fatalf("reads %q: (-want +got):\n%s", reads, diff)
				}
				if diff := cmp.Diff(framing{Events: tc.want}, got.untimed()); diff != "" {
					t.Fatalf("reads %q: events (-want +got):\n%s", reads, diff)
				}
			}
			for i := range len(tc.stream) + 1 {
				for j := i; j <= len(tc.stream); j++ {
					check([]string{tc.stream[:i], tc.stream[i:j], tc.stream[j:]})
				}
			}
			check(singleBytes(tc.stream))
		})
	}
}

func TestFramerStampsAnEventWithTheReadThatCompletedIt(t *testing.T) {
	t.Parallel()
	reads := []string{"data: a\r\n\r", "\ndata: b", "\n: x\n", "\ndata: c\n\ndata: d\n\ndata: e\n", "", "event: f"}
	want := framing{Events: []framed{
		{Data: "a", At: arrival(0), Read: 0}, // the CR ends the line, the LF of the next read adds nothing
		{Comment: true, At: arrival(2), Read: 2},
		{Data: "b", At: arrival(3), Read: 3},
		{Data: "c", At: arrival(3), Read: 3},
		{Data: "d", At: arrival(3), Read: 3},
		{Name: "f", Data: "e", At: arrival(5), Read: 5},
	}}
	if diff := cmp.Diff(want, frame(t, transport.NewFramer(roomy), reads)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestFramerRefusesEventsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 20
	fits := strings.Repeat("x", limit-len("data: "))
	cases := []struct {
		name   string
		stream string
		want   framing
	}{
		{"a line of exactly the limit passes", "data: " + fits + "\n\n", framing{Events: []framed{event(fits)}}},
		{"a line over the limit", "data: a\n\ndata: " + fits + "x\n\ndata: b\n\n", framing{Events: []framed{event("a")}, TooLarge: true}},
		{"a line over the limit without end", "data: a\n\ndata: " + fits + "x", framing{Events: []framed{event("a")}, TooLarge: true}},
		{"an unfinished line of exactly the limit passes", "data: " + fits, framing{Events: []framed{event(fits)}}},
		{"many lines", strings.Repeat("data: a\n", limit) + "\n", framing{TooLarge: true}},
		{"many empty lines", strings.Repeat("data\n", limit+1) + "\n", framing{TooLarge: true}},
		{"a name and data", "event: 0123456789\ndata: 01234\n\n", framing{TooLarge: true}},
		{"a comment", ":" + fits + "xxxxxx\ndata: a\n\n", framing{TooLarge: true}},
		{
			"lines that are not kept do not add up",
			strings.Repeat("id: 1\n: c\n", 3) + "data: a\n\n",
			framing{Events: []framed{comment(), comment(), comment(), event("a")}},
		},
		{"events do not add up", strings.Repeat("data: abcdefgh\n\n", 3), framing{Events: []framed{event("abcdefgh"), event("abcdefgh"), event("abcdefgh")}}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := transport.NewFramer(limit)
			for i := range len(tc.stream) + 1 {
				got := frame(t, f, []string{tc.stream[:i], tc.stream[i:]}).untimed()
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Fatalf("cut at %d (-want +got):\n%s", i, diff)
				}
			}
			if diff := cmp.Diff(tc.want, frame(t, f, singleBytes(tc.stream)).untimed()); diff != "" {
				t.Errorf("single bytes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFramerStaysFailedUntilReset(t *testing.T) {
	t.Parallel()
	f := transport.NewFramer(10)
	var ev transport.Event
	f.Write([]byte("data: much too long"), 1, 1)
	for range 2 {
		if ok, err := f.Next(&ev); ok || !errors.Is(err, transport.ErrEventTooLarge) {
			t.Fatalf("Next = %v, %v; want false and ErrEventTooLarge", ok, err)
		}
		f.Write([]byte("\n\ndata: a\n\n"), 2, 2)
	}
	if ok, err := f.Close(&ev); ok || !errors.Is(err, transport.ErrEventTooLarge) {
		t.Fatalf("Close = %v, %v; want false and ErrEventTooLarge", ok, err)
	}
	f.Reset()
	f.Write([]byte("data: a\n\n"), 3, 3)
	if ok, err := f.Next(&ev); !ok || err != nil || string(ev.Data) != "a" {
		t.Fatalf("after Reset: Next = %v, %v, data %q", ok, err, ev.Data)
	}
}

func TestFramerDoesNotCopyAnEventThatLiesInOneRead(t *testing.T) {
	t.Parallel()
	f := transport.NewFramer(roomy)
	read := []byte("data: first\n\ndata: second\n\n")
	f.Write(read, 1, 1)
	var ev transport.Event
	for _, offset := range []int{len("data: "), len("data: first\n\ndata: ")} {
		if ok, err := f.Next(&ev); !ok || err != nil {
			t.Fatalf("Next = %v, %v", ok, err)
		}
		if &ev.Data[0] != &read[offset] {
			t.Errorf("data %q is a copy", ev.Data)
		}
	}
}

func TestFramerPanicsIfAReadIsGivenBeforeTheLastIsConsumed(t *testing.T) {
	t.Parallel()
	f := transport.NewFramer(roomy)
	f.Write([]byte("data: a\n\n"), 1, 1)
	defer func() {
		if recover() == nil {
			t.Error("no panic: the first read's bytes would be lost")
		}
	}()
	f.Write([]byte("data: b\n\n"), 2, 2)
}

// TestFramerGivesBackMemory looks at what a framer in a pool would keep, by what the next stream can use without allocating.
func TestFramerGivesBackMemory(t *testing.T) {
	huge := "data: " + strings.Repeat("a", 1_500_000) + "\n"
	f := transport.NewFramer(16 << 20)
	frame(t, f, []string{huge[:700_000], huge[700_000:], "\n"})
	f.Reset()
	line := []byte("data: " + strings.Repeat("b", 1_000_000))
	var ev transport.Event
	allocated := testing.AllocsPerRun(5, func() {
		f.Write(line, 1, 1)
		if ok, err := f.Next(&ev); ok || err != nil {
			t.Fatalf("Next = %v, %v", ok, err)
		}
		f.Reset()
	})
	if allocated < 1 {
		t.Error("Reset kept the memory of a megabyte")
	}
}
