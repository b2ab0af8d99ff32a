package metrics

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// interval is a part of a request's life with a rate, for a reference that knows nothing of watermarks and heaps.
type interval struct {
	phase    sweepPhase
	from, to int64
	tokens   float64
}

// reference are the intervals of lives, and the tokens that they have in flight at an instant.
type reference struct {
	intervals []interval
	held      []interval // in flight: so many tokens between two instants
}

// add takes a life whose events stand for so many tokens each, the first included.
func (ref *reference) add(l *life, events []float64) {
	ref.intervals = append(ref.intervals, interval{phaseTotal, l.start, l.end, 0})
	ref.held = append(ref.held, interval{phaseTotal, l.start, l.end, float64(l.input)})
	if len(l.content) == 0 || l.whole {
		return
	}
	ref.intervals = append(ref.intervals, interval{phasePrefill, l.start, l.content[0], float64(l.input)})
	for i, n := range events {
		ref.held = append(ref.held, interval{phaseTotal, l.content[i], l.end, n})
	}
	gaps := []interval{}
	waiting := 0.0
	for i := 1; i < len(l.content); i++ {
		switch before := l.content[i-1]; {
		case l.content[i] > before:
			gaps = append(gaps, interval{phaseDecode, before, l.content[i], events[i] + waiting})
			waiting = 0
		case len(gaps) > 0:
			gaps[len(gaps)-1].tokens += events[i]
		default:
			waiting += events[i]
		}
	}
	if waiting > 0 {
		gaps = append(gaps, interval{phaseDecode, l.content[0], l.content[0] + instant, waiting})
	}
	ref.intervals = append(ref.intervals, gaps...)
}

