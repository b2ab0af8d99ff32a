package transport_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
)

// FuzzFramer compares the framer with the reference, for a stream that is cut into reads by a random number, and wants the same events
// as from one read.
func FuzzFramer(f *testing.F) {
	for i, tc := range streams {
		f.Add([]byte(tc.stream), uint64(i), uint16(roomy>>6))
		f.Add([]byte(tc.stream), uint64(i), uint16(12))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64, limit uint16) {
		framer := transport.NewFramer(int(limit) + 1)
		whole := referenceFraming([]string{string(stream)}, int(limit)+1)
		if diff := cmp.Diff(whole, frame(t, framer, []string{string(stream)})); diff != "" {
			t.Fatalf("one read of %q (-want +got):\n%s", stream, diff)
		}
		reads := randomReads(string(stream), rand.New(rand.NewPCG(seed, 0)))
		got := frame(t, framer, reads)
		if diff := cmp.Diff(referenceFraming(reads, int(limit)+1), got); diff != "" {
			t.Fatalf("reads %q (-want +got):\n%s", reads, diff)
		}
		if diff := cmp.Diff(whole.untimed(), got.untimed()); diff != "" {
			t.Fatalf("reads %q: other events than from one read (-want +got):\n%s", reads, diff)
		}
	})
}

// randomReads cuts a stream into reads whose mean length is itself random: from single bytes to the whole. Some are empty.
func randomReads(stream string, random *rand.Rand) []string {
	var reads []string
	most := 1 + random.IntN(len(stream)+1)
	for len(stream) > 0 {
		n := min(random.IntN(most+1), len(stream))
		reads = append(reads, stream[:n])
		stream = stream[n:]
	}
	return reads
}
