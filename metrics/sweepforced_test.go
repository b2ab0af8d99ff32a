package metrics

import (
	"testing"
)

func TestWhatStaysOpenIsForced(t *testing.T) {
	t.Parallel()
	t.Run("a prefill that ends later gives the rest of its tokens late", func(t *testing.T) {
		t.Parallel()
		s := newSweep(0, Estimated)
		l := life{content: at(50), end: 50 * second, input: 100, usage: tokens(100, 1)}
		calls := l.events()
		calls[0].call(&s)
		f := read(&s, 30*second)
		near(t, "watermark at the limit", f.watermark, 0)
		f = read(&s, 40*second)
		near(t, "watermark", f.watermark, 10)
		near(t, "lag", f.lag, 30)
		near(t, "active", f.active[phasePrefill], 10)
		near(t, "tokens", f.tokens[phasePrefill], 0)
		f = read(&s, 45*second)
		near(t, "watermark", f.watermark, 15)
		if f.forced != 1 {
			t.Errorf("forced intervals = %d, want 1 for one prefill", f.forced)
		}
		calls[1].call(&s)
		calls[2].call(&s)
		f = read(&s, 60*second)
		near(t, "tokens", f.tokens[phasePrefill], 100)
		near(t, "late", f.late, 30)
		near(t, "active", f.active[phasePrefill], 50)
	})
	t.Run("a gap that ends later likewise", func(t *testing.T) {
		t.Parallel()
		s := newSweep(0, Estimated)
		l := life{content: at(1, 2, 52, 53), end: 53 * second, input: 100, usage: tokens(100, 4)}
		calls := l.events()
		for _, c := range calls[:3] {
			c.call(&s)
		}
		f := read(&s, 42*second)
		near(t, "watermark", f.watermark, 12)
		near(t, "active", f.active[phaseDecode], 11)
		for _, c := range calls[3:] {
			c.call(&s)
		}
		f = read(&s, 53*second)
		near(t, "tokens", f.tokens[phaseDecode], 3)
		near(t, "late", f.late, .2)
		near(t, "active", f.active[phaseDecode], 52)
		if f.forced != 1 {
			t.Errorf("forced intervals = %d, want 1", f.forced)
		}
	})
	t.Run("a failure keeps what was forced and nothing else", func(t *testing.T) {
		t.Parallel()
		s := newSweep(0, Estimated)
		l := life{end: 60 * second, input: 100, outcome: Failure}
		calls := l.events()
		calls[0].call(&s)
		read(&s, 40*second)
		calls[1].call(&s)
		f := read(&s, 60*second)
		near(t, "prefill active", f.active[phasePrefill], 10)
		near(t, "total active", f.active[phaseTotal], 60)
		near(t, "tokens", f.tokens[phaseTotal], 0)
	})
	t.Run("an answer that is no stream lets the watermark go without a word", func(t *testing.T) {
		t.Parallel()
		s := newSweep(0, Estimated)
		l := life{end: 60 * second, whole: true, usage: tokens(1, 1)}
		calls := l.events()
		calls[0].call(&s)
		f := read(&s, 40*second)
		near(t, "watermark", f.watermark, 10)
		calls[1].call(&s)
		f = read(&s, 70*second)
		near(t, "total active", f.active[phaseTotal], 60)
		near(t, "prefill active", f.active[phasePrefill], 0)
		if f.forced != 0 {
			t.Errorf("forced intervals = %d, want 0", f.forced)
		}
	})
	t.Run("an answer that is spread evenly keeps all its tokens", func(t *testing.T) {
		t.Parallel()
		s := newSweep(0, EvenSpread)
		l := life{content: at(1, 11, 21, 31, 41, 51), end: 51 * second, input: 100, usage: tokens(100, 11)}
		calls := l.events()
		for _, c := range calls[:6] {
			c.call(&s)
		}
		near(t, "watermark", read(&s, 46*second).watermark, 16)
		for _, c := range calls[6:] {
			c.call(&s)
		}
		f := read(&s, 51*second)
		near(t, "tokens", f.tokens[phaseDecode], 10)
		near(t, "late", f.late, 3) // the first gap and half of the second
		near(t, "active", f.active[phaseDecode], 50)
	})
}

func TestTooManyPendingChangesHalveTheLag(t *testing.T) {
	t.Parallel()
	s := newSweep(0, Estimated)
	hung, busy := &openRequest{}, &openRequest{}
	s.start(hung, 0, 100, true)
	s.start(busy, 0, 100, true)
	const gap, events = 10_000, 8 * batch // ns, so that the lag stays under the limit
	now := int64(0)
	for range maxPending {
		now += gap
		s.push(step{at: now, phase: phaseTotal}) // as events of other requests would
	}
	for range events {
		now += gap
		s.content(busy, now, Count{})
		if len(s.pending) > maxPending+batch {
			t.Fatalf("%d changes pending", len(s.pending))
		}
	}
	if s.forced == 0 || s.watermark == 0 {
		t.Errorf("forced intervals = %d, watermark %d", s.forced, s.watermark)
	}
	s.content(hung, now, Count{})
	for _, r := range []*openRequest{hung, busy} {
		s.finish(r, (&life{content: []int64{now}, end: now, usage: tokens(100, 1), estimate: true}).record())
	}
	f := read(&s, now)
	near(t, "tokens", f.tokens[phaseTotal], 200+events-1)
	if s.now != (levels{}) {
		t.Errorf("not at rest: %+v", s.now)
	}
}

func TestAStartBehindTheWatermarkBeginsThere(t *testing.T) {
	t.Parallel()
	s := newSweep(0, Estimated)
	s.collect(10 * second)
	for _, c := range (&life{start: 9 * second, content: at(11), end: 11 * second, input: 100, usage: tokens(100, 1)}).events() {
		c.call(&s)
	}
	f := read(&s, 11*second)
	near(t, "active", f.active[phasePrefill], 1)
	near(t, "tokens", f.tokens[phasePrefill], 100)
	s.collect(5 * second)
	near(t, "watermark after a look back", Seconds(s.watermark), 11)
}

func TestARateWithoutMeasureIsLate(t *testing.T) {
	t.Parallel()
	s := newSweep(0, Estimated)
	for _, c := range (&life{content: []int64{1}, end: 1, input: 1000, usage: tokens(1000, 1)}).events() {
		c.call(&s)
	}
	f := read(&s, second)
	near(t, "tokens", f.tokens[phasePrefill], 1000)
	near(t, "late", f.late, 990) // 10^10 tokens per second for a nanosecond are 10
}
