package metrics

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

const second = int64(1e9)

// life is a request as the sweep hears of it, in nanoseconds.
type life struct {
	start    int64
	input    int64 // what is known of the prompt at the start
	content  []int64
	told     []Count // by content event; absent = the events say nothing
	end      int64
	whole    bool // no stream was asked for
	outcome  Outcome
	usage    Usage
	estimate bool // the server tells no usage at the end
}

func (l *life) record() *Record {
	r := &Record{Outcome: cmp.Or(l.outcome, Success), Streaming: !l.whole, Content: l.content, Usage: l.usage, InputSource: SourceUsage, OutputSource: SourceUsage}
	r.Time.Start, r.Time.End = l.start, l.end
	if l.estimate {
		r.InputSource, r.OutputSource = SourceNone, SourceEvents
	}
	if len(l.told) > 0 {
		r.FirstTokens = l.told[0]
	}
	return r
}

// heard is one call of the sweep.
type heard struct {
	at   int64
	call func(s *sweep)
}

// events are the calls of a life, in its order.
func (l *life) events() []heard {
	open := &openRequest{}
	list := []heard{{l.start, func(s *sweep) { s.start(open, l.start, l.input, !l.whole) }}}
	for i, at := range l.content {
		var told Count
		if i < len(l.told) {
			told = l.told[i]
		}
		list = append(list, heard{at, func(s *sweep) { s.content(open, at, told) }})
	}
	return append(list, heard{l.end, func(s *sweep) { s.finish(open, l.record()) }})
}

// inOrder merges the calls of several lives by their instants.
func inOrder(lives ...life) []heard {
	var all []heard
	for i := range lives {
		all = append(all, lives[i].events()...)
	}
	slices.SortStableFunc(all, func(a, b heard) int { return cmp.Compare(a.at, b.at) })
	return all
}

// play gives a sweep all calls up to an instant and settles it there.
func play(s *sweep, calls []heard, until int64) {
	for _, c := range calls {
		if c.at <= until {
			c.call(s)
		}
	}
	s.collect(until)
}

// evenly gives n instants from first to last.
func evenly(first, last int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = first + (last-first)*int64(i)/int64(n-1)
	}
	return out
}

// threeRequests is the worked example of the time-weighted figures: one token per event, evenly spaced, 10 seconds.
func threeRequests() []life {
	request := func(start, first, last float64, input, output int64) life {
		at := func(s float64) int64 { return int64(math.Round(s*10)) * (second / 10) }
		return life{
			start: at(start), input: input, content: evenly(at(first), at(last), int(output)), end: at(last),
			usage: Usage{Input: Tokens(input), Output: Tokens(output)},
		}
	}
	return []life{request(0, 1.2, 3.2, 120, 5), request(2, 3.5, 6, 225, 11), request(5, 5.4, 10, 80, 24)}
}

// piece is a stretch of time over which no curve changes.
type piece struct {
	levels levels
	ns     int64
}

// pieces settles what is pending change by change.
func pieces(s *sweep, until int64) []piece {
	var out []piece
	for s.watermark < until {
		next, values := until, s.now
		if len(s.pending) > 0 {
			next = min(next, s.pending[0].at)
		}
		began := s.watermark
		s.settle(next, math.MaxInt)
		if s.watermark > began {
			out = append(out, piece{values, s.watermark - began})
		}
	}
	return out
}

// spread are the figures of one curve over time.
type spread struct {
	mean, deviation float64
	seconds         float64
	percentiles     [4]float64 // 50, 90, 95, 99
}

// spreadOf takes a curve where the mask holds. A percentile is the least value below or at which the curve was for that share of time.
func spreadOf(list []piece, curve func(levels) float64, mask func(levels) bool) spread {
	type part struct {
		value float64
		ns    int64
	}
	var parts []part
	var out spread
	total := int64(0)
	for _, p := range list {
		if mask == nil || mask(p.levels) {
			parts = append(parts, part{curve(p.levels), p.ns})
			out.mean += curve(p.levels) * float64(p.ns)
			total += p.ns
		}
	}
	out.mean /= float64(total)
	out.seconds = Seconds(total)
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.value, b.value) })
	for i, q := range []int64{50, 90, 95, 99} {
		reached := int64(0)
		for _, p := range parts {
			if reached += p.ns; reached*100 >= q*total {
				out.percentiles[i] = p.value
				break
			}
		}
	}
	for _, p := range parts {
		out.deviation += (p.value - out.mean) * (p.value - out.mean) * float64(p.ns)
	}
	out.deviation = math.Sqrt(out.deviation / float64(total))
	return out
}

func throughput(phase sweepPhase) func(levels) float64 {
	return func(l levels) float64 { return float64(l.rateOf(phase)) / micro }
}

func concurrency(phase sweepPhase) func(levels) float64 {
	return func(l levels) float64 { return float64(l.requests[phase]) }
}

func perUser(phase sweepPhase) func(levels) float64 {
	return func(l levels) float64 {
		if l.requests[phase] == 0 {
			return 0
		}
		return throughput(phase)(l) / float64(l.requests[phase])
	}
}

func during(phase sweepPhase) func(levels) bool {
	return func(l levels) bool { return l.requests[phase] > 0 }
}