// stretches cuts time at every end of an interval and adds up what lies over each stretch.
func (ref *reference) stretches(until int64) []piece {
	cuts := []int64{0, until}
	for _, i := range slices.Concat(ref.intervals, ref.held) {
		cuts = append(cuts, i.from, i.to)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []piece
	for c := 1; c < len(cuts) && cuts[c] <= until; c++ {
		p := piece{ns: cuts[c] - cuts[c-1]}
		for _, i := range ref.intervals {
			if i.from <= cuts[c-1] && cuts[c] <= i.to {
				p.levels.requests[i.phase]++
				if i.phase != phaseTotal {
					p.levels.rate[i.phase] += int64(math.Round(i.tokens * micro * 1e9 / float64(i.to-i.from)))
				}
			}
		}
		for _, i := range ref.held {
			if i.from <= cuts[c-1] && cuts[c] <= i.to {
				p.levels.tokens += int64(math.Round(i.tokens * micro))
			}
		}
		out = append(out, p)
	}
	return out
}

// randomLives are requests of all kinds within some ten seconds; counts are told by some, and some have events at the same instant.
func randomLives(random *rand.Rand, n int, coalesced bool) []life {
	lives := make([]life, n)
	for i := range lives {
		l := &lives[i]
		l.start = random.Int64N(8 * second)
		l.input = random.Int64N(1000)
		l.whole = random.IntN(8) == 0
		l.usage.Input = Tokens(max(0, l.input+random.Int64N(20)-10*random.Int64N(2)))
		now := l.start
		output := int64(0)
		tells := random.IntN(2) == 0
		for range random.IntN(12) {
			if !coalesced || len(l.content) == 0 || random.IntN(4) > 0 {
				now += 1 + random.Int64N(second/4)
			}
			output += 1 + random.Int64N(4)
			l.content = append(l.content, now)
			if tells {
				l.told = append(l.told, Tokens(output))
			}
		}
		l.usage.Output = Tokens(output)
		l.end = now + random.Int64N(second/2)
		switch fate := random.IntN(5); {
		case len(l.content) == 0, fate == 0:
			l.outcome = []Outcome{Failure, Cancelled}[random.IntN(2)]
		case fate == 1:
			l.estimate = true
		}
	}
	return lives
}

// delayed orders the calls of lives as a busy process would hear them: later than they happened, those of one request in their order, and
// those of one instant together. Only starts are told at once.
func delayed(random *rand.Rand, lives []life, counted [][]float64) []heard {
	var all []heard
	for i := range lives {
		l := &lives[i]
		at, heardAt := int64(0), int64(0)
		for j, c := range l.events() {
			if c.at > at {
				at = c.at
				heardAt = max(heardAt, at)
				if j > 0 {
					heardAt = max(heardAt, at+random.Int64N(second/10))
				}
			}
			c.at = heardAt
			if n := len(l.content); j >= 1 && j <= n {
				inner, event := c.call, j-1
				c.call = func(s *sweep) { // notes what the event is taken for
					counted[i][event] = float64(s.ratio.perEvent()) / micro
					if len(l.told) > 0 {
						counted[i][event] = float64(l.told[event].N)
						if event > 0 {
							counted[i][event] -= float64(l.told[event-1].N)
						}
					} else if event == 0 {
						counted[i][event] = 1
					}
					inner(s)
				}
			}
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b heard) int { return cmp.Compare(a.at, b.at) })
	return all
}

// settled are all integrals and histograms of a sweep.
type settled struct {
	Watermark int64
	Cells     [3][5][]cell
	Sums      [3][5]area
	TokenTime area
	Late      [2]int64
	Debt      [2]int64
	By        [3]int64
	Rounding  [2]int64
}

func settledOf(s *sweep) settled {
	out := settled{Watermark: s.watermark, TokenTime: s.tokenTime, Late: s.late, Debt: s.debt, By: s.by, Rounding: s.rounding}
	for i := range s.phases {
		c := &s.phases[i]
		for j, w := range []*weighted{&c.throughput[0], &c.throughput[1], &c.speed[0], &c.speed[1], &c.concurrency} {
			out.Cells[i][j], out.Sums[i][j] = slices.Clone(w.cells), w.sum
		}
	}
	return out
}

// playWithScrapes gives a sweep all calls, with scrapes between them, and checks at each that nothing has gone back.
func playWithScrapes(t *testing.T, s *sweep, calls []heard, scrape func() bool, until int64) {
	t.Helper()
	var before figures
	var weights [3]int64
	for i, c := range calls {
		c.call(s)
		if i+1 < len(calls) && calls[i+1].at == c.at || !scrape() {
			continue
		}
		f := read(s, c.at)
		if f.watermark < before.watermark || f.settled < before.settled || f.late < before.late || f.forced < before.forced {
			t.Fatalf("something has gone back: %+v after %+v", f, before)
		}
		for p := range f.tokens {
			if f.tokens[p] < before.tokens[p] || f.active[p] < before.active[p] || f.requests[p] < before.requests[p] {
				t.Fatalf("phase %d has gone back: %+v after %+v", p, f, before)
			}
			weight := s.phases[p].concurrency.ns
			if weight != s.watermark || weight < weights[p] {
				t.Fatalf("phase %d: weights are %d, settled %d", p, weight, s.watermark)
			}
			weights[p] = weight
		}
		before = f
	}
	s.collect(until)
}

func TestTheSweepAgreesWithASlowReference(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 1))
		lives := randomLives(random, 1+random.IntN(25), seed%2 == 0)
		counted := make([][]float64, len(lives))
		for i := range lives {
			counted[i] = make([]float64, len(lives[i].content))
		}
		calls := delayed(random, lives, counted)
		until := 30 * second
		s := newSweep(0, Estimated)
		playWithScrapes(t, &s, calls, func() bool { return random.IntN(3) == 0 }, until)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		var ref reference
		for i := range lives {
			ref.add(&lives[i], counted[i])
		}
		agree(t, &s, ref.stretches(until))
		if s.now != (levels{}) || len(s.pending) > 0 || s.head != nil {
			t.Errorf("not at rest: %+v", s.now)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}

		// However often somebody looks, the result is the same.
		unseen := newSweep(0, Estimated)
		playWithScrapes(t, &unseen, calls, func() bool { return false }, until)
		if diff := gocmp.Diff(settledOf(&unseen), settledOf(&s), gocmp.AllowUnexported(cell{}, area{})); diff != "" {
			t.Fatalf("seed %d: looking has changed the result:\n%s", seed, diff)
		}
	}
}

