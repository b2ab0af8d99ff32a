package transport_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
)

// chatEvent is an event as vLLM writes one per token, 250 bytes.
var chatEvent = []byte(`data: {"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1760000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null,"t":0}]}` + "\n\n")

// consume sends one read through the framer and counts the events.
func consume(b *testing.B, f *transport.Framer, read []byte) (events int) {
	b.Helper()
	var ev transport.Event
	f.Write(read, 1, 1)
	for {
		ok, err := f.Next(&ev)
		if err != nil {
			b.Fatal(err)
		}
		if !ok {
			return events
		}
		events++
	}
}

func BenchmarkFramerOneEventPerRead(b *testing.B) {
	f := transport.NewFramer(16 << 20)
	b.ReportAllocs()
	b.SetBytes(int64(len(chatEvent)))
	for b.Loop() {
		consume(b, f, chatEvent)
	}
}

func BenchmarkFramerFiftyEventsPerRead(b *testing.B) {
	f := transport.NewFramer(16 << 20)
	read := bytes.Repeat(chatEvent, 50)
	b.ReportAllocs()
	b.SetBytes(int64(len(read)))
	for b.Loop() {
		consume(b, f, read)
	}
}

// BenchmarkFramerEventsStraddleReads cuts each event in two, so that each is copied once.
func BenchmarkFramerEventsStraddleReads(b *testing.B) {
	f := transport.NewFramer(16 << 20)
	b.ReportAllocs()
	b.SetBytes(int64(len(chatEvent)))
	for b.Loop() {
		consume(b, f, chatEvent[:100])
		consume(b, f, chatEvent[100:])
	}
}

// BenchmarkFramerLongLine frames one line in reads of 16 KiB. The time per byte must not depend on the length of the line.
func BenchmarkFramerLongLine(b *testing.B) {
	for _, size := range []int{150_000, 1_500_000, 15_000_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			f := transport.NewFramer(16 << 20)
			stream := []byte("data: " + strings.Repeat("a", size) + "\n\n")
			b.ReportAllocs()
			b.SetBytes(int64(len(stream)))
			for b.Loop() {
				events := 0
				for rest := stream; len(rest) > 0; {
					n := min(16<<10, len(rest))
					events += consume(b, f, rest[:n])
					rest = rest[n:]
				}
				if events != 1 {
					b.Fatalf("%d events, want 1", events)
				}
			}
		})
	}
}

// BenchmarkFramerCRLines frames a read of nothing but CR line ends, for which a search for LF from each line would be quadratic.
func BenchmarkFramerCRLines(b *testing.B) {
	f := transport.NewFramer(16 << 20)
	read := bytes.Repeat([]byte("data:x\r\r"), 4096)
	b.ReportAllocs()
	b.SetBytes(int64(len(read)))
	for b.Loop() {
		consume(b, f, read)
	}
}