func TestTheWorkedExampleOfThreeRequests(t *testing.T) {
	t.Parallel()
	s := newSweep(0, Estimated)
	for _, c := range inOrder(threeRequests()...) {
		c.call(&s)
	}
	list := pieces(&s, 10*second)
	inFlight := func(l levels) float64 { return float64(l.tokens) / micro }
	tests := []struct {
		name      string
		curve     func(levels) float64
		mask      func(levels) bool
		mean, dev float64
		seconds   float64
		p         [4]float64
	}{
		{"prefill throughput", throughput(phasePrefill), nil, 42.5, 66.096520, 10, [4]float64{0, 150, 150, 200}},
		{"prefill throughput while active", throughput(phasePrefill), during(phasePrefill), 137.096774, 33.523564, 3.1, [4]float64{150, 200, 200, 200}},
		{"decode throughput", throughput(phaseDecode), nil, 3.7, 2.238303, 10, [4]float64{4, 5, 9, 9}},
		{"decode throughput while active", throughput(phaseDecode), during(phaseDecode), 4.352941, 1.746970, 8.5, [4]float64{5, 5, 9, 9}},
		{"concurrency", concurrency(phaseTotal), nil, 1.22, .414246, 10, [4]float64{1, 2, 2, 2}},
		{"prefill concurrency", concurrency(phasePrefill), nil, .31, .462493, 10, [4]float64{0, 1, 1, 1}},
		{"decode concurrency", concurrency(phaseDecode), nil, .91, .449333, 10, [4]float64{1, 1, 2, 2}},
		{"total throughput", throughput(phaseTotal), nil, 46.2, 64.770827, 10, [4]float64{5, 152, 152, 204}},
		{"total throughput while active", throughput(phaseTotal), during(phaseTotal), 46.2, 64.770827, 10, [4]float64{5, 152, 152, 204}},
		{"decode throughput per user", perUser(phaseDecode), nil, 3.43, 1.813863, 10, [4]float64{4, 5, 5, 5}},
		{"decode throughput per user while active", perUser(phaseDecode), during(phaseDecode), 4.035294, 1.195059, 8.5, [4]float64{4.5, 5, 5, 5}},
		{"tokens in flight", inFlight, nil, 175.795, 96.547672, 10, [4]float64{120, 347, 348, 349}},
	}
	for _, test := range tests {
		got := spreadOf(list, test.curve, test.mask)
		near(t, test.name+": mean", got.mean, test.mean)
		near(t, test.name+": deviation", got.deviation, test.dev)
		near(t, test.name+": seconds", got.seconds, test.seconds)
		if got.percentiles != test.p {
			t.Errorf("%s: percentiles = %v, want %v", test.name, got.percentiles, test.p)
		}
	}
}

// near fails unless two figures are equal to a millionth.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// figures are what a scrape reads from a sweep, by phase.
type figures struct {
	watermark, lag, settled  float64
	tokens, active, requests [3]float64
	late                     float64
	forced                   int64
}

func read(s *sweep, now int64) figures {
	s.collect(now)
	f := figures{watermark: Seconds(s.watermark), lag: Seconds(now - s.watermark), settled: Seconds(s.watermark - s.begun), forced: s.forced}
	f.late = float64(s.late[0]+s.late[1]) / micro
	f.tokens[phasePrefill], f.tokens[phaseDecode] = s.tokens(phasePrefill), s.tokens(phaseDecode)
	f.tokens[phaseTotal] = f.tokens[phasePrefill] + f.tokens[phaseDecode]
	for i := range s.phases {
		f.active[i] = Seconds(s.phases[i].throughput[1].ns)
		f.requests[i] = s.phases[i].concurrency.sum.seconds()
	}
	return f
}

func TestTheWatermarkOfTheWorkedExample(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                            string
		now                             float64
		watermark, lag, tokens, active  float64
		decodeTokens, decodeActive, all float64
	}{
		{"before anything is known", 1, 0, 1, 0, 0, 0, 0, 0},
		{"the second request is still in prefill", 3, 2, 1, 120, 1.2, 1.6, .8, 2},
		{"the first token of the second request has just arrived", 3.5, 3.5, 0, 345, 2.7, 4, 2, 3.5 + 1.2},
		{"an event arrives at this very instant", 4, 4, 0, 345, 2.7, 6, 2.5, 5.2},
		{"all is over", 10, 10, 0, 425, 3.1, 37, 8.5, 12.2},
		{"idle time settles by itself", 12, 12, 0, 425, 3.1, 37, 8.5, 12.2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSweep(0, Estimated)
			now := int64(test.now * 1e9)
			play(&s, inOrder(threeRequests()...), now)
			f := read(&s, now)
			near(t, "watermark", f.watermark, test.watermark)
			near(t, "lag", f.lag, test.lag)
			near(t, "settled", f.settled, test.watermark)
			near(t, "prefill tokens", f.tokens[phasePrefill], test.tokens)
			near(t, "prefill active", f.active[phasePrefill], test.active)
			near(t, "prefill requests", f.requests[phasePrefill], test.active)
			near(t, "decode tokens", f.tokens[phaseDecode], test.decodeTokens)
			near(t, "decode active", f.active[phaseDecode], test.decodeActive)
			near(t, "request seconds", f.requests[phaseTotal], test.all)
		})
	}
}
