package metrics

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ms = int64(1e6)

// origin keeps instants away from 0, which means "did not happen".
const origin = 1000 * ms

// timeline is a request written as its content events in ms after the start.
type timeline struct {
	name                string
	header, firstEvent  int64
	content             []int64
	firstOutput         int64
	end                 int64
	in, out, firstCount int64 // firstCount 0 = the first chunk had no usage
	outcome             Outcome
	class               ErrorClass
}

func (g timeline) record() *Record {
	at := func(t int64) int64 {
		if t == 0 {
			return 0
		}
		return origin + t*ms
	}
	r := &Record{RequestID: g.name, Streaming: true, Outcome: g.outcome, Class: g.class, OutputSource: SourceUsage, InputSource: SourceUsage}
	r.Time = Timeline{Sched: origin, Issue: origin, Start: origin, Header: at(g.header), FirstEvent: at(g.firstEvent), FirstOutput: at(g.firstOutput), End: at(g.end)}
	for _, t := range g.content {
		r.Content = append(r.Content, at(t))
	}
	r.Usage = Usage{Input: Tokens(g.in), Output: Tokens(g.out)}
	if g.firstCount > 0 {
		r.FirstTokens = Tokens(g.firstCount)
	}
	return r
}

func goldenTimelines() map[string]timeline {
	list := []timeline{
		{name: "plain", header: 5, firstEvent: 40, content: []int64{250, 300, 350, 400}, firstOutput: 250, end: 403, in: 100, out: 4, outcome: Success},
		{name: "bundled", firstEvent: 200, content: []int64{200, 300, 420}, firstOutput: 200, end: 421, in: 64, out: 10, firstCount: 4, outcome: Success},
		{name: "bundled, usage not read", firstEvent: 200, content: []int64{200, 300, 420}, firstOutput: 200, end: 421, in: 64, out: 10, outcome: Success},
		{name: "reasoning", firstEvent: 30, content: []int64{120, 140, 160, 180, 200, 230, 260, 290}, firstOutput: 230, end: 293, in: 50, out: 8, outcome: Success},
		{name: "one token", firstEvent: 180, content: []int64{180}, firstOutput: 180, end: 182, in: 20, out: 1, outcome: Success},
		{name: "coalesced", firstEvent: 100, content: []int64{100, 150, 150, 150, 260}, firstOutput: 100, end: 261, in: 10, out: 5, outcome: Success},
		{name: "empty", firstEvent: 100, end: 121, in: 9, out: 0, outcome: Failure, class: ErrEmpty},
		{name: "tool call", firstEvent: 90, content: []int64{140, 160, 180}, firstOutput: 140, end: 182, in: 30, out: 8, outcome: Success},
		{name: "no terminator", firstEvent: 100, content: []int64{100, 150}, firstOutput: 100, end: 150, in: 10, out: 2, outcome: Failure, class: ErrTruncated},
		{name: "error frame", firstEvent: 100, content: []int64{100}, firstOutput: 100, end: 150, in: 10, out: 1, outcome: Failure, class: ErrStream},
		{name: "thinking, text and tool", firstEvent: 30, content: []int64{120, 180, 210, 240}, firstOutput: 180, end: 251, in: 25, out: 9, outcome: Success},
	}
	out := map[string]timeline{}
	for _, g := range list {
		out[g.name] = g
	}
	return out
}

func TestGoldenTimelinesGiveTheFiguresOfTheSpecification(t *testing.T) {
	t.Parallel()
	undef := math.NaN()
	tests := []struct {
		name                                                         string
		ttft, ttfo, ttst, rl, decode, itl, perUser, e2e, prefillRate float64 // ms and tokens per second
	}{
		{"plain", 250, 250, 50, 400, 150, 50, 20, 10, 400},
		{"bundled, usage not read", 200, 200, 100, 420, 220, 220. / 9, 9 / .220, 10 / .420, 320},
		{"bundled", 200, 200, 100, 420, 220, 220. / 6, 6 / .220, 10 / .420, 320},
		{"reasoning", 120, 230, 20, 290, 170, 170. / 7, 7 / .170, 8 / .290, 50 / .120},
		{"one token", 180, 180, undef, 180, 0, undef, undef, 1 / .180, 20 / .180},
		{"coalesced", 100, 100, 50, 260, 160, 40, 25, 5 / .260, 100},
		{"empty", undef, undef, undef, undef, undef, undef, undef, undef, undef},
		{"tool call", 140, 140, 20, 180, 40, 40. / 7, 175, 8 / .180, 30 / .140},
		{"no terminator", 100, 100, 50, 150, 50, 50, 20, 2 / .150, 100},
		{"error frame", 100, 100, undef, 100, 0, undef, undef, 10, 100},
		{"thinking, text and tool", 120, 180, 60, 240, 120, 15, 8 / .120, 37.5, 25 / .120},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := Measure(goldenTimelines()[tt.name].record())
			check := func(what string, got Value, want float64) {
				t.Helper()
				if math.IsNaN(want) {
					if got.Defined {
						t.Errorf("%s = %v, want undefined", what, got.V)
					}
					return
				}
				if !got.Defined || math.Abs(got.V-want) > 1e-9*max(1, math.Abs(want)) {
					t.Errorf("%s = %+v, want %v", what, got, want)
				}
			}
			check("TTFT", m.TTFT, tt.ttft/1e3)
			check("TTFO", m.TTFO, tt.ttfo/1e3)
			check("second token gap", m.TTST, tt.ttst/1e3)
			check("latency", m.RequestLatency, tt.rl/1e3)
			check("decode", m.DecodeDuration, tt.decode/1e3)
			check("ITL", m.ITL, tt.itl/1e3)
			check("1/ITL", m.PerUserRate, tt.perUser)
			check("OSL/RL", m.E2ERate, tt.e2e)
			check("ISL/TTFT", m.PrefillRate, tt.prefillRate)
		})
	}
}