// agree compares a sweep with the stretches of the reference.
func agree(t *testing.T, s *sweep, list []piece) {
	t.Helper()
	tokenTime := 0.0
	for phase := range s.phases {
		p, c := sweepPhase(phase), &s.phases[phase]
		var sum, active, requests float64
		want := map[int]int64{} // weights by classic bucket
		for _, piece := range list {
			rate := piece.levels.rateOf(p)
			sum += float64(rate) / micro * Seconds(piece.ns)
			requests += float64(piece.levels.requests[p]) * Seconds(piece.ns)
			if piece.levels.requests[p] > 0 {
				active += Seconds(piece.ns)
			}
			bucket := 0
			for _, b := range boundsPhaseRate {
				if float64(rate)/micro > b {
					bucket++
				}
			}
			want[bucket] += piece.ns
			if phase == 0 {
				tokenTime += float64(piece.levels.tokens) / micro * Seconds(piece.ns)
			}
		}
		near(t, "tokens", c.throughput[0].sum.seconds()+c.throughput[1].sum.seconds(), sum)
		near(t, "active", Seconds(c.throughput[1].ns), active)
		near(t, "requests", c.concurrency.sum.seconds(), requests)
		got := map[int]int64{}
		for state := range c.throughput {
			for _, cell := range c.throughput[state].cells {
				got[cell.key.classic()] += cell.ns
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("phase %d: weights (-want +got):\n%s", phase, diff)
		}
	}
	near(t, "token seconds", s.tokenTime.seconds(), tokenTime)
}

func TestNoTokenIsLostWhateverIsForced(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := newSweep(0, []Accounting{Estimated, EvenSpread}[seed%2])
		lives := randomLives(random, 1+random.IntN(20), true)
		want := [2]float64{}
		counted := make([][]float64, len(lives))
		until := int64(0)
		for i := range lives {
			l := &lives[i]
			stretch(random, l)
			l.whole, l.outcome, l.estimate = false, Success, false
			if len(l.content) == 0 {
				l.content, l.told, l.usage.Output = []int64{l.end}, nil, Tokens(1)
			}
			first := int64(1)
			if len(l.told) > 0 {
				first = l.told[0].N
			}
			want[phasePrefill] += float64(l.usage.Input.N)
			want[phaseDecode] += float64(max(l.usage.Output.N, first) - first)
			counted[i] = make([]float64, len(l.content))
			until = max(until, l.end)
		}
		calls := delayed(random, lives, counted)
		until = max(until, calls[len(calls)-1].at)
		playWithScrapes(t, &s, calls, func() bool { return random.IntN(2) == 0 }, until)
		for phase := range want {
			s.reported[phase] = 0 // with its debts
			if got := s.tokens(sweepPhase(phase)); math.Abs(got-want[phase]) > 1e-6 {
				t.Errorf("phase %d: %v tokens, want %v", phase, got, want[phase])
			}
		}
		if s.now != (levels{}) || len(s.pending) > 0 || s.head != nil {
			t.Errorf("not at rest: %+v", s.now)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// stretch puts silences of up to two minutes into a life.
func stretch(random *rand.Rand, l *life) {
	pause := int64(0)
	for i := range l.content {
		if random.IntN(4) == 0 {
			pause += random.Int64N(120 * second)
		}
		l.content[i] += pause
	}
	l.end += pause + random.Int64N(second)
}
