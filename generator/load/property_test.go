package load

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// endless is a recording of sessions and lone turns whose keys go up from pass to pass: none is ever the same.
type endless struct {
	random *rand.Rand
	keys   uint64
	at     int64
	inPass int
	passes int64
	kept   map[uint64]bool // were handed out, and neither asked nor forgotten
}

const passLength = 50

// Next implements Recording.
func (e *endless) Next() (Recorded, error) {
	if e.inPass == passLength {
		e.inPass, e.at = 0, 0
		e.passes++
		return Recorded{}, io.EOF
	}
	e.inPass++
	e.keys++
	e.kept[e.keys] = true
	e.at += e.random.Int64N(2e8)
	r := Recorded{Key: e.keys, Session: e.random.Uint64N(6), At: e.at, HasAt: true}
	if e.inPass > 1 && e.random.IntN(3) == 0 {
		r.HasAt, r.At, r.Delay = false, 0, e.random.Int64N(3e8)
	}
	return r, nil
}

// driver plays the loop of a target, late and in any order that may happen, and keeps the accounts.
type driver struct {
	t       *testing.T
	process Process
	random  *rand.Rand
	now     int64
	running []Arrival
	began   []int64

	popped, skipped int64
	last            int64           // Ready of the latest arrival
	entries         map[uint64]bool // that were popped
	byUser          map[uint64]int  // running requests
}

// Forget implements Recording.
func (e *endless) Forget(key uint64) {
	if !e.kept[key] {
		panic("a turn is forgotten that was never handed out, or twice")
	}
	delete(e.kept, key)
}

func (d *driver) step(pauses bool) {
	switch d.random.IntN(20) {
	case 0:
		d.now += d.random.Int64N(5e9)
		d.skipped += d.process.Skip(d.now, false)
	case 1:
		if pauses {
			d.now += d.random.Int64N(5e9)
			d.skipped += d.process.Skip(d.now, true)
		}
	case 2, 3, 4, 5, 6:
		if len(d.running) > 0 {
			d.end(d.random.IntN(len(d.running)))
		}
	default:
		d.now += d.random.Int64N(1e8)
		for at, ok := d.process.Peek(); ok && at <= d.now; at, ok = d.process.Peek() {
			d.pop(at)
		}
	}
}

func (d *driver) pop(at int64) {
	a := d.process.Pop()
	d.popped++
	if a.Ready != at || a.Ready < a.Sched || a.Ready < d.last {
		d.t.Fatalf("at %d: %+v after one that was ready at %d; Peek said %d", d.now, a, d.last, at)
	}
	d.last = a.Ready
	if a.Entry != 0 {
		if d.entries[a.Entry] {
			d.t.Fatalf("turn %d comes twice", a.Entry)
		}
		d.entries[a.Entry] = true
	}
	if a.Overlap {
		return
	}
	if a.User != 0 && d.byUser[a.User] > 0 {
		d.t.Fatalf("user %d asks twice at a time", a.User)
	}
	d.byUser[a.User]++
	d.running, d.began = append(d.running, a), append(d.began, d.now)
	if d.random.IntN(4) == 0 { // dropped
		d.end(len(d.running) - 1)
	}
}

func (d *driver) end(i int) {
	a, began := d.running[i], d.began[i]
	last := len(d.running) - 1
	d.running[i], d.began[i] = d.running[last], d.began[last]
	d.running, d.began = d.running[:last], d.began[:last]
	d.byUser[a.User]--
	d.process.Ended(a, began, began+d.random.Int64N(d.now-began+1))
}

// TestNoArrivalIsLostOrDoubled drives each process at random. At the end, the arrivals handed out and skipped are those that the load has.
func TestNoArrivalIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	const rate = 20
	for mode, test := range map[Mode]struct {
		config Config
		// want is how many arrivals are due before an instant, from what the process knows; nil = nobody knows.
		want func(p Process, now int64) int64
	}{
		Constant: {Config{Rate: rate}, func(_ Process, now int64) int64 { return due(now, rate) }},
		Probe:    {Config{Rate: rate}, func(_ Process, now int64) int64 { return due(now, rate) }},
		Poisson:  {config: Config{Rate: rate}},
		Gamma:    {config: Config{Rate: rate, Smoothness: 0.5}},
		Users:    {Config{Rate: rate, Users: 7}, func(p Process, now int64) int64 { return due(now, rate) - p.(*users).waiting(now) }},
		Replay: {Config{}, func(p Process, _ int64) int64 {
			r := p.(*replay)
			e := r.tape.recording.(*endless)
			leapt := (r.tape.pass - e.passes) * passLength // passes that were skipped without being read
			return int64(e.keys) + leapt - int64(r.held) - int64(len(r.due))
		}},
	} {
		for seed := range uint64(20) {
			t.Run(fmt.Sprint(mode, seed), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, 1))
				c := test.config
				c.Mode, c.LoopGap = mode, 100*time.Millisecond
				e := &endless{random: rand.New(rand.NewPCG(seed, 2)), kept: map[uint64]bool{}}
				p := processes[mode].start(&c, &Origin{Seed: seed}, e)
				d := &driver{t: t, process: p, random: random, entries: map[uint64]bool{}, byUser: map[uint64]int{}}
				for range 3000 {
					d.step(true)
				}
				d.now += int64(time.Second)
				d.skipped += p.Skip(d.now, false)
				for at, ok := p.Peek(); ok && at < d.now; at, ok = p.Peek() { // what has waited is kept
					d.pop(at)
				}
				for len(d.running) > 0 { // nothing can wait for an answer any more
					d.end(0)
				}
				for at, ok := p.Peek(); ok && at < d.now; at, ok = p.Peek() {
					d.pop(at)
				}
				for key := range d.entries {
					delete(e.kept, key)
				}
				if r, ok := p.(*replay); ok && len(e.kept) != len(r.due)+r.held {
					t.Errorf("the recording keeps %d turns, of which %d will be asked", len(e.kept), len(r.due)+r.held)
				}
				if test.want == nil {
					return
				}
				if want := test.want(p, d.now); d.popped+d.skipped != want {
					t.Errorf("%d handed out and %d skipped, want %d", d.popped, d.skipped, want)
				}
			})
		}
	}
}

// due is the number of evenly spaced arrivals before an instant, the first at 0.
func due(now, rateHz int64) int64 {
	gap := int64(time.Second) / rateHz
	return (now + gap - 1) / gap
}

// waiting is the number of turns that were due before an instant and are not handed out.
func (u *users) waiting(now int64) (n int64) {
	for i := range u.round {
		if u.round[i].waits && u.round[i].sched < now {
			n++
		}
	}
	return n
}

// TestAClosedLoopKeepsItsWorkers: each is idle or waits for an answer.
func TestAClosedLoopKeepsItsWorkers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		p := processes[Closed].start(&Config{Concurrency: 5, MinInterval: 50 * time.Millisecond}, &Origin{}, nil).(*closed)
		d := &driver{t: t, process: p, random: rand.New(rand.NewPCG(seed, 1)), byUser: map[uint64]int{}}
		for range 3000 {
			d.step(true)
			if len(d.running)+len(p.ready) != 5 {
				t.Fatalf("%d workers wait, %d are idle, want 5", len(d.running), len(p.ready))
			}
		}
		if d.skipped != 0 || d.popped < 100 {
			t.Errorf("%d handed out, %d skipped", d.popped, d.skipped)
		}
	}
}
