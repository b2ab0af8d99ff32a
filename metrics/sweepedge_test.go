package metrics

import (
	"testing"
)

// at converts seconds.
func at(seconds ...float64) []int64 {
	out := make([]int64, len(seconds))
	for i, s := range seconds {
		out[i] = int64(s * 1e9)
	}
	return out
}

func told(counts ...int64) []Count {
	out := make([]Count, len(counts))
	for i, n := range counts {
		out[i] = Tokens(n)
	}
	return out
}

func tokens(input, output int64) Usage { return Usage{Input: Tokens(input), Output: Tokens(output)} }

// bundles is an answer of ten tokens in three events.
func bundles() life {
	return life{content: at(1, 2, 4), end: 4 * second, input: 100, usage: tokens(100, 10)}
}

func TestEdgesOfTheSweep(t *testing.T) {
	t.Parallel()
	withCounts := bundles()
	withCounts.told = told(4, 8, 10)
	halfTold := bundles()
	halfTold.told = []Count{Tokens(4), {}, Tokens(10)}
	failure := life{start: second, end: 4 * second, input: 50, outcome: Failure}
	cancelled := life{start: second, end: 4 * second, input: 50, outcome: Cancelled}
	one := func(start float64) life {
		return life{start: int64(start * 1e9), content: at(start + 1), end: int64((start + 1) * 1e9), input: 100, usage: tokens(100, 1)}
	}
	tests := []struct {
		name       string
		accounting Accounting
		lives      []life
		until      float64
		prefill    [3]float64 // tokens, active seconds, request seconds
		decode     [3]float64
		total      [2]float64 // active seconds, request seconds
		late, debt float64
	}{
		{
			"uneven bundles whose counts are told", Estimated,
			[]life{withCounts},
			4,
			[3]float64{100, 1, 1},
			[3]float64{6, 3, 3},
			[2]float64{4, 4},
			0, 0,
		},
		{
			"an event without a count among others with one is estimated, the next makes up for it", Estimated,
			[]life{halfTold},
			4,
			[3]float64{100, 1, 1},
			[3]float64{6, 3, 3},
			[2]float64{4, 4},
			0, 0,
		},
		{
			"uneven bundles, estimated as one token each until the server tells more", Estimated,
			[]life{bundles()},
			4,
			[3]float64{100, 1, 1},
			[3]float64{9, 3, 3},
			[2]float64{4, 4},
			7, 0,
		},
		{
			"uneven bundles, spread evenly", EvenSpread,
			[]life{bundles()},
			4,
			[3]float64{100, 1, 1},
			[3]float64{9, 3, 3},
			[2]float64{4, 4},
			0, 0,
		},
		{
			"the end marker comes long after the last token", Estimated,
			[]life{{content: at(1, 1.5, 2, 2.5, 3), end: 5 * second, input: 100, usage: tokens(100, 5)}},
			5,
			[3]float64{100, 1, 1},
			[3]float64{4, 2, 2},
			[2]float64{5, 5},
			0, 0,
		},
		{
			"all events come at once", Estimated,
			[]life{{content: at(1, 1, 1, 1), end: 1_500_000_000, input: 100, usage: tokens(100, 5)}},
			1.5,
			[3]float64{100, 1, 1},
			[3]float64{4, 1e-6, 1e-6},
			[2]float64{1.5, 1.5},
			1, 0,
		},
		{
			"all events come at once, spread evenly", EvenSpread,
			[]life{{content: at(1, 1, 1, 1), end: 1_500_000_000, input: 100, usage: tokens(100, 5)}},
			1.5,
			[3]float64{100, 1, 1},
			[3]float64{4, 1e-6, 1e-6},
			[2]float64{1.5, 1.5},
			0, 0,
		},
		{
			"all events come at once, at the end", Estimated,
			[]life{{content: at(1, 1, 1), end: second, input: 100, usage: tokens(100, 3)}},
			2,
			[3]float64{100, 1, 1},
			[3]float64{2, 1e-6, 1e-6},
			[2]float64{1 + 1e-6, 1 + 1e-6},
			0, 0,
		},
		{
			"more tokens at once than any rate can show", Estimated,
			[]life{{content: at(1, 1), told: told(1, 20_001), end: second, input: 100, usage: tokens(100, 20_001)}},
			2,
			[3]float64{100, 1, 1},
			[3]float64{20_000, 1e-6, 1e-6},
			[2]float64{1 + 1e-6, 1 + 1e-6},
			10_000, 0,
		},
		{
			"answers of one token only", Estimated,
			[]life{one(0), one(2)},
			3,
			[3]float64{200, 2, 2},
			[3]float64{0, 0, 0},
			[2]float64{2, 2},
			0, 0,
		},
		{
			"a failure before its first token is in the total alone", Estimated,
			[]life{{content: at(1, 2, 3), end: 3 * second, input: 100, usage: tokens(100, 3)}, failure},
			4,
			[3]float64{100, 1, 1},
			[3]float64{2, 2, 2},
			[2]float64{4, 6},
			0, 0,
		},
		{
			"so is what was cancelled", Estimated,
			[]life{{content: at(1, 2, 3), end: 3 * second, input: 100, usage: tokens(100, 3)}, cancelled},
			4,
			[3]float64{100, 1, 1},
			[3]float64{2, 2, 2},
			[2]float64{4, 6},
			0, 0,
		},
		{
			"a failure in decode keeps the gaps that had ended", Estimated,
			[]life{{content: at(1, 2, 3), end: 5 * second, input: 100, outcome: Failure}},
			6,
			[3]float64{100, 1, 1},
			[3]float64{2, 2, 2},
			[2]float64{5, 5},
			0, 0,
		},
		{
			"a failure in decode that was to be spread evenly has none", EvenSpread,
			[]life{{content: at(1, 2, 3), end: 5 * second, input: 100, outcome: Failure}},
			6,
			[3]float64{100, 1, 1},
			[3]float64{0, 0, 0},
			[2]float64{5, 5},
			0, 0,
		},
		{
			"an answer that is no stream has no phases", Estimated,
			[]life{{start: second, end: 3 * second, input: 100, whole: true, usage: tokens(100, 10)}},
			4,
			[3]float64{0, 0, 0},
			[3]float64{0, 0, 0},
			[2]float64{2, 2},
			0, 0,
		},
		{
			"tokens of events that came at once belong to the gap before", Estimated,
			[]life{{content: at(1, 2, 2, 2, 3), end: 3 * second, input: 100, usage: tokens(100, 5)}},
			4,
			[3]float64{100, 1, 1},
			[3]float64{4, 2, 2},
			[2]float64{3, 3},
			0, 0,
		},
		{
			"and to the gap after where there is none before", Estimated,
			[]life{{content: at(1, 1, 1, 3), end: 3 * second, input: 100, usage: tokens(100, 4)}},
			4,
			[3]float64{100, 1, 1},
			[3]float64{3, 2, 2},
			[2]float64{3, 3},
			0, 0,
		},
		{
			"a prompt that was taken for too short makes late tokens", Estimated,
			[]life{{content: at(1), end: second, input: 100, usage: tokens(130, 1)}},
			1,
			[3]float64{130, 1, 1},
			[3]float64{0, 0, 0},
			[2]float64{1, 1},
			30, 0,
		},
		{
			"a prompt that was taken for too long makes a debt, the counter does not shrink", Estimated,
			[]life{{content: at(1), end: second, input: 100, usage: tokens(80, 1)}},
			1,
			[3]float64{80, 1, 1},
			[3]float64{0, 0, 0},
			[2]float64{1, 1},
			0, 20,
		},
		{
			"without usage nothing is made good", Estimated,
			[]life{{content: at(1, 2), end: 2 * second, input: 100, estimate: true, usage: tokens(70, 9)}},
			2,
			[3]float64{100, 1, 1},
			[3]float64{1, 1, 1},
			[2]float64{2, 2},
			0, 0,
		},
		{
			"a prompt of unknown length is active without tokens until its end", Estimated,
			[]life{{content: at(1), end: second, usage: tokens(60, 1)}},
			1,
			[3]float64{60, 1, 1},
			[3]float64{0, 0, 0},
			[2]float64{1, 1},
			60, 0,
		},
		{
			"a first token in no time", Estimated,
			[]life{{content: at(0, 1), end: second, input: 100, usage: tokens(100, 2)}},
			1,
			[3]float64{100, 0, 0},
			[3]float64{1, 1, 1},
			[2]float64{1, 1},
			100, 0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSweep(0, test.accounting)
			now := int64(test.until * 1e9)
			for _, c := range inOrder(test.lives...) {
				c.call(&s)
			}
			f := read(&s, now)
			near(t, "watermark", f.watermark, test.until)
			near(t, "prefill tokens", f.tokens[phasePrefill], test.prefill[0])
			near(t, "prefill active", f.active[phasePrefill], test.prefill[1])
			near(t, "prefill requests", f.requests[phasePrefill], test.prefill[2])
			near(t, "decode tokens", f.tokens[phaseDecode], test.decode[0])
			near(t, "decode active", f.active[phaseDecode], test.decode[1])
			near(t, "decode requests", f.requests[phaseDecode], test.decode[2])
			near(t, "total active", f.active[phaseTotal], test.total[0])
			near(t, "total requests", f.requests[phaseTotal], test.total[1])
			near(t, "late", f.late, test.late)
			near(t, "debt", float64(s.debt[0]+s.debt[1])/micro, test.debt)
			if s.now != (levels{}) || len(s.pending) != 0 || s.head != nil || s.tail != nil {
				t.Errorf("not at rest: %+v, %d changes pending", s.now, len(s.pending))
			}
		})
	}
}