func TestAPlainTimelineHasTheInstantsBeforeTheFirstToken(t *testing.T) {
	t.Parallel()
	m := Measure(goldenTimelines()["plain"].record())
	if want := (Value{.005, true}); m.StreamSetup != want {
		t.Errorf("stream setup = %v, want %v", m.StreamSetup, want)
	}
	if want := (Value{.04, true}); m.FirstEvent != want {
		t.Errorf("first event = %v, want %v", m.FirstEvent, want)
	}
	if want := (Value{.403, true}); m.Total != want {
		t.Errorf("total = %v, want %v", m.Total, want)
	}
}

func TestGoodputOfTheGoldenTimelines(t *testing.T) {
	t.Parallel()
	slo := SLO{Name: "x", Thresholds: []Threshold{{SLOTimeToFirstToken, 250e6}, {SLOInterTokenLatency, 60e6}}}
	got := map[string]bool{}
	for _, name := range []string{"plain", "bundled", "reasoning", "one token", "coalesced", "empty", "tool call"} {
		r := goldenTimelines()[name].record()
		m := Measure(r)
		got[name] = slo.Evaluate(r, &m).Good
	}
	want := map[string]bool{
		"plain": true, "bundled": true, "reasoning": true, "one token": true, "coalesced": true, "empty": false, "tool call": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("good requests (-want +got):\n%s", diff)
	}
}

func TestAnSLOLimitIsKeptWhenItIsReachedAndBrokenByOneNanosecond(t *testing.T) {
	t.Parallel()
	slo := SLO{Thresholds: []Threshold{{SLOTimeToFirstToken, 300e6}}}
	for _, tt := range []struct {
		ttft int64
		good bool
	}{{300 * ms, true}, {300*ms + 1, false}} {
		r := goldenTimelines()["one token"].record()
		r.Content[0] = origin + tt.ttft
		r.Time.End = r.Content[0]
		m := Measure(r)
		if got := slo.Evaluate(r, &m).Good; got != tt.good {
			t.Errorf("TTFT of %d ns: good = %v, want %v", tt.ttft, got, tt.good)
		}
	}
}

func TestAnEstimatedCountGivesNoInterTokenLatency(t *testing.T) {
	t.Parallel()
	r := goldenTimelines()["plain"].record()
	r.OutputSource = SourceEvents
	m := Measure(r)
	if m.ITL.Defined || m.PerUserRate.Defined {
		t.Errorf("ITL = %v, 1/ITL = %v, want both undefined", m.ITL, m.PerUserRate)
	}
	if !m.E2ERate.Defined {
		t.Error("OSL/RL is undefined, want the estimate")
	}
}

func TestARecordInTheWrongOrderIsInvalid(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Record){
		"start before schedule":      func(r *Record) { r.Time.Start = r.Time.Sched - 1 },
		"content before header":      func(r *Record) { r.Time.Header = r.Content[0] + 1 },
		"content running backwards":  func(r *Record) { r.Content[1] = r.Content[0] - 1 },
		"end before the last token":  func(r *Record) { r.Time.End = r.Content[3] - 1 },
		"answer before it was asked": func(r *Record) { r.Time.Sent = r.Time.Header + 1 },
	} {
		r := goldenTimelines()["plain"].record()
		if got := Invalid(r); got != "" {
			t.Fatalf("unspoilt record is invalid: %s", got)
		}
		spoil(r)
		if got := Invalid(r); got != InvalidOrder {
			t.Errorf("%s: invalid = %q, want %q", name, got, InvalidOrder)
		}
	}
	r := goldenTimelines()["plain"].record()
	r.Usage.Output = Tokens(-1)
	if got := Invalid(r); got != InvalidCount {
		t.Errorf("negative count: invalid = %q, want %q", got, InvalidCount)
	}
}
