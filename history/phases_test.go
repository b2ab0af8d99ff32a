package history

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

func TestPhasesOfRequests(t *testing.T) {
	t.Parallel()
	const s = 1_000_000_000
	whole := metrics.Timeline{
		Sched: 1 * s, Issue: 2 * s, Start: 3 * s, ConnStart: 3 * s, DNSStart: 3 * s, DNSDone: 4 * s, ConnectStart: 4 * s, ConnectDone: 5 * s,
		TLSStart: 5 * s, TLSDone: 6 * s, ConnDone: 6 * s, Sent: 7 * s, FirstByte: 8 * s, Header: 8 * s, End: 11 * s,
	}
	cut := func(change func(*metrics.Timeline)) metrics.Timeline {
		timeline := whole
		change(&timeline)
		return timeline
	}
	for name, test := range map[string]struct {
		entry entry
		want  string
	}{
		"a whole stream over a new connection": {entry{time: whole, first: 9 * s, last: 10 * s}, "queue-1 prepare-2 dns-3 connect-4 tls-5 send-6 wait-8 decode-9 rest-10"},
		"over one that is used again": {
			entry{time: cut(func(t *metrics.Timeline) {
				t.DNSStart, t.DNSDone, t.ConnectStart, t.ConnectDone, t.TLSStart, t.TLSDone = 0, 0, 0, 0, 0, 0
			}), first: 9 * s, last: 10 * s, reused: true},
			"queue-1 prepare-2 send-6 wait-8 decode-9 rest-10",
		},
		"over one that came free while another was made": {entry{time: whole, first: 9 * s, last: 10 * s, reused: true}, "queue-1 prepare-2 send-6 wait-8 decode-9 rest-10"},
		"an answer that came whole":                      {entry{time: whole, first: 11 * s, last: 11 * s}, "queue-1 prepare-2 dns-3 connect-4 tls-5 send-6 wait-10"},
		"without a first token until the end":            {entry{time: whole}, "queue-1 prepare-2 dns-3 connect-4 tls-5 send-6 wait-10"},
		"a request that was not written to its end":      {entry{time: cut(func(t *metrics.Timeline) { t.Sent = 0 })}, "queue-1 prepare-2 dns-3 connect-4 tls-5 send-10"},
		"a handshake that hangs":                         {entry{time: cut(func(t *metrics.Timeline) { t.TLSDone, t.Sent = 0, 0 })}, "queue-1 prepare-2 dns-3 connect-4 tls-10"},
		"a connection that is not made": {
			entry{time: cut(func(t *metrics.Timeline) { t.ConnectDone, t.TLSStart, t.TLSDone, t.Sent = 0, 0, 0, 0 })}, "queue-1 prepare-2 dns-3 connect-10",
		},
		"a name that is not found": {
			entry{time: cut(func(t *metrics.Timeline) {
				t.DNSDone, t.ConnectStart, t.ConnectDone, t.TLSStart, t.TLSDone, t.Sent = 0, 0, 0, 0, 0, 0
			})}, "queue-1 prepare-2 dns-10",
		},
		"a request that could not be made": {entry{time: metrics.Timeline{Sched: 1 * s, Issue: 2 * s, End: 4 * s}}, "queue-1 prepare-3"},
		"one outside any schedule":         {entry{time: metrics.Timeline{Start: 3 * s, Sent: 4 * s, End: 6 * s}, first: 5 * s, last: 6 * s}, "send-1 wait-2 decode-3"},
		"tokens before everything is sent": {entry{time: metrics.Timeline{Start: 3 * s, Sent: 5 * s, End: 6 * s}, first: 4 * s, last: 6 * s}, "send-2 decode-3"},
		"one that took no time":            {entry{time: metrics.Timeline{Sched: 1 * s, End: 1 * s}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			phases, _ := test.entry.phases()
			if diff := cmp.Diff(test.want, ends(phases)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// ends are the names of phases with the seconds at which they end.
func ends(phases []view.Phase) string {
	out := ""
	for i, p := range phases {
		if i > 0 {
			out += " "
		}
		out += string(p.Name) + "-" + plainNumber(p.End)
	}
	return out
}

// Whatever the instants, in whatever order: the parts are the whole.
func TestPhasesArePartition(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var e entry
		e.reused = random.IntN(2) == 0
		for _, at := range []*int64{
			&e.time.Sched, &e.time.Issue, &e.time.Start, &e.time.ConnStart, &e.time.ConnDone, &e.time.DNSStart, &e.time.DNSDone, &e.time.ConnectStart,
			&e.time.ConnectDone, &e.time.TLSStart, &e.time.TLSDone, &e.time.Sent, &e.time.FirstByte, &e.time.Header, &e.first, &e.time.End,
		} {
			if random.IntN(4) > 0 {
				*at = random.Int64N(1e10) + 1
			}
		}
		if e.first != 0 {
			e.last = e.first + random.Int64N(1e10)
		}
		phases, total := e.phases()
		at, place := 0.0, 0
		for _, p := range phases {
			for place < len(view.PhaseNames) && view.PhaseNames[place] != p.Name {
				place++
			}
			if p.Start != at || p.End <= p.Start || place == len(view.PhaseNames) {
				t.Fatalf("%+v\nphase %+v of %+v", e, p, phases)
			}
			at = p.End
			place++
		}
		if at != total {
			t.Fatalf("%+v\nphases end at %v, the whole at %v: %+v", e, at, total, phases)
		}
	}
}