func TestRatesOfUnevenBundles(t *testing.T) {
	t.Parallel()
	withCounts := bundles()
	withCounts.told = told(4, 8, 10)
	tests := []struct {
		name       string
		accounting Accounting
		life       life
		rates      []float64 // of the two gaps
		mean       float64
		p50, p90   float64
	}{
		{"told by the events", Estimated, withCounts, []float64{4, 1}, 2, 1, 4},
		{"told by the events, whatever is configured", EvenSpread, withCounts, []float64{4, 1}, 2, 1, 4},
		{"spread evenly", EvenSpread, bundles(), []float64{4.5, 2.25}, 3, 2.25, 4.5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSweep(0, test.accounting)
			for _, c := range test.life.events() {
				c.call(&s)
			}
			list := pieces(&s, 4*second)
			got := spreadOf(list, throughput(phaseDecode), during(phaseDecode))
			near(t, "mean", got.mean, test.mean)
			near(t, "p50", got.percentiles[0], test.p50)
			near(t, "p90", got.percentiles[1], test.p90)
			near(t, "first gap", throughput(phaseDecode)(list[1].levels), test.rates[0])
			near(t, "second gap", throughput(phaseDecode)(list[2].levels), test.rates[1])
		})
	}
}

func TestAnEstimateFollowsTheLastAnswers(t *testing.T) {
	t.Parallel()
	s := newSweep(0, Estimated)
	answer := func(start float64, events int, output int64) {
		l := life{
			start: int64(start * 1e9), content: evenly(int64((start+1)*1e9), int64((start+2)*1e9), events), end: int64((start + 2) * 1e9),
			input: 10, usage: tokens(10, output),
		}
		for _, c := range l.events() {
			c.call(&s)
		}
	}
	near(t, "before any answer", float64(s.ratio.perEvent()), micro)
	answer(0, 11, 31)
	near(t, "after one of 3 tokens per event", float64(s.ratio.perEvent()), 3*micro)
	answer(10, 11, 11)
	near(t, "after another of 1", float64(s.ratio.perEvent()), 2*micro)
	for i := range 64 {
		answer(float64(20+10*i), 11, 51)
	}
	near(t, "after 64 of 5", float64(s.ratio.perEvent()), 5*micro)
	late := s.late[phaseDecode]
	answer(1000, 11, 51)
	if s.late[phaseDecode] != late {
		t.Errorf("an answer as usual left %d late", s.late[phaseDecode]-late)
	}
}

func TestADebtIsPaidBeforeTheCounterRises(t *testing.T) {
	t.Parallel()
	s := newSweep(0, Estimated)
	open := &openRequest{}
	s.start(open, 0, 100, true)
	s.content(open, second, Count{})
	near(t, "before the end", read(&s, second).tokens[phasePrefill], 100)
	first := life{content: at(1), end: second, usage: tokens(60, 1)}
	s.finish(open, first.record())
	near(t, "after the end", read(&s, second).tokens[phasePrefill], 100)
	for _, c := range (&life{start: 2 * second, content: at(3), end: 3 * second, input: 50, usage: tokens(50, 1)}).events() {
		c.call(&s)
	}
	near(t, "after another request", read(&s, 4*second).tokens[phasePrefill], 110)
}
