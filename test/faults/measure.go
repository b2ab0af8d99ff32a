package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

const (
	// warmUp is how long there is traffic before the first look.
	warmUp = 10 * time.Second
	// settle is how long after a turn a request may run that began before it.
	settle = totalLimit + time.Second
	// shortest is the least time of a phase, so that each target sends something in it.
	shortest = 3 * settle
	longest  = 15 * time.Minute
)

// phase is a time between two looks.
type phase int

// A cycle has these, in order.
const (
	onset  phase = iota // the faults have just begun: requests that began before end in it
	ill                 // all requests that end in it have begun after the fault had
	relief              // the faults have just ended
	well                // and all that end in it have begun after that
	phases
)

// seen is all that was seen.
type seen struct {
	rig               *rig
	first, last       [2]look   // of the exporter and its twin, with traffic
	before, after     look      // of the exporter at rest
	heaps             []float64 // bytes, at the end of each cycle
	counts            map[string]*[phases]count
	resident          []float64 // most bytes in each cycle
	captures, history float64   // most bytes
	reloads           int
	stood             int // phases in which the machine stood still
	pulses            [2]pulse
	still             bool               // between the last two looks, something stood still
	stills            int                // how often
	calm              int                // times between looks in which nothing stood still, nor in the one before
	latest            map[string]float64 // how late requests left in these, at most, by group that is always well, in seconds
	wrong             []error
}

// cycles divides the length: how many there are, and how long the faults last in each, which is as long as they do not.
func cycles(length time.Duration) (n int, half time.Duration) {
	n = max(1, int(length/max(2*shortest, min(length/4, 2*longest))))
	return n, max(shortest, length/time.Duration(2*n))
}

// measure has the fleet fall ill and get well, prints what was seen, and says what is wrong.
func measure(ctx context.Context, o *options, stdout io.Writer) error {
	folder, err := os.MkdirTemp("", "aiperf-exporter-faults-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithCancel(ctx)
	r := newRig(o, folder)
	defer r.wait(ctx)
	defer cancel()
	if err := r.build(ctx); err != nil {
		return err
	}
	s := &seen{rig: r, counts: map[string]*[phases]count{}, latest: map[string]float64{}}
	if err := s.watch(ctx); err != nil {
		return errors.Join(err, said(ctx, &r.told))
	}
	s.judge()
	if err := s.table(stdout); err != nil {
		return err
	}
	return errors.Join(s.wrong...)
}

// said is whether the exporter has ended, and what it has written beside the failures of requests.
func said(ctx context.Context, e *exporter) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	code, err := e.Wait(ctx)
	state := fmt.Sprintf("has ended with code %d", code)
	if err != nil {
		state = "runs"
	}
	var lines []string
	for line := range strings.Lines(e.Output()) {
		if !strings.Contains(line, "request failed") {
			lines = append(lines, line)
		}
	}
	return fmt.Errorf("the exporter %s; it wrote:\n%s", state, strings.Join(lines[max(0, len(lines)-100):], ""))
}

// watch looks at the exporter while the fleet falls ill and gets well again, again and again.
func (s *seen) watch(ctx context.Context) (err error) {
	if err = wait(ctx, warmUp); err != nil {
		return err
	}
	if s.before, err = s.rig.told.rest(ctx, true); err != nil {
		return err
	}
	if _, err = s.rig.twin.rest(ctx, true); err != nil {
		return err
	}
	if s.first, err = s.both(ctx); err != nil {
		return err
	}
	s.last = s.first
	defer s.feel(ctx)()
	n, half := cycles(s.rig.options.length)
	for i := range n {
		if err = s.cycle(ctx, half, i%2 == 0); err != nil {
			return fmt.Errorf("cycle %d: %w", i+1, err)
		}
	}
	s.after, err = s.rig.told.rest(ctx, false)
	// What ends by itself may take a moment on a busy machine; a leak stays.
	for range 20 {
		if err != nil || len(s.left()) == 0 {
			break
		}
		if err = wait(ctx, time.Second); err == nil {
			s.after, err = s.rig.told.look(ctx, true)
		}
	}
	return err
}

// feel feels the pulses of both exporters until what it gives is called.
func (s *seen) feel(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var feeling sync.WaitGroup
	for i, e := range []*exporter{&s.rig.told, &s.rig.twin} {
		feeling.Go(func() { s.pulses[i].feel(ctx, e.url) })
	}
	return func() {
		cancel()
		feeling.Wait()
	}
}

// both looks at the exporter and its twin.
func (s *seen) both(ctx context.Context) (looks [2]look, err error) {
	for i, e := range []*exporter{&s.rig.told, &s.rig.twin} {
		if looks[i], err = e.look(ctx, false); err != nil {
			return looks, err
		}
	}
	return looks, nil
}

// cycle has the fleet fall ill and get well, and bodies kept meanwhile, or not.
func (s *seen) cycle(ctx context.Context, half time.Duration, bodies bool) error {
	s.resident = append(s.resident, 0)
	for p := range phases {
		if p == onset || p == relief {
			if err := s.rig.turn(ctx, p == onset, bodies); err != nil {
				return err
			}
			s.reloads++
		}
		lasts := settle
		if p == ill || p == well {
			lasts = half - settle
		}
		from, stills := s.last, s.stills
		err := s.pass(ctx, lasts, p == well)
		// What ran when the faults began or ended has not ended in time where something stood still just before.
		for again := 0; err == nil && s.still && lasts == settle && again < 5; again++ {
			err = s.pass(ctx, lasts, false)
		}
		if err != nil {
			return err
		}
		s.count(p, &from, &s.last, s.stills > stills)
	}
	s.heaps = append(s.heaps, s.last[0].heap)
	return nil
}

// sampleEvery is the time between two looks at memory.
const sampleEvery = 5 * time.Second

// pass lets time pass, looks at what must stay bounded, and at the end at everything.
func (s *seen) pass(ctx context.Context, lasts time.Duration, heap bool) (err error) {
	for over := time.Now().Add(lasts); time.Now().Before(over); {
		if err = wait(ctx, min(sampleEvery, time.Until(over))); err != nil {
			return err
		}
		if err = s.lookOn(ctx, false); err != nil {
			return err
		}
		s.bounded(&s.last[0])
	}
	if heap {
		if err = s.lookOn(ctx, true); err != nil {
			return err
		}
	}
	s.last[1], err = s.rig.twin.look(ctx, false)
	return err
}

// lookOn looks at the exporter once more, and at how late requests have left since the last look, unless something stood still then or before.
func (s *seen) lookOn(ctx context.Context, heap bool) error {
	l, err := s.rig.told.look(ctx, heap)
	if err != nil {
		return err
	}
	now, before := time.Now(), s.still
	told, twin := s.pulses[0].stood(now), s.pulses[1].stood(now)
	if s.still = told || twin; s.still {
		s.stills++
	} else if !before {
		s.calm++
		for _, group := range []string{direct, proxied} {
			if late := since(l.delays(group), s.last[0].delays(group)); len(late) > 0 {
				s.latest[group] = max(s.latest[group], scrape.Quantile(late, 1))
			}
		}
	}
	s.last[0] = l
	return nil
}

// bounded notes the most that is taken, and checks that no arrival is unaccounted for.
func (s *seen) bounded(l *look) {
	i := len(s.resident) - 1
	s.resident[i] = max(s.resident[i], l.f.Sum("process_resident_memory_bytes", nil))
	s.captures = max(s.captures, l.f.Sum("aiperf_exporter_captures_bytes", nil))
	s.history = max(s.history, l.f.Sum("aiperf_exporter_history_bytes", nil))
	sent, dropped := l.f.By("aiperf_arrivals_sent_total", "target", nil), l.f.By("aiperf_arrivals_dropped_total", "target", nil)
	queued := l.f.By("aiperf_inflight_requests", "target", scrape.Labels{"phase": "queued"})
	for target, n := range l.f.By("aiperf_arrivals_total", "target", nil) {
		if sum := sent[target] + dropped[target] + queued[target]; n != sum {
			s.complainf("%s: of %v arrivals %v are accounted for", target, n, sum)
		}
	}
}

// count adds what the groups did in a phase, in which something stood still or not as far as the pulses tell, and judges it.
func (s *seen) count(p phase, from, to *[2]look, stood bool) {
	ended := counted(&from[0], &to[0])
	stood = stood || stoodStill(ended) || stoodStill(counted(&from[1], &to[1]))
	if stood {
		s.stood++
	}
	for _, m := range firsts(s.rig.fleet) {
		if s.counts[m.group] == nil {
			s.counts[m.group] = &[phases]count{}
		}
		if c := ended[m.group]; c != nil {
			s.counts[m.group][p].add(c)
			s.judgeGroup(&m, p, c, stood)
		}
	}
}

func (s *seen) complainf(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Errorf(format, args...))
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
